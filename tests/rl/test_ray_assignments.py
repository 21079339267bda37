"""Every episode is counted once, whatever workers do; and no budget is passed, whoever spends it."""

from __future__ import annotations

import asyncio
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.errors import Fault
from simia_gym.llm.budget import NO_GUESS, Reservation

from .libraries import need

need("ray")

from simia_gym.rl.cluster.assignments import Assignments
from simia_gym.rl.cluster.budget import BudgetActor
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


async def test_what_a_dead_worker_had_in_flight_counts_as_used() -> None:
    budget = BudgetActor(None, 100, None)
    held = await budget.admit("a", "judge", 40, 0.0, NO_GUESS)
    assert isinstance(held, Reservation)
    await budget.settle("a", held, 10, 0.0)
    await budget.settle("a", held, 10, 0.0)  # nothing is left to settle
    for worker in "ab":
        assert await budget.admit(worker, "judge", 40, 0.0, NO_GUESS) == held
    waits = asyncio.ensure_future(budget.admit("b", "judge", 20, 0.0, NO_GUESS))
    await asyncio.sleep(0)
    assert not waits.done()  # 10 are used and 80 reserved
    await budget.worker_died("a")
    await budget.worker_died("a")
    await budget.settle("b", held, 30, 0.0)
    held = await asyncio.wait_for(waits, 5.0)  # 80 are used
    assert isinstance(held, Reservation)
    await budget.settle("b", held, 20, 0.0)
    assert isinstance(await budget.admit("b", "judge", 1, 0.0, NO_GUESS), Fault)
