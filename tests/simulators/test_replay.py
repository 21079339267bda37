from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite
from simia_gym.common.json_encoding import encode
from simia_gym.domain.registration import CUSTOM
from simia_gym.episode import Episode
from simia_gym.errors import Fault, InputError
from simia_gym.simulators.replay import read_episodes

from ..domains.shell import Says
from ..proof.stage import take
from ..rollout.conftest import Roll
from .desk import LAKE, MEMBER, Double, ok, put, tool_call, write_domain

ACTIONS = (
    tool_call("find_member", member_id="m9"),
    tool_call("rename", book_id="b1", title="Lake"),
    tool_call("get_book"),
    tool_call("close"),
)


@pytest.fixture
def recorded(folder: Path, tmp_path: Path) -> Path:
    """A record of an episode that a model simulated."""
    double = Double(
        ok("Bo", reveals=(MEMBER,)),
        ok("renamed", LAKE),
        ok("closed", put("/desk/main/closed", True)),
    )
    config = EnvConfig(CUSTOM, domain=str(folder), simulator="llm", model="m")
    roll = Roll(Suite(config, Resources(models={"simulator": double})), tmp_path / "record.jsonl")
    roll(lambda: Says(*ACTIONS))
    return roll.path


async def play(folder: Path, path: Path, actions: Sequence[str], seed: int | None = None) -> Episode:
    """Play actions against a record, with its seed or another one."""
    suite = Suite(EnvConfig(CUSTOM, domain=str(folder), simulator="replay", replay_from=str(path)))
    return await take(suite, suite.tasks[0], actions, seed=seed or json.loads(path.read_text())["seed"])


async def test_the_episode_is_the_same_without_a_model(folder: Path, recorded: Path) -> None:
    episode = await play(folder, recorded, ACTIONS)
    assert episode.ended == "terminal_tool"
    assert episode.verdict is not None
    assert (episode.verdict.valid, episode.verdict.success) == (True, False)  # closing was no part of the goal
    assert episode.initial.at("/members/m9/name") == "Bo"
    assert episode.state.at("/books/b1/title") == "Lake"
    was = [event for event in json.loads(recorded.read_text())["events"] if event["type"] == "transition"]
    now = [event for event in episode.ledger.events if event["type"] == "transition"]
    assert [{**event, "i": 0} for event in was] == [{**event, "i": 0} for event in now]


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        ((tool_call("find_member", member_id="m8"),), '"m9".*"m8"'),
        ((ACTIONS[0], tool_call("poke")), '"rename".*"poke"'),
        ((*ACTIONS[:3], tool_call("fly")), '"close".*"fly"'),
    ],
)
async def test_another_call_is_a_fault(folder: Path, recorded: Path, actions: tuple[str, ...], words: str) -> None:
    episode = await play(folder, recorded, actions)
    assert episode.fault is not None
    assert episode.fault.kind == "replay_miss"
    assert episode.verdict is not None
    assert (episode.verdict.valid, episode.verdict.reward) == (False, None)
    with pytest.raises(Fault, match=words):
        raise episode.fault
    line: dict[str, Any] = json.loads(recorded.read_text())
    line["events"] = [event for event in line["events"] if event["type"] != "transition"]
    recorded.write_bytes(encode(line) + b"\n")
    beyond = await play(folder, recorded, actions)
    assert beyond.fault is not None
    assert beyond.fault.kind == "replay_miss"


async def test_another_seed_or_a_changed_task_is_a_fault(folder: Path, recorded: Path) -> None:
    with pytest.raises(Fault, match=r"replay_miss.*'tidy'.*77"):
        await play(folder, recorded, (), 77)
    task = (folder / "train.jsonl").read_text().replace("Tidy", "Clean")
    (folder / "train.jsonl").write_text(task)
    with pytest.raises(Fault, match="replay_miss"):
        await play(folder, recorded, ())


async def test_a_world_that_opens_is_opened_from_the_record(tmp_path: Path) -> None:
    folder = write_domain(tmp_path / "opened", world=True)
    actions = [tool_call("rename", book_id="b1", title="Lake"), *[tool_call("get_book", book_id="b9")] * 5]
    roll = Roll(Suite(EnvConfig(CUSTOM, domain=str(folder), simulator="world")), tmp_path / "record.jsonl")
    await asyncio.to_thread(roll, lambda: Says(*actions))
    replayed = await play(folder, roll.path, actions)
    assert replayed.inline
    assert replayed.messages[1]["content"] == "The desk is open."
    assert replayed.state.at("/_clock/now/day") == 4
    assert replayed.verdict is not None
    assert replayed.verdict.reward == roll.records[0].reward == 1.0


def test_a_missing_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such record"):
        read_episodes(tmp_path / "none.jsonl")
