"""The rollout pool: a queue of jobs, a number of episodes in flight, one line of record for each that finishes."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator

from simia_gym.episode import Episode
from simia_gym.errors import InputError
from simia_gym.policies import Policy
from simia_gym.rollout.jobs import Job, Plan, make_jobs
from simia_gym.rollout.play import TimeUpError, alarm, play, timed_out, waits
from simia_gym.rollout.records import Record
from simia_gym.rollout.store import RecordStore
from simia_gym.rollout.summary import Summary
from simia_gym.suite import Suite
from simia_gym.types import JsonObject
from simia_gym.verdict import to_json

OnDone = Callable[[Record], None]


class Pool:
    """Runs the episodes of a plan.

    Args:
        suite: The environment.
        plan: What to run.
        make_policy: Makes the policy of one episode.
        concurrency: Most episodes in flight. Where nothing waits for anything there is one, without loss of speed.
        timeout: Seconds that one episode may take.
        on_done: Called after each episode, also for those taken from the store.

    Attributes:
        summary: The results so far; true at any moment, also after an interruption.
    """

    def __init__(
        self,
        suite: Suite,
        plan: Plan,
        make_policy: Callable[[], Policy],
        *,
        concurrency: int = 8,
        timeout: float | None = None,
        on_done: OnDone | None = None,
    ) -> None:
        if concurrency < 1:
            raise InputError(f"concurrency is {concurrency}", where="--concurrency", fix="Give at least 1.")
        if timeout is not None and not 0 < timeout < math.inf:
            raise InputError(f"timeout is {timeout}", where="--timeout", fix="Give a number of seconds above 0.")
        self.suite, self.plan = suite, plan
        self.summary = Summary()
        self._make_policy, self._on_done, self._timeout = make_policy, on_done, timeout
        self._inline = suite.episode().inline and not waits(make_policy())
        self._workers = 1 if self._inline else concurrency

    @property
    def total(self) -> int:
        """Number of episodes, those that are finished already included."""
        return self.plan.total(len(self.suite.tasks))

    async def run(self, store: RecordStore) -> Summary:
        """Run everything that the store does not hold yet.

        Args:
            store: Where finished episodes go, and where those stand that need not run again.

        Returns:
            The results.

        Raises:
            InputError: The record cannot be written, or belongs to other tasks.
        """
        jobs: Iterable[Job] = make_jobs(self.plan, self.suite.tasks)
        if store.finished:
            jobs = list(jobs)
            _check_tasks(store, jobs)
        queue = iter(jobs)
        workers = [asyncio.create_task(self._work(queue, store)) for _ in range(min(self._workers, self.total))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            await _close_connections()
        return self.summary

    async def _work(self, queue: Iterator[Job], store: RecordStore) -> None:
        for job in queue:
            known = store.finished.get(job.key)
            record = known or await self._run(job, store)
            self.summary.add(record, reused=known is not None)
            if self._on_done is not None:
                self._on_done(record)
            await asyncio.sleep(0)  # an interrupt is delivered here, between two episodes that never wait

    async def _run(self, job: Job, store: RecordStore) -> Record:
        began = time.monotonic()
        episode, trace = await self._episode(job)
        record = make_record(self.plan, job, episode)
        times: JsonObject = {"key": job.key, "task": job.task.id, "member": job.member, "turns": episode.turn}
        times["seconds"] = round(time.monotonic() - began, 6)
        if trace is not None:
            times["traceback"] = trace
        store.write(record.to_json(), times)
        return record

    async def _episode(self, job: Job) -> tuple[Episode, str | None]:
        episode, policy = self.suite.episode(), self._make_policy()
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        env = self.plan.config.env
        running = play(episode, job.task, seed=job.seed, policy=policy, env=env, deadline=deadline)
        trace = None
        try:
            async with asyncio.timeout(self._timeout):
                with alarm(self._timeout if self._inline else None):
                    trace = await running
        except (TimeUpError, TimeoutError):
            episode.fail(timed_out())
        return episode, trace


async def _close_connections() -> None:
    """Close what the model policies opened on this loop, if any were used; it must not outlive the loop."""
    module = sys.modules.get("simia_gym.policies.llm")
    if module is not None:
        await module.close_clients()


def _check_tasks(store: RecordStore, jobs: list[Job]) -> None:
    """Refuse a file whose episodes are of another version of the same tasks."""
    keys = {(job.task.id, job.member): job.key for job in jobs}
    for record in store.finished.values():
        if keys.get((record.task, record.member), record.key) != record.key:
            raise InputError(
                f"task {record.task!r} has changed since this episode of it was written",
                where=f"{store.path}:{record.line}",
                fix="Give another --out.",
            )


def make_record(plan: Plan, job: Job, episode: Episode) -> Record:
    """The record of an episode that has its verdict."""
    verdict = episode.verdict
    if verdict is None:
        raise RuntimeError("the episode has no verdict yet")
    written = to_json(verdict)
    return Record(
        line=0,
        key=job.key,
        run={"seed": plan.seed, "group": plan.group},
        config=plan.config.to_json(),
        domain_hash=plan.domain_hash,
        task=job.task.id,
        kind=job.task.kind,
        split=job.task.split,
        seed=job.seed,
        group=job.group,
        member=job.member,
        policy=plan.policy,
        reward=verdict.reward,
        valid=verdict.valid,
        success=verdict.success,
        score=verdict.score,
        turns=episode.turn,
        ended=episode.ended or "",
        verdict=written,
        fault=written["fault"],
        events=[dict(event) for event in episode.ledger.events],
        head=episode.ledger.head,
    )
