"""Whether engines that hold a model to a schema can write the simulator's replies.

    python -m benchmarks.reply_engines [--tasks 100] [--most 60] [--out benchmarks/results/reply_engines.json]

The replies are those of the worlds: every call of an expert's episodes that changed the state, as a simulator would
have to write it. Per engine it counts the replies that the engine's grammar of `LEDGER_REPLY` accepts whole. Each of
xgrammar, llguidance, outlines_core and lm-format-enforcer that is installed is tried.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import re
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.common.event_loop import run_sync
from simia_gym.policies import load_policy
from simia_gym.rollout.play import play_new
from simia_gym.simulators.checking import LEDGER_REPLY

Accepts = Callable[[str], bool]
DOMAINS = {"retail": "all", "airline": "all", "webshop": "test"}
END = 256
"""The token that ends a text; the others are the bytes."""
LONGEST_LIST = 1000
"""For lm-format-enforcer, which writes no list of more than 20 items unless it is told so."""


def xgrammar(schema: str) -> Accepts:
    """The whole texts of xgrammar's grammar."""
    engine: Any = importlib.import_module("xgrammar")
    words = [bytes([byte]) for byte in range(END)] + [b"<end>"]
    info = engine.TokenizerInfo(words, vocab_size=len(words), stop_token_ids=[END])
    grammar = engine.GrammarCompiler(info).compile_json_schema(schema)

    def accepts(text: str) -> bool:
        matcher = engine.GrammarMatcher(grammar)
        return bool(matcher.accept_string(text.encode()) and matcher.accept_token(END))

    return accepts


def llguidance(schema: str) -> Accepts:
    """The whole texts of llguidance's grammar."""
    engine: Any = importlib.import_module("llguidance")
    tokenizer, grammar = engine.LLTokenizer("byte"), engine.LLMatcher.grammar_from_json_schema(schema)

    def accepts(text: str) -> bool:
        matcher, tokens = engine.LLMatcher(tokenizer, grammar), list(text.encode())
        return bool(matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting())

    return accepts


def outlines_core(schema: str) -> Accepts:
    """The whole texts of the regular expression that outlines makes."""
    engine: Any = importlib.import_module("outlines_core.json_schema")
    pattern = re.compile(engine.build_regex_from_schema(schema))
    return lambda text: pattern.fullmatch(text) is not None


def lmformatenforcer(schema: str) -> Accepts:
    """The whole texts of the parser of lm-format-enforcer, with the characters of a model's tokenizer."""
    engine: Any = importlib.import_module("lmformatenforcer")

    def accepts(text: str) -> bool:
        alphabet = "".join({*string.ascii_letters, *string.digits, *string.punctuation, " ", *text})
        config = engine.CharacterLevelParserConfig(alphabet=alphabet, max_json_array_length=LONGEST_LIST)
        parser = engine.JsonSchemaParser(json.loads(schema), config)
        for character in text:
            try:
                if character not in parser.get_allowed_characters():
                    return False
                parser = parser.add_character(character)
            except Exception:  # it has no rule for the schema
                return False
        return bool(parser.can_end())

    return accepts


ENGINES: dict[str, Callable[[str], Accepts]] = {
    "xgrammar": xgrammar,
    "llguidance": llguidance,
    "outlines_core": outlines_core,
    "lm-format-enforcer": lmformatenforcer,
}


def replies(domain: str, tasks: int) -> Iterator[str]:
    """The replies to the calls that changed the state in an expert's episodes of a domain, none of them twice."""
    suite = load_suite(EnvConfig(env=f"simia/{domain}-v0", split=DOMAINS[domain]))  # type: ignore[arg-type]
    expert = load_policy("expert", suite.domain.config.policies, folder=suite.domain.folder)
    seen: set[str] = set()
    for task in list(suite.tasks)[:tasks]:
        episode = suite.episode()
        run_sync(play_new(episode, task, seed=0, make_policy=expert, env=domain), inline=episode.inline)
        for event in episode.ledger.events:
            if event["type"] == "transition" and event["call"] is not None and event["ops"]:
                reply = {"outcome": event["outcome"], "error_code": None, "reveals": [], "ops": list(event["ops"])}
                text = json.dumps({**reply, "observation": event["observation"]}, ensure_ascii=False)
                if text not in seen:
                    seen.add(text)
                    yield text


def accepted(schema: Any, texts: dict[str, list[str]]) -> dict[str, dict[str, int]]:
    """How many replies of each domain each installed engine accepts under a schema."""
    found: dict[str, dict[str, int]] = {}
    for name, make in ENGINES.items():
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        accepts = make(json.dumps(schema))
        found[name] = {domain: sum(map(accepts, of_domain)) for domain, of_domain in texts.items()}
    return found


def untyped(schema: Any) -> Any:
    """The schema without the types of a value of any kind, as a control."""
    text = json.dumps(schema)
    return json.loads(re.sub(r'"value": \{"type": \[[^]]*\]\}', '"value": {}', text))


def main() -> None:
    """Count, print and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--most", type=int, default=60, help="replies of a domain, evenly from short to long")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    texts: dict[str, list[str]] = {}
    for domain in DOMAINS:
        every = sorted(replies(domain, given.tasks), key=lambda text: (len(text), text))
        count = min(given.most, len(every))
        texts[domain] = [every[i * len(every) // count] for i in range(count)]
    result = {
        "command": f"python -m benchmarks.reply_engines --tasks {given.tasks} --most {given.most}",
        "replies": {domain: len(of_domain) for domain, of_domain in texts.items()},
        "accepted": accepted(LEDGER_REPLY.schema, texts),
        "accepted_without_types": accepted(untyped(LEDGER_REPLY.schema), texts),
    }
    result["versions"] = {name: importlib.metadata.version(name) for name in result["accepted"]}
    text = json.dumps(result, indent=2) + "\n"
    print(text, end="")
    if given.out is not None:
        given.out.write_text(text)


if __name__ == "__main__":
    main()
