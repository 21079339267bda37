#!/usr/bin/env bash
# Engines for structured output refuse JSON that is valid by the schema: lm-format-enforcer every list of more than 20
# items, although the schema sets no limit (LMFE_MAX_JSON_ARRAY_LENGTH does); llguidance and outlines_core the escape
# \u00f6, which Python's json.dumps writes for the letter itself.
# Exit code 0: they still do.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset "${!LMFE_@}"
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet lm-format-enforcer==0.11.3 llguidance==1.9.1 outlines_core==0.2.14
"$scratch/venv/bin/python" - <<'PYTHON'
import json
import re
from importlib.metadata import version

from llguidance import LLMatcher, LLTokenizer
from lmformatenforcer import CharacterLevelParserConfig, JsonSchemaParser
from outlines_core.json_schema import build_regex_from_schema


def by_lm_format_enforcer(schema, text):
    # As with a real tokenizer, whose alphabet the engine takes, every character can be written.
    parser = JsonSchemaParser(schema, CharacterLevelParserConfig(alphabet="".join(map(chr, range(32, 256)))))
    for character in text:
        if character not in parser.get_allowed_characters():
            return False
        parser = parser.add_character(character)
    return parser.can_end()


def by_llguidance(schema, text):
    tokenizer = LLTokenizer("byte")
    matcher = LLMatcher(tokenizer, LLMatcher.grammar_from_json_schema(json.dumps(schema)))
    tokens = tokenizer.tokenize_str(text)
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


def by_outlines_core(schema, text):
    return re.fullmatch(build_regex_from_schema(json.dumps(schema)), text) is not None


ENGINES = {"lm-format-enforcer": by_lm_format_enforcer, "llguidance": by_llguidance, "outlines_core": by_outlines_core}
TEXTS = {"type": "string"}
LISTS = {"type": "array", "items": {"type": "integer"}}
CASES = [
    ("the letter", TEXTS, json.dumps("schön", ensure_ascii=False), set()),
    ("its escape", TEXTS, json.dumps("schön"), {"llguidance", "outlines_core"}),
    ("20 items", LISTS, json.dumps([7] * 20), set()),
    ("21 items", LISTS, json.dumps([7] * 21), {"lm-format-enforcer"}),
]
changed = False
print(", ".join(f"{name} {version(name)}" for name in ENGINES))
for what, schema, text, expected in CASES:
    refusing = {name for name, accepts in ENGINES.items() if not accepts(schema, text)}
    print(f"{what}: {text}\n  refused by {', '.join(sorted(refusing)) or 'none'}")
    changed |= refusing != expected
raise SystemExit(changed)
PYTHON
