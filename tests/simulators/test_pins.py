from __future__ import annotations

import asyncio
import json
import multiprocessing
import pickle
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simia_gym.contracts import StepContext
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.errors import Fault, InputError
from simia_gym.llm.ask import RecordedModel
from simia_gym.llm.types import ChatModel
from simia_gym.record.ledger import first_divergence
from simia_gym.simulators.checked import CheckedSimulator
from simia_gym.simulators.pins import MemoryPins, PinStore, SqlitePins
from simia_gym.state import State
from simia_gym.types import Feedback, JsonObject, ToolCall, Transition

from .desk import GET, LAKE, RENAME, Double, after, context_of, failed, ok, put

LEND = ToolCall("lend", {"book_id": "b1", "member_id": "m1"})
LOAN = put("/loans/l2", {"id": "l2", "book_id": "b1", "member": "m1"}, "add")


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PinStore]:
    """Both stores, which must do the same."""
    if request.param == "memory":
        yield MemoryPins()
    else:
        pins = SqlitePins(tmp_path / "pins.sqlite")
        yield pins
        pins.close()


def maker(log: list[str], name: str = "made", *, wait: float = 0.02) -> Callable[[], Awaitable[JsonObject]]:
    async def make() -> JsonObject:
        log.append(name)
        await asyncio.sleep(wait)
        return {"answer": name}

    return make


async def test_one_asks_and_all_get_the_answer(store: PinStore) -> None:
    log: list[str] = []
    found = await asyncio.gather(*(store.answer("k", maker(log, f"{i}")) for i in range(8)))
    assert log == ["0"]
    assert [answer for answer, _ in found] == [{"answer": "0"}] * 8
    assert sorted(shared for _, shared in found) == [False] + [True] * 7
    assert await store.answer("k", maker(log)) == ({"answer": "0"}, True)
    assert (await store.answer("other", maker(log)))[1] is False


async def test_where_the_first_one_fails_the_next_one_tries(store: PinStore) -> None:
    log: list[str] = []

    async def fail() -> JsonObject:
        log.append("failed")
        await asyncio.sleep(0.01)
        raise Fault("timeout", "no answer", role="simulator")

    first = asyncio.ensure_future(store.answer("k", fail))
    await asyncio.sleep(0)
    rest = [asyncio.ensure_future(store.answer("k", maker(log))) for _ in range(3)]
    with pytest.raises(Fault, match="timeout"):
        await first
    assert [answer for answer, _ in await asyncio.gather(*rest)] == [{"answer": "made"}] * 3
    assert log == ["failed", "made"]


async def test_who_is_cancelled_stops_nobody_else(store: PinStore) -> None:
    log: list[str] = []
    leader = asyncio.ensure_future(store.answer("k", maker(log, "first", wait=5)))
    await asyncio.sleep(0.01)
    waiting = asyncio.ensure_future(store.answer("k", maker(log, "never")))
    others = [asyncio.ensure_future(store.answer("k", maker(log, "second"))) for _ in range(2)]
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.sleep(0.01)
    assert log == ["first"]
    leader.cancel()
    assert [answer for answer, _ in await asyncio.gather(*others)] == [{"answer": "second"}] * 2
    assert log == ["first", "second"]
    assert waiting.cancelled()


def test_loops_of_several_threads_share_one_answer(store: PinStore) -> None:
    log: list[str] = []
    ready = threading.Barrier(4)

    def run(name: str) -> JsonObject:
        ready.wait()
        return asyncio.run(_first(store, maker(log, name, wait=0.1)))

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(run, "0123"))
    assert len(log) == 1
    assert found == [{"answer": log[0]}] * 4


async def _first(store: PinStore, make: Callable[[], Awaitable[JsonObject]]) -> JsonObject:
    return (await store.answer("k", make))[0]


async def test_memory_is_bounded() -> None:
    pins = MemoryPins(2)
    log: list[str] = []
    for key in ("a", "b", "a", "c", "a", "b"):
        await pins.answer(key, maker(log, key, wait=0))
    assert log == ["a", "b", "c", "b"]
    assert pins.made == 4


_CHILD = """
import asyncio, json, sys
from simia_gym.simulators.pins import SqlitePins

async def main():
    pins = SqlitePins(sys.argv[1])
    asked = 0
    async def make():
        nonlocal asked
        asked += 1
        await asyncio.sleep(0.3)
        return {"by": sys.argv[2]}
    found = [(await pins.answer(f"k{i}", make))[0]["by"] for i in range(3)]
    print(json.dumps([asked, found]))

asyncio.run(main())
"""


def test_processes_share_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "pins.sqlite")
    running = [
        subprocess.Popen([sys.executable, "-c", _CHILD, path, f"{i}"], stdout=subprocess.PIPE, text=True)
        for i in range(3)
    ]
    told = [json.loads(process.communicate(timeout=60)[0]) for process in running]
    assert sum(asked for asked, _ in told) == 3
    assert all(found == told[0][1] for _, found in told)


def test_a_file_can_be_opened_by_many_at_once(tmp_path: Path) -> None:
    for round_ in range(30):
        start = threading.Barrier(6)

        def open_it(path: Path = tmp_path / f"{round_}.sqlite", start: threading.Barrier = start) -> None:
            start.wait()
            SqlitePins(path).close()

        with ThreadPoolExecutor(6) as threads:
            for opened in [threads.submit(open_it) for _ in range(6)]:
                opened.result()


async def test_a_claim_is_kept_while_the_answer_is_being_made_and_runs_out_with_its_process(tmp_path: Path) -> None:
    one, two = (SqlitePins(tmp_path / "pins.sqlite", lease=0.15) for _ in range(2))
    log: list[str] = []
    with sqlite3.connect(tmp_path / "pins.sqlite") as link:  # by a process that died
        link.execute("INSERT INTO pins (key, owner, expires) VALUES ('dead', 'gone', 9e9)")
    link.close()
    assert await two.answer("dead", maker([])) == ({"answer": "made"}, False)
    assert await one.answer("dead", maker([])) == ({"answer": "made"}, True)
    slow = asyncio.ensure_future(one.answer("k", maker(log, "slow", wait=0.6)))
    await asyncio.sleep(0.02)
    assert await two.answer("k", maker(log, "hasty")) == ({"answer": "slow"}, True)
    await slow
    assert log == ["slow"]
    one.close()
    two.close()


async def test_a_file_of_pins_travels_by_its_path(tmp_path: Path) -> None:
    pins = SqlitePins(tmp_path / "pins.sqlite")
    log: list[str] = []
    await pins.answer("k", maker(log))
    copy = pickle.loads(pickle.dumps(pins))
    assert await copy.answer("k", maker(log)) == ({"answer": "made"}, True)
    copy.close()
    pins.close()


def test_a_file_that_is_none_of_pins_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database, and long enough to be looked at as one" * 20)
    with pytest.raises(InputError, match=r"notes\.txt"):
        SqlitePins(tmp_path / "notes.txt")


async def play(
    domain: Domain,
    model: ChatModel,
    pins: PinStore,
    calls: Sequence[ToolCall],
    *,
    state: State | None = None,
    seed: int = 1,
    group: str = "g",
    **options: Any,
) -> tuple[StepContext, list[Transition]]:
    simulator = CheckedSimulator(domain, model, pins=pins, **options)
    context = context_of(domain, state=state, seed=seed, group=group)
    simulator.begin(context)
    made: list[Transition] = []
    for call in calls:
        made.append(await simulator.call(call, context))
        context = after(context, made[-1], call)
    return context, made


async def seeded(request: Any) -> Any:
    await asyncio.sleep(0.01)
    return ok(f"seed {request.seed}")


async def test_a_group_gets_one_answer_and_every_record_is_whole(domain: Domain, store: PinStore) -> None:
    double = Double(seeded)
    played = await asyncio.gather(*(play(domain, double, store, [GET], seed=seed) for seed in range(5)))
    assert len(double.requests) == 1
    records = [context.ledger for context, _ in played]
    assert {transition.observation for _, (transition,) in played} == {f"seed {double.requests[0].seed}"}
    assert all(first_divergence(records[0].events, record.events) is None for record in records)
    assert [event["type"] for event in records[3].events] == ["model", "transition"]
    await play(domain, double, store, [GET], seed=0, group="another group")
    assert len(double.requests) == 2
    assert double.requests[0].seed != double.requests[1].seed


async def test_who_asks_first_changes_no_byte(domain: Domain) -> None:
    """The member that asks later has another history behind it, and other numbers of its own requests."""

    async def group(order: list[int]) -> list[bytes]:
        pins, double = MemoryPins(), Double(lambda request: ok(f"seed {request.seed}"))
        heads: dict[int, bytes] = {}
        for seed in order:
            calls = [ToolCall("get_book", {"book_id": "b2"})] * seed + [GET]
            context, _ = await play(domain, double, pins, calls, seed=seed)
            heads[seed] = context.ledger.head.encode()
        return [heads[seed] for seed in sorted(heads)]

    assert await group([0, 1, 2]) == await group([2, 1, 0])


async def test_a_repeat_within_an_episode_is_a_pin(domain: Domain) -> None:
    double = Double(ok("the sea"), ok("renamed", LAKE), ok("the lake"))
    context, made = await play(domain, double, MemoryPins(), [GET, GET, RENAME, GET, GET])
    assert [transition.meta["route"] for transition in made] == ["llm", "pin", "llm", "llm", "pin"]
    assert [transition.observation for transition in made[-2:]] == ["the lake", "the lake"]
    assert len(double.requests) == 3
    assert sum(event["type"] == "model" for event in context.ledger.events) == 3


async def test_a_pinned_write_is_applied_in_each_episode(domain: Domain) -> None:
    double, store = Double(ok("bad", put("/books/b1/copies", 9)), ok("renamed", LAKE)), MemoryPins()
    for seed in (1, 2):
        context, (transition,) = await play(domain, double, store, [RENAME], seed=seed)
        assert transition.ops == (LAKE,)
        assert transition.meta == {"route": "repaired"}
        assert context.state.at("/books/b1/title") == "Lake"
        assert [event["type"] for event in context.ledger.events] == ["model", "rejected", "model", "transition"]
    assert len(double.requests) == 2


async def test_an_episode_in_which_the_answer_breaks_a_rule_goes_on_from_it(domain: Domain, store: PinStore) -> None:
    double = Double(ok("lent", LOAN), failed("nobody", "not_found"))
    await play(domain, double, store, [LEND])
    gone = domain.base.apply([{"op": "remove", "path": "/loans/l1"}, {"op": "remove", "path": "/members/m1"}])
    context, made = await play(domain, double, store, [LEND, LEND], state=gone, seed=2)
    assert [transition.observation for transition in made] == ["Error: nobody"] * 2
    assert [transition.meta["route"] for transition in made] == ["repaired", "pin"]
    assert [event["type"] for event in context.ledger.events][:3] == ["model", "rejected", "model"]
    assert len(double.requests) == 2
    recorded = RecordedModel()
    recorded.load(context.ledger.events, None)
    again, _ = await play(domain, recorded, MemoryPins(), [LEND, LEND], state=gone, seed=2)
    assert first_divergence(context.ledger.events, again.ledger.events) is None


async def test_an_answer_that_fits_no_more_is_asked_anew(domain: Domain, store: PinStore) -> None:
    """What the slice of the tool does not show has changed since."""
    double = Double(ok("lent", LOAN), failed("nobody", "not_found"))
    simulator = CheckedSimulator(domain, double, pins=store)
    context = context_of(domain, group="g")
    context = after(context, await simulator.call(LEND, context), LEND)
    gone = [{"op": "remove", "path": f"/{place}"} for place in ("loans/l1", "loans/l2", "members/m1")]
    context = replace(context, state=context.state.apply(gone))
    transition = await simulator.call(LEND, context)
    assert (transition.error_code, transition.meta) == ("not_found", {"route": "llm"})
    ordinals = [event["ordinal"] for event in context.ledger.events if event["type"] == "model"]
    assert len(set(ordinals)) == 2


async def test_a_fault_is_shared_on_request_only(domain: Domain, store: PinStore) -> None:
    lost = Fault("server_error", "503", role="simulator")
    records = []
    double = Double(ok("x", LAKE), lost, ok("sea"))
    for seed in (1, 2):
        simulator = CheckedSimulator(domain, double, pins=store, share_faults=True)
        context = context_of(domain, seed=seed, group="g")
        simulator.begin(context)
        with pytest.raises(Fault, match="503") as caught:
            await simulator.call(GET, context)
        assert (caught.value.kind, caught.value.role) == ("server_error", "simulator")
        records.append(context.ledger)
    assert len(double.requests) == 2
    assert [event["type"] for event in records[1].events] == ["model", "rejected"]
    assert first_divergence(records[0].events, records[1].events) is None
    double = Double(lost, ok("sea"))
    with pytest.raises(Fault, match="503"):
        await play(domain, double, store, [GET], group="h")
    _, (transition,) = await play(domain, double, store, [GET], seed=2, group="h")
    assert transition.observation == "sea"


@pytest.mark.parametrize("change", ["group", "state", "arguments", "feedback", "rules", "model"])
async def test_what_an_answer_depends_on_is_in_the_key(domain: Domain, change: str) -> None:
    double, store = Double(ok("one"), ok("two")), MemoryPins()
    await play(domain, double, store, [GET])
    state = domain.base.apply([put("/books/b1/title", "Moor")]) if change == "state" else None
    call = ToolCall("get_book", {"book_id": "b2"}) if change == "arguments" else GET
    if change == "rules":
        (domain.folder / "prompts").mkdir()
        (domain.folder / "prompts" / "simulator_ledger.md").write_text("Other rules.")
        domain = load_domain(domain.folder)
    feedback: Feedback = "explain" if change == "feedback" else "terse"
    group = "h" if change == "group" else "g"
    options: dict[str, Any] = {"asked_as": {"simulator": {"model": "other"}}} if change == "model" else {}
    _, (transition,) = await play(domain, double, store, [call], state=state, group=group, feedback=feedback, **options)
    assert transition.observation == "two"
    assert (double.asked[0][0] == double.asked[1][0]) is (change not in ("feedback", "rules"))


async def test_what_no_call_can_see_is_not_in_the_key(domain: Domain) -> None:
    double, store = Double(ok("one")), MemoryPins()
    await play(domain, double, store, [GET])
    elsewhere = domain.base.apply([put("/books/b2/title", "Moor"), put("/_clock/now/day", 9)])
    await play(domain, double, store, [GET], state=elsewhere)
    assert len(double.requests) == 1


def _in_child(pins: Any, queue: Any) -> None:
    async def both() -> list[JsonObject]:
        return [(await pins.answer(key, maker([], "child", wait=0)))[0] for key in ("k", "other")]

    queue.put(asyncio.run(both()))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
async def test_a_forked_process_does_not_wait_for_its_parent(store: PinStore) -> None:
    leading = asyncio.ensure_future(store.answer("other", maker([], "parent", wait=0.5)))
    busy = asyncio.ensure_future(store.answer("mine", maker([], "parent", wait=0)))
    await busy
    forking = multiprocessing.get_context("fork")
    queue = forking.Queue()
    child = forking.Process(target=_in_child, args=(store, queue), daemon=True)
    child.start()
    other = "child" if isinstance(store, MemoryPins) else "parent"  # a file is shared, and so is its answer
    assert await asyncio.to_thread(queue.get, True, 20) == [{"answer": "child"}, {"answer": other}]
    child.join()
    await leading
