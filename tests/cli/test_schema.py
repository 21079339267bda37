"""`simia schema`: the schemas accept the files of every domain and every record, and notice what an editor should."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from simia_gym import env_ids
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_path
from simia_gym.oracle import OracleOptions, serve_in_thread

from .conftest import HALF, Simia

WHOLE = ("domain.yaml", "state.schema.json", "rubric.yaml", "service.yaml", "user.yaml", "tools.json")
FILES = {**{name: name for name in WHOLE}, "task": "tasks/*.jsonl", "selftest": "selftests.jsonl"}


def parts(folder: Path, file: str) -> Iterator[Any]:
    """The contents of a file, if the domain has it; of tasks, each line."""
    for path in sorted(folder.glob(FILES[file])):
        text = path.read_text(encoding="utf-8")
        values = map(json.loads, text.splitlines()) if path.suffix == ".jsonl" else [yaml.safe_load(text)]
        yield from (json.loads(json.dumps(value)) for value in values)  # YAML has numbers as keys


@pytest.mark.parametrize("file", FILES)
def test_files_of_every_domain_fit(file: str, simia: Simia) -> None:
    for kind in ("tools", "service"):
        assert simia("new-domain", kind, "--kind", kind).code == 0
    validator = jsonschema_rs.validator_for(json.loads(simia("schema", file).out))
    folders = (Path("tools"), Path("service"), *map(domain_path, env_ids()))
    found = [part for folder in folders for part in parts(folder, file)]
    found += [json.loads(json.dumps(load_domain(domain_path("simia/retail-v0")).cues))] if file == "user.yaml" else []
    assert found
    assert [error.message for part in found for error in validator.iter_errors(part)] == []


TASK = {"id": "train-1", "split": "train", "kind": "x"}
SCRIPT = {"type": "scripted", "requests": [{"say": "Hi."}]}
CRITERION = {"id": "a", "kind": "goal"}
SERVICE = {
    "module": "rules.py", "customer": "f", "identify": [{"tool": "find", "with": {"card": "card"}}], "stranger": "No.",
    "slots": {}, "rules": {}, "wishes": {"lend": {"say": "Lend it.", "hear": "lend", "draw": "draw"}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("domain.yaml", {}, {"max_turn": 3}),
        ("domain.yaml", {}, {"max_turns": "three"}),
        ("domain.yaml", {"ends": [{"repeat": 5}]}, {"ends": [{"repeats": 5}]}),
        ("state.schema.json", {"tables": {"a": {"goal": False}}}, {"tables": {"a": {"goals": False}}}),
        ("rubric.yaml", [CRITERION | {"check": {"llm": "Is it?"}}], [CRITERION]),
        ("rubric.yaml", [CRITERION | {"check": {"program": "mine.py:f"}}], [CRITERION | {"check": {"programm": "f"}}]),
        (
            "rubric.yaml",
            [CRITERION | {"check": {"program": "says", "any": [3, "three"]}}],
            [CRITERION | {"check": {"program": "says", "texts": ["three"]}}],
        ),
        ("service.yaml", SERVICE, SERVICE | {"rules": {"a": {"why": "No.", "abuot": "x"}}}),
        ("user.yaml", {"slots": {"a": {"ask": "a"}}}, {"slots": {"a": {"asks": "a"}}}),
        ("tools.json", [{"function": {"name": "a"}}], [{"function": {"name": "a"}, "x-simia": {"efect": "read"}}]),
        ("selftest", {"call": {"name": "a"}, "expect": {}}, {"call": {"name": "a"}, "expects": {}}),
        ("task", TASK | {"user": SCRIPT}, TASK | {"user": SCRIPT | {"request": []}}),
        ("task", TASK, TASK | {"split": "training"}),
    ],
)
def test_mistakes_are_noticed(file: str, right: Any, wrong: Any, simia: Simia) -> None:
    base: Any = {"name": "x", "grammar": "tools", "max_turns": 3, "reward": "a:B"} if file == "domain.yaml" else None
    validator = jsonschema_rs.validator_for(json.loads(simia("schema", file).out))
    assert validator.is_valid(right if base is None else base | right)
    assert not validator.is_valid(wrong if base is None else base | wrong)


LONG = "class Long:\n    def act(self, messages): return 'word ' * 9999\n"


@pytest.fixture
def record_schema(simia: Simia) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(json.loads(simia("schema", "record").out))


@pytest.mark.parametrize("env", env_ids())
@pytest.mark.parametrize(
    "words",
    [
        "--policy expert",
        "--policy random --history page --prompt compact",
        "--policy half.py:Half",
        "--policy long.py:Long --group 2 --max-turns 2",
        "--simulator llm --shadow --judge llm-all --max-turns 6",
        "--simulator llm --strategy reference --max-turns 6",
    ],
)
@pytest.mark.sampled
def test_records_fit(env: str, words: str, simia: Simia, record_schema: jsonschema_rs.Validator) -> None:
    Path("half.py").write_text(HALF)
    Path("long.py").write_text(LONG)
    with serve_in_thread(OracleOptions(spurious_write_rate=0.5)) as server:
        models = ["--model", "oracle", "--base-url", server.base_url] if "--simulator" in words else []
        simia("rollout", env, "--episodes", 4, "--out", "r.jsonl", *words.split(), *models)
    lines = [json.loads(line) for line in Path("r.jsonl").read_text().splitlines()]
    assert len(lines) == 4
    assert [error.message for line in lines for error in record_schema.iter_errors(line)] == []


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("v", 1),
        ("reward", "1"),
        ("colour", "red"),
        ("config", {"enviroment": "x"}),
        ("verdict", {}),
        ("fault", {"role": "user"}),
        ("events.0.content", None),
        ("events.1.type", "massage"),
        ("events.2.turn", "one"),
        ("events.2.txt", "a"),
        ("events.3.outcome", "maybe"),
        ("events.-1.criteria.0.passed", "yes"),
    ],
)
def test_a_damaged_line_is_noticed(
    place: str, value: Any, desk: str, simia: Simia, record_schema: jsonschema_rs.Validator
) -> None:
    assert simia("rollout", desk, "--episodes", 1, "--out", "r.jsonl").code == 0
    line = json.loads(Path("r.jsonl").read_text())
    assert record_schema.is_valid(line)
    *path, last = place.split(".")
    part = line
    for name in path:
        part = part[int(name) if isinstance(part, list) else name]
    part[last] = value
    assert not record_schema.is_valid(line)
