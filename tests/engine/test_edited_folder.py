"""A folder that is edited while a process runs gives new environments; what runs on the old one goes on with it."""

from __future__ import annotations

import copy
import gc
import json
import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import simia_gym  # noqa: F401 - registers the environments
from simia_gym.assembly.suite import Suite
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.errors import DomainError
from tests.work import calls_in

from .conftest import call, edit

CHANGES: dict[str, tuple[str, str, str]] = {
    "the policy": ("policy.md", "Count as", "Sums like"),
    "a tool's description": ("world.py", "Add to a counter.", "Sum in a counter."),
    "a module that another one imports": ("step.py", "STEP = 1", "STEP = 4"),
    "a task": ("train.jsonl", "Bring counter", "Carry counter"),
    "the state": ("state.json", '"value": 0', '"value": 2'),
    "the manifest": ("domain.yaml", "max_turns: 6", "max_turns: 2"),
    "the rubric": ("rubric.yaml", "id: counted", "id: reached"),
    "a file that code reads": ("told/greeting.json", "Hello", "Howdy"),
}
OWN = """

GREETING = Path(__file__).with_name("told").joinpath("greeting.json").read_text()


class Own(Counter):
    def info(self, state):
        from .step import STEP  # only when it is asked for

        return {"step": STEP, "greeting": GREETING}
"""


@pytest.fixture
def counter(folder: Path) -> Path:
    """The counter's folder, with code in two files and a file that it reads."""
    (folder / "step.py").write_text("STEP = 1\n")
    (folder / "told").mkdir()
    (folder / "told" / "greeting.json").write_text('"Hello"')
    code = (folder / "world.py").read_text()
    (folder / "world.py").write_text(f"from pathlib import Path\n\n{code}{OWN}")
    edit("domain.yaml", "world.py:Counter", "world.py:Own")(folder)
    return folder


def make(folder: Path) -> gymnasium.Env[Any, Any]:
    return gymnasium.make("simia/custom-v0", domain=str(folder), disable_env_checker=True)


def domain_of(env: gymnasium.Env[Any, Any]) -> Domain:
    suite: Suite = env.unwrapped.suite  # type: ignore[attr-defined]
    return suite.domain


def seen(env: gymnasium.Env[Any, Any]) -> list[Any]:
    """What a user and a trainer see of an environment in two steps."""
    first, info = env.reset(seed=1)
    steps = [env.step(action) for action in (call("add", name="a", amount=1), call("stop"))]
    assert steps[-1][4]["verdict"].valid
    return [first, info["messages"], info["tools"], steps[0][:4], dict(steps[0][4]["world"]), steps[1][4]["verdict"]]


@pytest.mark.parametrize("name", CHANGES)
def test_an_edit_is_seen_and_what_runs_goes_on(counter: Path, name: str) -> None:
    file, old, new = CHANGES[name]
    first = make(counter)
    before, digest = seen(first), load_domain(counter).hash
    edit(file, old, new)(counter)
    second = make(counter)
    assert (seen(second) == before) is (name == "the manifest")
    assert domain_of(second) is load_domain(counter) is not domain_of(first)
    assert (domain_of(second).hash == digest) is (name == "a task")
    for running in (first, pickle.loads(pickle.dumps(first)), copy.deepcopy(first)):
        assert seen(running) == before
        assert domain_of(running) is domain_of(first)
        assert domain_of(running).hash == digest
    edit(file, new, old)(counter)
    assert domain_of(make(counter)) is domain_of(first)


def test_an_unchanged_folder_is_loaded_once(counter: Path) -> None:
    first, domain = calls_in(load_domain, counter)
    again, same = calls_in(load_domain, str(counter))
    assert same is domain
    assert again < first / 20
    os.utime(counter / "policy.md", (1, 1))
    (counter / "runs").mkdir()
    (counter / "runs" / "r.jsonl").write_text("{}")
    assert load_domain(counter) is domain


def modules(folder: Path) -> set[str]:
    place = f"{folder}{os.sep}"
    return {name for name, one in [*sys.modules.items()] if str(getattr(one, "__file__", "")).startswith(place)}


@pytest.fixture
def no_garbage() -> Iterator[None]:
    gc.collect()
    yield
    gc.collect()


@pytest.mark.slow
def test_modules_of_earlier_content_live_as_long_as_what_runs_on_them(counter: Path, no_garbage: None) -> None:
    old = make(counter)
    seen(old)
    mine, code = modules(counter), (counter / "world.py").read_text()
    assert len(mine) == 2
    for step in range(2, 9):
        (counter / "world.py").write_text(f"{code}\nnonsense")
        with pytest.raises(DomainError):
            make(counter)
        (counter / "world.py").write_text(code)
        (counter / "step.py").write_text(f"STEP = {step}\n")
        assert seen(make(counter))[4]["step"] == step
        gc.collect()
        assert modules(counter) >= mine
        assert len(modules(counter)) == 4
    world = domain_of(old).world
    assert pickle.loads(pickle.dumps(type(world))) is type(world)
    del old, world
    gc.collect()
    assert len(modules(counter)) == 2
    assert not modules(counter) & mine


def test_data_of_ones_own_that_is_edited_is_read_again(tmp_path: Path) -> None:
    goals = [{"query": "red shoes", "goal": 1}, {"query": "new shoes", "goal": 1}]
    file = tmp_path / "data.json"
    (tmp_path / "own").mkdir()
    folder = tmp_path / "own"
    (folder / "domain.yaml").write_text(
        "name: own\ngrammar: tools\nmax_turns: 2\nworld: null\nstate: null\nstate_schema: null\nrubric: null\n"
        "data: data.py:read\n"
    )
    (folder / "policy.md").write_text("Find.\n")
    (folder / "tools.json").write_text("[]")
    (folder / "data.py").write_text(
        "from simia_gym.domain.data import DomainData\n\n\ndef read(path):\n"
        "    return DomainData(hash='', policy=path.read_text())\n"
    )
    for goal in goals:
        file.write_text(json.dumps(goal))
        assert load_domain(folder, data=file).policy == json.dumps(goal)
