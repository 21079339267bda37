"""What a worker process does, asked here as the driver asks it, without a cluster; Ray itself takes no part in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.common.json_encoding import decode
from simia_gym.domain.registration import CUSTOM
from simia_gym.oracle.server import serve_in_thread
from simia_gym.policies import PolicyOptions, policy_hash
from simia_gym.record.records import record_from_json
from simia_gym.rl.cluster.budget_shares import Amounts
from simia_gym.rl.cluster.messages import WorkerReply, WorkerSetup, model_variables
from simia_gym.rl.cluster.worker import Worker, setup_for_one_of
from simia_gym.rollout.jobs import EpisodeSlot
from simia_gym.version import __version__

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
