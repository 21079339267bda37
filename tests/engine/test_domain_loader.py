"""Every mistake in a domain folder is named: which file, where in it, what to do."""

from __future__ import annotations

import json
import shutil
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

import simia_gym.service
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.domain.content import content_hash
from simia_gym.domain.loading import load_domain
from simia_gym.errors import DomainError, InputError

from .conftest import TASK, Edit, edit


def write(name: str, text: str) -> Edit:
    def change(folder: Path) -> None:
        (folder / name).write_text(text)

    return change


def drop(name: str) -> Edit:
    return lambda folder: (folder / name).unlink()


MISTAKES: dict[str, tuple[Edit, str, str]] = {
    "no domain.yaml": (drop("domain.yaml"), "counter", "new-domain"),
    "yaml syntax": (write("domain.yaml", "name: [unclosed\n"), "domain.yaml:", "YAML"),
    "missing key": (edit("domain.yaml", "max_turns: 6\n", ""), "domain.yaml:1", "'max_turns' is missing"),
    "bad nested value": (edit("domain.yaml", "path: /counters", "path: counters"), "domain.yaml:11", "ends[0].path"),
    "unknown grammar": (edit("domain.yaml", "grammar: tools", "grammar: morse"), "domain.yaml", "'morse'"),
    "world that cannot be made": (
        edit("world.py", "class Counter(World):", "class Counter(World):\n    def __init__(self, o): o.x\n"),
        "domain.yaml:5",
        "cannot be made",
    ),
    "goal that is no test": (edit("train.jsonl", '"test"', '"zap"'), "train.jsonl:1", "test operation"),
    "gold that is no action": (
        edit("train.jsonl", '"goal"', '"gold": [{"says": ""}], "goal"'),
        ":1: gold",
        "no action",
    ),
    "deep JSON": (write("state.json", "[" * 100_000), "state.json", "nested too deeply"),
    "deep YAML": (write("rubric.yaml", "[" * 1_500), "rubric.yaml", "nest"),
    "no policy": (drop("policy.md"), "policy.md", "no such policy text"),
    "policy is a folder": (edit("domain.yaml", "name:", "policy: .\nname:"), "", "is a folder, not a policy text"),
    "world is no World": (edit("domain.yaml", "world.py:Counter", "world.py:Draft"), "domain.yaml", "World"),
    "broken world": (edit("world.py", "class Counter", "clas Counter"), "domain.yaml", "world.py"),
    "tool without docstring": (edit("world.py", '"""Stop."""', "pass"), "stop", "docstring"),
    "state not JSON": (write("state.json", '{"counters": {"a": }'), "state.json:1:", "not valid JSON"),
    "state not tables": (write("state.json", '{"counters": [1]}'), "state.json", "{table: {key: row}}"),
    "task without kind": (write("train.jsonl", '{"id": "x", "split": "train"}'), "train.jsonl:1", "'kind'"),
    "task type": (edit("train.jsonl", '"count"', "7"), "train.jsonl:1", "kind: "),
    "task split": (edit("train.jsonl", '"train"', '"test"'), "train.jsonl:1", "split 'test'"),
    "task id twice": (write("train.jsonl", f"{json.dumps(TASK)}\n" * 2), ":2: task id 'to-three'", "on line 1 too"),
    "no such history": (edit("domain.yaml", "max_calls: 3", "history: world.py:none"), "domain.yaml:4", "history"),
    "rubric not a list": (write("rubric.yaml", "id: x\n"), "rubric.yaml", "list"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(folder: Path, name: str) -> None:
    change, where, what = MISTAKES[name]
    change(folder)
    with pytest.raises(InputError) as error:
        load_domain(folder)
    text = str(error.value)
    assert what in text
    assert where in text
    assert "\n" not in text


def test_all_mistakes_are_kept(folder: Path) -> None:
    drop("policy.md")(folder)
    write("state.json", "[]")(folder)
    write("train.jsonl", '{"id": 1}\n{"nope"\n')(folder)
    with pytest.raises(DomainError) as error:
        load_domain(folder)
    places = [problem.where for problem in error.value.problems]
    assert len(places) >= 4
    assert any("policy.md" in place for place in places)
    assert any("state.json" in place for place in places)


@pytest.mark.parametrize(
    ("file", "text", "same"),
    [
        ("policy.md", "Count differently.\n", False),
        ("policy.md", "Count as you are told.\r\n", True),
        ("prompts/user.txt", "A template.", False),
        ("kit/own_kit/base.py", "STEP = 2\n", False),
        ("kit/service/words.txt", "A word.", False),
        ("README.md", "Read me.", True),
        ("train.jsonl", "", True),
        ("runs/counter.jsonl", "{}", True),
    ],
)
def test_the_hash_follows_the_content(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str, same: bool
) -> None:
    kit = tmp_path / "kit"
    (kit / "own_kit").mkdir(parents=True)
    (kit / "own_kit" / "base.py").write_text("STEP = 1\n")
    (folder / "world.py").rename(kit / "own_kit" / "world.py")
    edit("domain.yaml", "world.py:Counter", "own_kit.world:Counter")(folder)
    (folder / "rules.py").write_text("from simia_gym.service import Case\n")
    monkeypatch.syspath_prepend(str(kit))
    monkeypatch.delitem(sys.modules, "own_kit.world", raising=False)
    service = ModuleSpec("simia_gym.service", None, is_package=True)
    service.submodule_search_locations = [str(kit / "service")]
    shutil.copytree(Path(simia_gym.service.__file__).parent, kit / "service")
    monkeypatch.setattr(simia_gym.service, "__spec__", service)
    before = content_hash(folder, ["train.jsonl"])
    place = tmp_path / file if file.startswith("kit/") else folder / file
    place.parent.mkdir(exist_ok=True)
    place.write_text(text, newline="")
    assert (content_hash(folder, ["train.jsonl"]) == before) is same


def test_line_separators_inside_json_strings_split_no_line(folder: Path) -> None:
    path = folder / "train.jsonl"
    path.write_text(path.read_text().replace("Bring counter", "Bring\u2028the\u0085counter"), encoding="utf-8")
    assert load_domain(folder).tasks["train"][0].instruction == "Bring\u2028the\u0085counter a to 3."


def many(count: int) -> Edit:
    def change(folder: Path) -> None:
        task = json.loads((folder / "train.jsonl").read_text())
        lines = [json.dumps({**task, "id": f"count-{number}"}) for number in range(count)]
        (folder / "train.jsonl").write_text("\n".join(lines))

    return change


def ids_of(folder: Path, **settings: Any) -> list[str]:
    return [task.id for task in load_suite(EnvConfig("simia/custom-v0", domain=str(folder), **settings)).tasks]


@pytest.mark.parametrize(("count", "fifth"), [(2, 1), (9, 1), (50, 10)])
def test_without_a_generator_dev_is_a_fifth_of_train(folder: Path, count: int, fifth: int) -> None:
    many(count)(folder)
    whole, dev, rest = ids_of(folder), ids_of(folder, split="dev"), ids_of(folder, without_dev=True)
    assert (len(whole), len(dev)) == (count, fifth)
    assert [name for name in whole if name not in dev] == rest
    assert ids_of(folder, split="all") == whole
    assert dev == ids_of(folder, split="dev")


def test_a_dev_split_without_tasks_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match=r"no tasks in split 'dev'.*two or more train tasks, or a generator"):
        ids_of(folder, split="dev")
    with pytest.raises(InputError, match="no task generator"):
        ids_of(folder, split="dev", generated=3)
    with pytest.raises(InputError, match="without_dev leaves tasks out of train, but split is 'dev'"):
        ids_of(folder, split="dev", without_dev=True)
