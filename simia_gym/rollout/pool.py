"""The rollout pool: a queue of jobs, a number of episodes in flight, one line of record for each that finishes."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import chain
from typing import Protocol

from simia_gym.assembly.suite import Suite
from simia_gym.episode import Episode
from simia_gym.errors import Fault, InputError
from simia_gym.policies import Policy
from simia_gym.record.records import Record
from simia_gym.rollout.collection import rarer_collection
from simia_gym.rollout.foreign import foreign_code
from simia_gym.rollout.jobs import Job, Plan, Unmade, make_jobs, world_group
from simia_gym.rollout.limit import Clock, TimeUpError
from simia_gym.rollout.play import Turns, play_new, timed_out
from simia_gym.rollout.store import RecordStore
from simia_gym.rollout.summary import Summary
from simia_gym.types import JsonObject

OnDone = Callable[[Record], None]

_START_ROUNDS = 32
"""In how many rounds of the loop, about, the first episodes begin."""


class Sink(Protocol):
    """Where finished episodes go, such as a `RecordStore`."""

    def write(self, line: bytes, times: JsonObject) -> None:
        """Take one: its line of the record, and what is known besides."""
        ...


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
        inline: Whether the environment never waits for anything.
        on_traceback: Called with the traceback of an episode that ended with an unexpected exception.
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
        self._make_policy, self._on_done, self._concurrency = make_policy, on_done, concurrency
        with foreign_code(suite.domain.folder):
            self.inline = suite.episode().inline
        self._clock, self._turns = Clock(timeout), Turns()
        self.on_traceback: Callable[[str], None] = lambda trace: None
        self._unmade: list[Unmade] = []
        self._stopping = self._halted = False

    def halt(self) -> None:
        """Begin no further episode; those in flight go on to their end, and are recorded."""
        self._halted = True

    @property
    def total(self) -> int:
        """Number of episodes, those that are finished already included."""
        return self.plan.total(len(self.suite.tasks))

    def ticking(self) -> AbstractContextManager[None]:
        """Keep the alarm for late episodes ready; `run` does it, and `play_job` needs it."""
        return self._clock.ticking()

    async def run(self, store: RecordStore) -> Summary:
        """Run everything that the store does not hold yet.

        Args:
            store: Where finished episodes go, and where those stand that need not run again.

        Returns:
            The results.

        Raises:
            InputError: The record cannot be written, or belongs to other tasks; or, after everything else has run,
                some tasks could not be made.
        """
        jobs: Iterable[Job | Unmade] = make_jobs(self.plan, self.suite.tasks)
        if store.finished:
            jobs = checked_jobs(store, iter(jobs))
        queue = iter(jobs)
        # One worker is enough until something waits: an environment with I/O, or an action that has to be awaited.
        several = asyncio.Event()
        if not self.inline:
            several.set()
        count = min(self._concurrency, self.total)
        workers: list[asyncio.Task[None]] = []
        try:
            with rarer_collection(self._concurrency), self.ticking():
                for number in range(count):
                    workers.append(asyncio.create_task(self._work(queue, store, several, first=not number)))
                    # Requests leave before all episodes are prepared; but one a round of the loop would let the first
                    # episodes run far ahead, and the last ones end alone.
                    if number % (count // _START_ROUNDS + 1) == 0:
                        await asyncio.sleep(0)
                # Not gather: that would hand an interrupt on to the workers, and they could not tell it from one that
                # a policy made up.
                done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
                for worker in done:
                    worker.result()
        finally:
            self._stopping = True
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            await _close_connections()
        self._complete()
        return self.summary

    async def _work(
        self, queue: Iterator[Job | Unmade], store: RecordStore, several: asyncio.Event, *, first: bool
    ) -> None:
        if not first:
            await several.wait()
        try:
            for job in queue:
                if self._halted:
                    return
                if isinstance(job, Unmade):
                    self._unmade.append(job)
                    continue
                known = store.finished.get(job.key)
                record = known or await self.play_job(job, store, several.set)
                self.summary.add(record, reused=known is not None)
                if self._on_done is not None:
                    self._on_done(record)
                await asyncio.sleep(0)  # an interrupt is delivered here, between two episodes that never wait
        finally:
            several.set()

    async def play_job(self, job: Job, sink: Sink, on_wait: Callable[[], None] = lambda: None) -> Record:
        """Play one episode; whatever goes wrong in it is a fault that its record names.

        Args:
            job: What to play.
            sink: Where its line goes.
            on_wait: Called when an action has to be waited for.
        """
        began = time.monotonic()
        episode, trace = await self._episode(job, on_wait)
        record, line = self._record(job, episode)
        times: JsonObject = {"key": job.key, "task": job.task.id, "member": job.member, "turns": episode.turn}
        times["seconds"] = round(time.monotonic() - began, 6)
        if trace is not None:
            times["traceback"] = trace
            self.on_traceback(trace)
        sink.write(line, times)
        return record

    async def _episode(self, job: Job, on_wait: Callable[[], None]) -> tuple[Episode, str | None]:
        episode = self.suite.episode()
        trace = None
        try:
            trace = await self._clock.run(
                lambda limit: play_new(
                    episode,
                    job.task,
                    seed=job.seed,
                    make_policy=self._make_policy,
                    env=self.plan.config.env,
                    group=world_group(self.plan.seed, job.group),
                    over=limit.over,
                    on_wait=on_wait,
                    turns=self._turns,
                )
            )
        except (TimeUpError, TimeoutError):
            episode.fail(timed_out())
        except asyncio.CancelledError:
            worker = asyncio.current_task()
            if self._stopping or worker is None:
                raise
            worker.uncancel()
            episode.fail(
                Fault("bug", "CancelledError: the task of the episode was cancelled from within", role="policy")
            )
        return episode, trace

    def _record(self, job: Job, episode: Episode) -> tuple[Record, bytes]:
        """The record and its line; of an episode that cannot be written as JSON, the fault that it cannot."""
        try:
            record = make_record(self.plan, job, episode)
            return record, record.to_line(episode.ledger.encoded)
        except (InputError, TypeError, ValueError, RecursionError) as error:
            episode = self.suite.episode()
            message = f"the episode cannot be written as JSON: {type(error).__name__}: {error}"
            episode.fail(Fault("bad_record", message, role="episode"))
            record = make_record(self.plan, job, episode)
            return record, record.to_line(episode.ledger.encoded)

    def _complete(self) -> None:
        """Make sure that nothing is missing.

        Raises:
            InputError: Something is; says what.
        """
        if self._halted:
            return
        if self._unmade:
            one = self._unmade[0]
            number = len({item.position for item in self._unmade})
            what = f"{number} of the tasks cannot be made, the first is number {one.position + 1}: {one.error}"
            fix = "Mend the domain's task generator, then give --resume."
            raise InputError(what, where="tasks", fix=fix)
        missing = self.total - self.summary.all.episodes
        if missing:
            raise InputError(f"episodes that did not run: {missing}", where="rollout", fix="Give --resume.")


async def _close_connections() -> None:
    """Close what was opened on this loop to ask models, if any were asked; it must not outlive the loop."""
    module = sys.modules.get("simia_gym.llm.transport.http")
    if module is not None:
        await module.close_connections()


def checked_jobs(store: RecordStore, jobs: Iterator[Job | Unmade]) -> Iterator[Job | Unmade]:
    """Refuse a file whose episodes are of another version of the same tasks.

    Goes only as far as the file's episodes reach, so that a plan without end can be resumed too.
    """
    known = {(record.task, record.member): record for record in store.finished.values()}
    seen: list[Job | Unmade] = []
    for job in jobs:
        seen.append(job)
        record = None if isinstance(job, Unmade) else known.pop((job.task.id, job.member), None)
        if record is not None and isinstance(job, Job) and record.key != job.key:
            raise InputError(
                f"task {record.task!r} has changed since this episode of it was written",
                where=f"{store.path}:{record.line}",
                fix="Give another --out.",
            )
        if not known:
            break
    return chain(seen, jobs)


def make_record(plan: Plan, job: Job, episode: Episode) -> Record:
    """The record of an episode that has its verdict."""
    verdict, written = episode.verdict, episode.written
    if verdict is None or written is None:
        raise RuntimeError("the episode has no verdict yet")
    return Record(
        line=0,
        key=job.key,
        run=plan.run(),
        config=plan.config_json,
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
        events=[*episode.ledger.events],
        head=episode.ledger.head,
    )
