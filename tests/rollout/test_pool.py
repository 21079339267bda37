from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from simia_gym.errors import Fault
from simia_gym.policies import NullPolicy, Policy, PolicyStart
from simia_gym.types import Message

from .conftest import Hanging, Roll, Stuck, Waiting

Make = Callable[[], Policy]


def test_everything_runs_and_is_recorded(roll: Roll, expert: Make) -> None:
    seen: list[str] = []
    summary = roll(expert, group=3, on_done=lambda record: seen.append(record.key))
    assert summary.all.episodes == summary.all.valid == summary.all.successes == 18
    assert summary.all.success_rate == summary.all.mean_reward == 1.0
    assert set(summary.kinds) == {"lend", "return", "swap", "refuse"}
    assert [record.key for record in roll.records] == seen
    assert all(record.events[-1]["type"] == "verdict" for record in roll.records)


def test_bytes_do_not_depend_on_order_or_concurrency(roll: Roll, expert: Make) -> None:
    files = []
    for number, concurrency in enumerate((1, 16)):
        roll.path = roll.path.with_name(f"{number}.jsonl")
        roll(lambda: Waiting(expert(), 0.001), concurrency=concurrency, group=2)
        files.append(sorted(roll.path.read_bytes().splitlines()))
    roll.path = roll.path.with_name("inline.jsonl")
    roll(expert, group=2)
    files.append(sorted(roll.path.read_bytes().splitlines()))
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("concurrency", [1, 5])
def test_concurrency_is_the_number_in_flight(roll: Roll, expert: Make, concurrency: int) -> None:
    Waiting.most = 0
    roll(lambda: Waiting(expert(), 0.005), concurrency=concurrency, group=3)
    assert Waiting.most == concurrency


@pytest.mark.parametrize("temper", [Stuck, Hanging])
def test_time_limit(roll: Roll, expert: Make, temper: type[Policy]) -> None:
    made: list[Policy] = []

    def make() -> Policy:
        made.append(temper() if len(made) in (0, 3) else Waiting(expert(), 0) if temper is Hanging else expert())
        return made[-1]

    began = time.monotonic()
    summary = roll(make, timeout=0.2)
    assert time.monotonic() - began < 5
    assert summary.faults == {"episode:timeout": 1}
    assert summary.all.valid == 5
    (record,) = (record for record in roll.records if not record.valid)
    assert (record.reward, record.ended, record.success) == (None, "fault", False)


class Odd:
    """Goes wrong in its own way on every second episode."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self._act, self._fine = act, NullPolicy()
        self._odd = False

    def start(self, start: PolicyStart) -> None:
        self._odd = bool(start.seed % 2)

    def act(self, messages: Sequence[Message]) -> Any:
        return self._act() if self._odd else self._fine.act(messages)


def _raise(error: Exception) -> Any:
    raise error


@pytest.mark.parametrize(
    ("act", "fault", "message"),
    [
        (lambda: _raise(ValueError("what?")), "policy:bug", "ValueError: what?"),
        (lambda: _raise(Fault("transport", "no line", role="policy")), "policy:transport", "no line"),
        (lambda: _raise(TimeoutError("mine")), "policy:bug", "TimeoutError: mine"),
        (lambda: 7, "policy:bad_action", "act() gave a int, not a text"),
    ],
)
def test_one_bad_episode_never_stops_the_others(roll: Roll, act: Any, fault: str, message: str) -> None:
    summary = roll(lambda: Odd(act), group=6)
    assert 0 < summary.invalid < 36
    assert summary.faults == {fault: summary.invalid}
    assert summary.messages == {fault: message}
    assert summary.all.episodes == 36
    for record in roll.records:
        assert record.valid == (record.fault is None) == (record.seed % 2 == 0)
        assert (record.reward is None) == (not record.valid)


def test_policy_is_told_what_it_plays(roll: Roll, expert: Make) -> None:
    told: list[PolicyStart] = []

    class Curious(NullPolicy):
        def start(self, start: PolicyStart) -> None:
            told.append(start)

    roll(Curious)
    assert [start.seed for start in told] == [record.seed for record in roll.records]
    assert {start.env for start in told} == {"simia/custom-v0"}
    assert len(told[0].tools) == 5
    assert told[0].samples


def test_bug_of_the_world_is_a_fault(roll: Roll, expert: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    world = roll.suite.domain.world
    assert world is not None
    monkeypatch.setattr(type(world), "lend_book", lambda self, db, **arguments: 1 / 0)
    summary = roll(expert)
    assert summary.faults == {"world:bug": 3}
    assert summary.all.valid == 3


def test_bug_of_the_engine_is_recorded_with_its_text(roll: Roll, expert: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from simia_gym.episode import Episode

    async def broken(self: Episode, task: Any, *, seed: int = 0) -> Any:
        raise OSError("the floor is gone")

    monkeypatch.setattr(Episode, "reset", broken)
    summary = roll(expert)
    assert summary.faults == {"episode:bug": 6}
    assert roll.records[0].fault == {"role": "episode", "kind": "bug", "message": "OSError: the floor is gone"}
    assert "the floor is gone" in roll.path.with_name("r.times.jsonl").read_text()
