"""Whether engines that hold a model to a schema can write the simulator's replies.

    python -m benchmarks.reply_engines [--tasks 100] [--most 60] [--out benchmarks/results/reply_engines.json]

The replies are those of the worlds: every call of an expert's episodes that changed the state, as a simulator would
have to write it. Per engine it counts the replies that the engine's grammar of the form that is sent for the tool
accepts whole, and as a control those from which the operations are taken out, which the form does not allow. Each of
xgrammar, llguidance, outlines_core and lm-format-enforcer that is installed is tried.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import run_sync
from simia_gym.llm.structured import form_of
from simia_gym.policies import load_policy
from simia_gym.rollout.play import play_new
from simia_gym.simulators.forms import KEY, ledger_form
from simia_gym.types import JsonObject

Accepts = Callable[[str], bool]
DOMAINS = {"retail": "all", "airline": "all", "webshop": "test", "officebench": "all"}
END = 256
"""The token that ends a text; the others are the bytes."""
UNCHANGING = "excel_delete_cell"
"""A tool that may succeed without an operation."""
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


def suite_of(domain: str) -> Suite:
    """The environment with the tasks that are played."""
    return load_suite(EnvConfig(env=f"simia/{domain}-v0", split=DOMAINS[domain]))  # type: ignore[arg-type]


def sent(suite: Suite, tool: str) -> Any:
    """The schema of a tool's answers that a server is asked to hold the model to."""
    domain = suite.domain
    form = ledger_form(domain.specs[tool], domain.limits(tool), schema=domain.state_schema, cut=False)
    return orjson.loads(orjson.dumps(form_of(form).format["json_schema"]))["json_schema"]["schema"]


def replies(suite: Suite, tasks: int) -> Iterator[tuple[str, JsonObject]]:
    """The replies to the calls that changed the state in an expert's episodes, with their tools, none of them twice."""
    domain = suite.domain
    expert = load_policy("expert", domain.config.policies, folder=domain.folder)
    opened = domain.state_schema is not None and domain.state_schema.open_tables
    seen: set[str] = set()
    for task in list(suite.tasks)[:tasks]:
        episode = suite.episode()
        run_sync(play_new(episode, task, seed=0, make_policy=expert, env=domain.name), inline=episode.inline)
        for event in episode.ledger.events:
            if event["type"] == "transition" and event["call"] is not None and event["ops"]:
                tool = event["call"]["name"]
                reply: JsonObject = {"outcome": "ok", "error_code": None, **({"reveals": []} if opened else {})}
                reply |= {"ops": [dict(op) for op in event["ops"]]}
                if domain.specs[tool].render is None:
                    reply["observation"] = event["observation"]
                text = json.dumps([tool, reply], ensure_ascii=False)
                if text not in seen:
                    seen.add(text)
                    yield tool, reply


def accepted(
    forms: Mapping[str, Mapping[str, Any]], texts: Mapping[str, Sequence[tuple[str, JsonObject]]]
) -> dict[str, dict[str, int]]:
    """How many replies of each domain each installed engine accepts under the forms of their tools."""
    found: dict[str, dict[str, int]] = {}
    for name, make in ENGINES.items():
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        found[name] = {}
        for domain, of_domain in texts.items():
            accepts = {tool: made(make, forms[domain][tool]) for tool, _ in of_domain}
            written = ((tool, json.dumps({KEY: reply}, ensure_ascii=False)) for tool, reply in of_domain)
            found[name][domain] = sum(accepts[tool](text) for tool, text in written)
    return found


def made(make: Callable[[str], Accepts], schema: Any) -> Accepts:
    """An engine's grammar of a schema; one that accepts nothing if the engine refuses the schema."""
    try:
        return make(json.dumps(schema))
    except Exception as error:  # each engine has its own
        print(f"refused: {str(error)[:200]}")
        return lambda text: False


def main() -> None:
    """Count, print and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--most", type=int, default=60, help="replies of a domain, evenly from short to long")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    texts: dict[str, list[tuple[str, JsonObject]]] = {}
    forms: dict[str, dict[str, Any]] = {}
    for domain in DOMAINS:
        suite = suite_of(domain)
        every = sorted(replies(suite, given.tasks), key=lambda each: (len(str(each)), str(each)))
        count = min(given.most, len(every))
        texts[domain] = [every[i * len(every) // count] for i in range(count)]
        forms[domain] = {tool: sent(suite, tool) for tool, _ in texts[domain]}
    idle = {
        domain: [(tool, {**reply, "ops": []}) for tool, reply in of_domain if tool != UNCHANGING]
        for domain, of_domain in texts.items()
    }
    result = {
        "command": f"python -m benchmarks.reply_engines --tasks {given.tasks} --most {given.most}",
        "replies": {domain: len(of_domain) for domain, of_domain in texts.items()},
        "forms": {domain: len(of_domain) for domain, of_domain in forms.items()},
        "accepted": accepted(forms, texts),
        "without_operations": {domain: len(of_domain) for domain, of_domain in idle.items()},
        "accepted_without_operations": accepted(forms, idle),
    }
    result["versions"] = {name: importlib.metadata.version(name) for name in ENGINES if name in result["accepted"]}
    text = json.dumps(result, indent=2) + "\n"
    print(text, end="")
    if given.out is not None:
        given.out.write_text(text)


if __name__ == "__main__":
    main()
