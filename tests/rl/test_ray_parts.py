"""Workers of a run on Ray, without a cluster: every episode is counted once, and no budget is passed."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.common.json_encoding import decode
from simia_gym.domain.registration import CUSTOM
from simia_gym.errors import Fault
from simia_gym.llm.budget import Budget
from simia_gym.oracle.server import serve_in_thread
from simia_gym.policies import PolicyOptions, policy_hash
from simia_gym.record.records import record_from_json
from simia_gym.rl.cluster.assignments import Assignments
from simia_gym.rl.cluster.budget_shares import Amounts, BudgetShare, BudgetShares
from simia_gym.rl.cluster.messages import WorkerReply, WorkerSetup, model_variables
from simia_gym.rl.cluster.worker import Worker, setup_for_one_of
from simia_gym.rollout.jobs import EpisodeSlot, Job, Plan, job_at, make_jobs, slots_of
from simia_gym.version import __version__


def slots(count: int) -> list[EpisodeSlot]:
    return [EpisodeSlot(n, 0) for n in range(count)]


@given(st.integers(0, 30), st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("tfgl"), st.integers(0, 5))))
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
        elif move == "g":
            back, held[worker] = held[worker][:number], held[worker][number:]
            assignments.give_back(worker, back)
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


NO_LIMIT = Amounts(None, None, None)


@pytest.fixture
def worker() -> Iterator[Worker]:
    """One that has not begun; what it does to the environment of this process is undone."""
    made, before = Worker(), dict(os.environ)
    yield made
    made.close()
    os.environ.clear()
    os.environ.update(before)


def setup_of(config: EnvConfig, policy: str, folder: Path, **more: Any) -> WorkerSetup:
    suite = load_suite(EnvConfig(config.env, domain=config.domain, split=config.split))
    own, where = suite.domain.config.policies, suite.domain.folder
    plan = {
        "config": config,
        "domain_hash": suite.domain.hash,
        "policy": policy,
        "group": more.pop("group", 1),
        "policy_hash": policy_hash(policy, own, folder=where),
    }
    settings: dict[str, Any] = {
        "version": __version__,
        "folder": str(folder),
        "config": config,
        "base_url": None,
        "base_urls": {},
        "plan": plan,
        "policy": policy,
        "options": PolicyOptions(),
        "content_hash": None,
        "slots": 4,
        "timeout": None,
        "pins": None,
        "budget": False,
    }
    return WorkerSetup(**{**settings, **more})


def answers(worker: Worker, slots: list[EpisodeSlot], limits: Amounts = NO_LIMIT) -> Iterator[WorkerReply]:
    """Hand out everything at once, and ask until all of it is done."""
    done = 0
    first = slots
    while done < len(slots):
        reply = worker.exchange(first, limits)
        first = []
        done += len(reply.finished)
        yield reply


def test_a_share_that_does_not_grow_ends_in_a_fault_and_one_that_grows_does_not(tmp_path: Path, worker: Worker) -> None:
    with serve_in_thread() as oracle:
        config = EnvConfig("simia/webshop-v0", simulator="llm", model="oracle", pins=False)
        setup = setup_of(config, "expert", tmp_path, base_url=oracle.base_url, budget=True, slots=1)
        assert worker.start(setup, {}).problem is None
        limit, replies = 2, []
        reply = worker.exchange([EpisodeSlot(0, 0)], Amounts(limit, None, None))
        while not reply.finished:
            replies.append(reply)
            limit += 1
            reply = worker.exchange([], Amounts(limit, None, None))
        assert record_from_json(decode(reply.finished[0].line), "line").valid
        assert (reply.spent.calls or 0) <= limit
        assert sum(one.accounts["simulator"].calls for one in [*replies, reply] if one.accounts) == reply.spent.calls
        more = Amounts((reply.spent.calls or 0) + 1, None, None)
        (stopped,) = [one for reply in answers(worker, [EpisodeSlot(1, 0)], more) for one in reply.finished]
        record = record_from_json(decode(stopped.line), "line")
        assert (record.fault or {})["kind"] == "budget"


def test_what_is_not_the_drivers_is_told(desk: Path) -> None:
    setup = setup_of(EnvConfig(CUSTOM, domain="desk", split="all"), "mine.py:Slow", desk)
    plan = dict(setup.plan)
    wrong = {
        "driver's of 0.0": replace(setup, version="0.0"),
        "domain desk differs": replace(setup, plan={**plan, "domain_hash": "0" * 16}),
        "policy mine.py:Slow differs": replace(setup, plan={**plan, "policy_hash": "0" * 16}),
        "nowhere": replace(setup, config=EnvConfig(CUSTOM, domain="nowhere")),
    }
    for what, changed in wrong.items():
        worker = Worker()
        problem = worker.start(changed, model_variables()).problem
        worker.close()
        assert problem is not None
        assert what in problem


def test_what_the_driver_does_not_have_the_worker_has_not_either(
    desk: Path, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SIMIA_POLICY_BASE_URL", "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "HOME_OF_OTHERS"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    setup = setup_of(EnvConfig(CUSTOM, domain="desk", split="all"), "expert", desk)
    worker.start(setup, {"OPENAI_API_KEY": "sk-1"})
    found = {name for name in os.environ if name.startswith(("SIMIA_", "OPENAI_", "AZURE_OPENAI_"))}
    assert found == {"OPENAI_API_KEY"}
    assert os.environ["HOME_OF_OTHERS"] == "http://127.0.0.1:1"


def test_ceilings_are_split_among_workers(desk: Path) -> None:
    config = EnvConfig("simia/webshop-v0", roles={"judge": {"model": "m", "concurrency": 9}}, judge="llm")
    setup = replace(
        setup_of(EnvConfig(CUSTOM, domain="desk", split="all"), "expert", desk),
        config=config,
        options=PolicyOptions(concurrency=3),
    )
    for workers, judge, policy in ((2, 4, 1), (20, 1, 1), (1, 9, 3)):
        part = setup_for_one_of(setup, workers)
        assert part.config.roles["judge"]["concurrency"] == judge
        assert part.options.concurrency == policy
