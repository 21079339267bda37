from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import pytest

from simia_gym.errors import Fault, InputError
from simia_gym.policies import NullPolicy, Policy, PolicyStart
from simia_gym.types import Message, Task

from ..domains.shell import Says
from .conftest import Roll, Waiting

Make = Callable[[], Policy]


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


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("concurrency", [1, 5])
def test_concurrency_is_the_number_in_flight(roll: Roll, expert: Make, concurrency: int, plain: bool) -> None:
    class Plain:
        """Its `act` is no coroutine function, but gives an awaitable."""

        def __init__(self) -> None:
            self._inner = Waiting(expert(), 0.005)

        def act(self, messages: Sequence[Message]) -> Awaitable[str]:
            return self._inner.act(messages)

    Waiting.most = 0
    roll(Plain if plain else lambda: Waiting(expert(), 0.005), concurrency=concurrency, group=3)
    assert Waiting.most == concurrency


def test_the_first_episodes_do_not_run_far_ahead_while_the_last_ones_begin(roll: Roll) -> None:
    begun: list[int] = []
    rounds: list[int] = []

    class Counting:
        """Notes at which round of the loop its episode began; the first one of all counts the rounds."""

        def __init__(self) -> None:
            self._begun = False

        async def act(self, messages: Sequence[Message]) -> str:
            if not self._begun:
                self._begun = True
                begun.append(len(rounds))
                first = len(begun) == 1
                for number in range(400):
                    if first:
                        rounds.append(number)
                    await asyncio.sleep(0)
            return ""

    roll(Counting, concurrency=192, group=32)
    assert len(begun) == 192
    assert 16 < begun[-1] <= 48


@pytest.mark.parametrize(
    ("before", "concurrency", "within"),
    [
        ((700, 10, 10), 1, (50_000, 10, 10)),
        ((700, 10, 10), 1000, (2_000_000, 10, 10)),
        ((0, 10, 10), 1, (0, 10, 10)),
    ],
)
def test_garbage_is_collected_rarely_while_episodes_run(
    roll: Roll, before: tuple[int, int, int], concurrency: int, within: tuple[int, int, int]
) -> None:
    seen: set[tuple[int, int, int]] = set()
    as_ever = gc.get_threshold()
    gc.set_threshold(*before)
    try:
        roll(NullPolicy, concurrency=concurrency, on_done=lambda record: seen.add(gc.get_threshold()))
        assert gc.get_threshold() == before
    finally:
        gc.set_threshold(*as_ever)
    assert seen == {within}


class Odd:
    """Goes wrong in its own way on every second episode."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self._act, self._fine = act, NullPolicy()
        self._odd = False

    def start(self, start: PolicyStart) -> None:
        self._odd = bool(start.seed % 2)

    def act(self, messages: Sequence[Message]) -> Any:
        return self._act() if self._odd else self._fine.act(messages)


def _raise(error: BaseException) -> Any:
    raise error


async def _later(act: Callable[[], Any]) -> Any:
    await asyncio.sleep(0.001)
    return act()


async def _cancel_myself() -> str:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(1)
    return ""


@pytest.mark.parametrize("timeout", [None, 30.0])
@pytest.mark.parametrize(
    ("act", "fault", "message"),
    [
        (lambda: _raise(ValueError("what?")), "policy:bug", "ValueError: what?"),
        (lambda: _raise(Fault("transport", "no line", role="policy")), "policy:transport", "no line"),
        (lambda: _raise(TimeoutError("mine")), "policy:bug", "TimeoutError: mine"),
        (lambda: sys.exit(0), "policy:bug", "SystemExit: 0"),
        (lambda: _raise(asyncio.CancelledError("mine")), "policy:bug", "CancelledError: mine"),
        (lambda: _raise(GeneratorExit()), "policy:bug", "GeneratorExit: "),
        (lambda: _raise(BaseException("all")), "policy:bug", "BaseException: all"),
        (
            lambda: 7,
            "policy:bad_action",
            "act() returned no action: an action is a text or an assistant message, not a int",
        ),
        (lambda: _later(lambda: sys.exit(0)), "policy:bug", "SystemExit: 0"),
        (lambda: _later(lambda: _raise(asyncio.CancelledError())), "policy:bug", "CancelledError: "),
        (lambda: _later(lambda: _raise(GeneratorExit())), "policy:bug", "GeneratorExit: "),
        (_cancel_myself, "policy:bug", "CancelledError: "),
    ],
)
def test_one_bad_episode_never_stops_the_others(
    roll: Roll, act: Any, fault: str, message: str, timeout: float | None
) -> None:
    summary = roll(lambda: Odd(act), group=6, timeout=timeout, concurrency=4)
    assert 0 < summary.all.invalid < 36
    assert summary.faults == {fault: summary.all.invalid}
    assert summary.messages[fault].startswith(message)
    assert summary.all.episodes == 36
    for record in roll.records:
        assert record.valid == (record.fault is None) == (record.seed % 2 == 0)
        assert (record.reward is None) == (not record.valid)


def test_bug_of_the_engine_is_recorded_with_its_text(roll: Roll, expert: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from simia_gym.episode import Episode

    async def broken(self: Episode, task: Any, *, seed: int = 0, group: str = "") -> Any:
        raise OSError("the floor is gone")

    monkeypatch.setattr(Episode, "reset", broken)
    summary = roll(expert)
    assert summary.faults == {"episode:bug": 6}
    assert roll.records[0].fault == {"role": "episode", "kind": "bug", "message": "OSError: the floor is gone"}
    assert "the floor is gone" in roll.path.with_name("r.times.jsonl").read_text()


class Tasks(list[Task]):
    """The tasks of a suite with some spoilt."""

    spoilt: dict[int, Any]

    def __getitem__(self, index: Any) -> Any:
        spoilt = self.spoilt.get(index)
        if isinstance(spoilt, BaseException):
            raise spoilt
        return super().__getitem__(index) if spoilt is None else spoilt


def spoil(roll: Roll, spoilt: dict[int, Any]) -> None:
    tasks = roll.suite.__dict__["tasks"] = Tasks(roll.suite.tasks)
    tasks.spoilt = spoilt


@pytest.mark.parametrize(
    ("spoilt", "says"), [(ZeroDivisionError("17"), "ZeroDivisionError: 17"), (SystemExit(0), "SystemExit"), (7, "'7'")]
)
def test_task_that_cannot_be_made(roll: Roll, expert: Make, spoilt: Any, says: str) -> None:
    spoil(roll, {2: spoilt, 4: spoilt})
    with pytest.raises(InputError, match=f"2 of the tasks cannot be made, the first is number 3: .*{says}"):
        roll(expert, group=2)
    assert len(roll.records) == 8
    assert all(record.valid for record in roll.records)


@pytest.mark.parametrize(
    "setup", [({"op": "replace", "path": "/books/none/title", "value": 1},), ({"op": "add", "value": {1, 2}},)]
)
def test_task_that_does_not_fit_is_a_fault(roll: Roll, expert: Make, setup: Any) -> None:
    bad = Task(id="bad", split="train", kind="lend", setup=setup)
    spoil(roll, {1: bad})
    summary = roll(expert)
    assert summary.faults == {"episode:bad_task": 1}
    assert (summary.all.episodes, summary.all.valid) == (6, 5)


def test_nobody_pays_for_a_neighbour_that_blocks(roll: Roll, expert: Make) -> None:
    woken: list[bool] = []

    class Blocks:
        def __init__(self, number: int) -> None:
            self._inner, self._blocks = Waiting(expert(), 0.01), number == 2

        async def act(self, messages: Sequence[Message]) -> str:
            text = await self._inner.act(messages)
            if self._blocks:
                time.sleep(60)
                woken.append(True)
            return text

    numbers = iter(range(100))
    summary = roll(lambda: Blocks(next(numbers)), timeout=1.0, concurrency=6)
    assert not woken  # the alarm ended the sleep
    assert summary.faults == {"episode:timeout": 1}
    assert summary.all.valid == 5


def test_policy_that_swallows_everything_is_late_all_the_same(roll: Roll) -> None:
    class Stubborn:
        async def act(self, messages: Sequence[Message]) -> str:
            try:
                await asyncio.sleep(3600)
            except BaseException:
                return ""
            return ""

    summary = roll(Stubborn, timeout=0.1)
    assert summary.faults == {"episode:timeout": 6}
    assert {(record.reward, record.ended, record.success) for record in roll.records} == {(None, "fault", False)}


def test_time_limit_outside_the_main_thread(roll: Roll) -> None:
    class Slow(NullPolicy):
        def act(self, messages: Sequence[Message]) -> str:
            time.sleep(0.06)
            return ""

    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(roll(Slow, timeout=0.1, episodes=2)))
    thread.start()
    thread.join(20)
    assert found[0].faults == {"episode:timeout": 2}


def test_record_that_is_no_json_is_a_fault(roll: Roll, expert: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from simia_gym.rollout import pool

    real = pool.make_record
    calls: Iterator[int] = iter(range(100))

    def odd(*given: Any) -> Any:
        record = real(*given)
        if next(calls) == 1:
            record.verdict["reason"] = {1, 2}
        return record

    monkeypatch.setattr(pool, "make_record", odd)
    summary = roll(expert)
    assert summary.faults == {"episode:bad_record": 1}
    assert (summary.all.episodes, summary.all.valid) == (6, 5)


def test_no_secret_gets_into_the_files(roll: Roll, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-verysecret123456")
    refused = ValueError("401 for key sk-verysecret123456")
    assert roll(lambda: Says(refused)).messages == {"policy:bug": "ValueError: 401 for key [secret]"}
    for path in roll.path.parent.iterdir():
        assert "verysecret" not in path.read_text()
