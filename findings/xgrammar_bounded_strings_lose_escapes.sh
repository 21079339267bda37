#!/usr/bin/env bash
# A length in a JSON Schema changes which characters xgrammar's grammar lets a string hold. Without one, the strings are
# those of JSON. With minLength or maxLength, no string may hold an escape, so neither a quote nor a line break can be
# written in it, and raw tabs and control characters may stand in it, which no strict JSON parser reads.
# Exit code 0: it still does.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet torch==2.13.0 # the build for processors
"$scratch/venv/bin/pip" install --quiet xgrammar==0.2.8
"$scratch/venv/bin/python" - <<'PYTHON'
import json
from importlib.metadata import version

import xgrammar

WORDS = [bytes([byte]) for byte in range(256)] + [b"<end>"]
COMPILER = xgrammar.GrammarCompiler(xgrammar.TokenizerInfo(WORDS, vocab_size=len(WORDS), stop_token_ids=[256]))
TEXTS = {
    "letters": '"it is"',
    "an escaped quote": json.dumps('the "blue" one'),
    "an escaped line break": json.dumps("one\ntwo"),
    "a raw tab, which is not JSON": '"one\ttwo"',
}
SCHEMAS = {
    "no bounds": {"type": "string"},
    "maxLength": {"type": "string", "maxLength": 1000},
    "minLength": {"type": "string", "minLength": 1},
}


def accepts(schema, text):
    matcher = xgrammar.GrammarMatcher(COMPILER.compile_json_schema(json.dumps(schema)))
    return matcher.accept_string(text) and matcher.accept_token(256)


print(f"xgrammar {version('xgrammar')}: what a string may hold")
seen = {}
for name, schema in SCHEMAS.items():
    seen[name] = [what for what, text in TEXTS.items() if accepts(schema, text)]
    print(f"{name}: {', '.join(seen[name])}")
bounded = ["letters", "a raw tab, which is not JSON"]
expected = {
    "no bounds": ["letters", "an escaped quote", "an escaped line break"],
    "maxLength": bounded,
    "minLength": bounded,
}
raise SystemExit(seen != expected)
PYTHON
