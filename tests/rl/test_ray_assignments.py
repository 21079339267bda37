"""Every episode is counted once, whatever workers do; and no budget is passed, whoever spends it."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.errors import Fault
from simia_gym.llm.budget import Budget

from .libraries import need

need("ray")

from simia_gym.rl.cluster.assignments import Assignments
from simia_gym.rl.cluster.budget_shares import Amounts, BudgetShare, BudgetShares
from simia_gym.rollout.jobs import EpisodeSlot, Job, Plan, job_at, make_jobs, slots_of


def slots(count: int) -> list[EpisodeSlot]:
    return [EpisodeSlot(n, 0) for n in range(count)]


@given(st.integers(0, 30), st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("tfl"), st.integers(0, 5))))
@settings(deadline=None)
def test_whatever_workers_do_every_episode_ends_exactly_once(count: int, moves: list[tuple[str, str, int]]) -> None:
    assignments = Assignments(iter(slots(count)))
    held: dict[str, list[EpisodeSlot]] = {name: [] for name in "abc"}
    ended: Counter[EpisodeSlot] = Counter()
    for worker, move, number in moves:
        if move == "t":
            held[worker] += assignments.assign(worker, number)
        elif move == "f":
            done, held[worker] = held[worker][:number], held[worker][number:]
            ended.update(slot for slot in done if assignments.complete(worker, slot))
        else:
            ended.update(assignments.worker_died(worker))
            held[worker] = []
        assert {name: assignments.count(name) for name in "abc"} == {name: len(held[name]) for name in "abc"}
    while not assignments.done:
        for worker in "abc":
            held[worker] += assignments.assign(worker, 4)
            ended.update(slot for slot in held[worker] if assignments.complete(worker, slot))
            held[worker] = []
    assert ended == Counter(slots(count))


def test_what_took_two_workers_along_is_played_alone_and_given_up_after_the_third() -> None:
    assignments = Assignments(iter(slots(3)))
    assert assignments.assign("a", 2) == slots(2)
    assert assignments.worker_died("a") == []
    assert assignments.assign("b", 5) == slots(3)
    assert assignments.worker_died("b") == []
    assert assignments.assign("z", 1) == [EpisodeSlot(2, 0)]  # it has been lost but once
    assert assignments.worker_died("z") == []
    alone = []
    for worker in "cde":
        taken = assignments.assign(worker, 5)
        alone.append(taken)
    assert [len(taken) for taken in alone] == [1, 1, 1]
    assert assignments.assign("c", 5) == []
    assert assignments.worker_died("c") == alone[0]
    for worker, taken in zip("de", alone[1:], strict=True):
        assert assignments.complete(worker, taken[0])
    assert assignments.done


def test_episodes_are_numbered_in_the_order_of_the_local_pool() -> None:

    suite = load_suite(EnvConfig("simia/webshop-v0"))
    for group, episodes in ((1, None), (3, None), (2, 97), (4, 10)):
        plan = Plan(suite.config, suite.domain.hash, "p", group=group, episodes=episodes)
        jobs = [job for job in make_jobs(plan, suite.tasks) if isinstance(job, Job)]
        found = list(slots_of(plan, len(suite.tasks)))
        assert [job_at(plan, suite.tasks, *slot) for slot in found] == jobs
        assert [(suite.tasks[p.task].id, p.member) for p in found] == [(job.task.id, job.member) for job in jobs]


@given(
    st.integers(1, 40),
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["grant", "answer", "ask", "die"])), max_size=80),
)
@settings(deadline=None)
def test_workers_never_use_more_than_the_budget_between_them(calls: int, moves: list[tuple[str, str]]) -> None:
    shares, used = BudgetShares(Budget(max_calls=calls)), 0
    workers: dict[str, BudgetShare] = {}
    sent: dict[str, list[Amounts]] = {}
    for name, move in moves:
        share = workers.setdefault(name, BudgetShare())
        if move == "grant":
            sent.setdefault(name, []).append(shares.grant(name))
        elif move == "answer" and sent.get(name):
            in_force = share.grant(sent[name].pop(0))
            shares.report(name, in_force, share.spent())
        elif move == "ask":
            with contextlib.suppress(Fault):
                share.settle(share.reserve("judge", 0, 0.0), 0, 0.0)
                used += 1
        elif move == "die":
            # What it used since its last answer is not known.
            used -= int((share.spent().calls or 0) - (_heard(shares, name).calls or 0))
            shares.worker_died(name)
            workers.pop(name)
            sent.pop(name, None)
        assert used <= calls


def _heard(shares: BudgetShares, name: str) -> Amounts:
    held = shares._workers.get(name)
    return Amounts(0, 0, 0) if held is None else held.spent


def test_what_is_left_goes_in_equal_parts() -> None:
    shares = BudgetShares(Budget(max_calls=100, max_cost=2.0))
    shares.grant("a")
    shares.report("a", Amounts(100, None, 2.0), Amounts(10, 5, 0.2))
    assert shares.grant("b").calls == 0
    assert not shares.enough("b")
    shares.report("b", Amounts(0, None, 0.0), Amounts(0, 0, 0.0))
    assert shares.grant("a") == Amounts(55, None, 1.1)
    shares.report("a", Amounts(55, None, 1.1), Amounts(10, 9, 0.2))
    assert shares.grant("b") == Amounts(45, None, 0.8999999999999999)
    assert shares.enough("b")


async def test_what_a_worker_has_in_flight_itself_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simia_gym.rl.cluster.budget_shares._UNTIL_SURE", -1.0)  # nothing more will come from elsewhere
    share = BudgetShare()
    share.grant(Amounts(None, None, 1.0))
    first = await share.admit("judge", 0, 0.6)
    second = asyncio.ensure_future(share.admit("judge", 0, 0.6))
    await asyncio.sleep(0.1)
    assert not second.done()
    share.settle(first, 0, 0.1)
    await asyncio.wait_for(second, 5.0)
    with pytest.raises(Fault, match="used up"):
        await share.admit("judge", 0, 1.1)
