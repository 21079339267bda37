"""A domain small enough to break in every way."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import run_inline
from simia_gym.domain.registration import CUSTOM
from simia_gym.episode import Episode
from simia_gym.types import Step

DOMAIN = """\
name: counter
grammar: tools
max_turns: 6
max_calls: 3
world: world.py:Counter
state_schema: null
reward: simia_gym.rewards.rubric:RubricReward
tasks:
  train: train.jsonl
ends:
  - path: /counters/a/value
    value: 5
    reason: full
"""
WORLD = '''\
from simia_gym.errors import ToolError
from simia_gym.state import Draft
from simia_gym.domain.tools import DeclaredError, tool
from simia_gym.domain.world import World


class Counter(World):
    @tool(effect="write", reads=("counters",), writes=("counters/*/value",))
    def add(self, db: Draft, name: str, amount: int = 1) -> int:
        """Add to a counter.

        Args:
            name: Which counter.
            amount: How much.
        """
        if not db.has("counters", name):
            raise ToolError(f"Counter {name} not found", "not_found")
        row = db.edit("counters", name)
        row["value"] += amount
        return row["value"]

    @tool(effect="none", terminal=True)
    def stop(self, db: Draft) -> str:
        """Stop."""
        return "stopped"

    @tool(effect="write", writes=("counters/*/value",))
    def crash(self, db: Draft) -> str:
        """Edit, then fail in an unforeseen way."""
        db.edit("counters", "a")["value"] = 99
        return {}["missing"]

    @tool(errors=[DeclaredError("busy", "It is busy.")])
    def undeclared(self, db: Draft) -> str:
        """Fail with an error that is not declared."""
        raise ToolError("no", "tired")

    @tool(effect="write", writes=("counters/*/value",))
    def stray(self, db: Draft) -> str:
        """Write where it may not."""
        db.edit("counters", "a")["colour"] = "red"
        return "done"
'''
RUBRIC = """\
- id: counted
  kind: goal
  weight: 1
  required: true
  check: {program: goal_state}
"""
TASK = {
    "id": "to-three",
    "split": "train",
    "kind": "count",
    "instruction": "Bring counter a to 3.",
    "goal": [{"op": "test", "path": "/counters/a/value", "value": 3}],
}

Edit = Callable[[Path], None]


def edit(name: str, old: str, new: str) -> Edit:
    """Replace a text in a file of a domain folder."""

    def change(folder: Path) -> None:
        path = folder / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return change


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "counter"
    path.mkdir()
    (path / "domain.yaml").write_text(DOMAIN)
    (path / "world.py").write_text(WORLD)
    (path / "policy.md").write_text("Count as you are told.\n")
    (path / "rubric.yaml").write_text(RUBRIC)
    (path / "state.json").write_text(json.dumps({"counters": {"a": {"value": 0}, "b": {"value": 0}}}))
    (path / "train.jsonl").write_text(json.dumps(TASK) + "\n")
    return path


@pytest.fixture
def suite(folder: Path) -> Suite:
    return load_suite(EnvConfig(CUSTOM, domain=str(folder)))


@pytest.fixture
def episode(suite: Suite) -> Episode:
    made = suite.episode()
    run_inline(made.reset(suite.tasks[0], seed=1))
    return made


def call(tool: str, /, **arguments: Any) -> str:
    return f"<tool_call>{json.dumps({'name': tool, 'arguments': arguments})}</tool_call>"


def take(episode: Episode, action: str) -> Step:
    return run_inline(episode.step(action))
