"""The rollout pool: plays queued jobs with several episodes in flight and writes a record line for each episode."""

from __future__ import annotations

import asyncio
import gc
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain

from simia_gym.assembly.suite import Suite
from simia_gym.common.dotted_names import foreign_code
from simia_gym.episode import Episode
from simia_gym.errors import Fault, InputError, StorageError
from simia_gym.policies import Policy
from simia_gym.record.records import Record
from simia_gym.rollout.jobs import Job, MissingTask, Plan, make_jobs, world_group
from simia_gym.rollout.limit import Clock, TimeUpError
from simia_gym.rollout.pacing import Pacing
from simia_gym.rollout.play import play_new, timed_out
from simia_gym.rollout.store import RecordStore
from simia_gym.rollout.summary import Summary
from simia_gym.types import JsonObject, Task

OnDone = Callable[[Record], None]

_START_ROUNDS = 32
"""Approximate number of event loop iterations over which the first episodes are started."""


_LEAST_THRESHOLD = 50_000
"""Number of new objects that starts a garbage collection while episodes run, at least; Python's default is 700."""
_OBJECTS_OF_AN_EPISODE = 2_000
"""Upper bound."""


class Pool:
    """Runs the episodes of a plan.

    Args:
        suite: The environment.
        plan: The episodes to play.
        make_policy: Makes the policy of one episode.
        concurrency: Maximum number of episodes in flight. If neither environment nor policy ever awaits, episodes are
            played one at a time, which is as fast.
        timeout: Time limit of one episode in seconds; ``None`` for no limit.
        on_done: Called after each episode, also for episodes taken from the store.

    Attributes:
        summary: The results so far; correct at any time, also after an interrupt.
        inline: Whether the environment never awaits anything.
        on_traceback: Called with the traceback of an episode that ended with an unexpected exception.

    Raises:
        InputError: ``concurrency`` or ``timeout`` is not positive.
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
        self._clock = Clock(timeout)
        self.on_traceback: Callable[[str], None] = lambda trace: None
        self._missing_tasks: list[MissingTask] = []
        self._stopping = self._halted = False
        self._full: StorageError | None = None

    def halt(self) -> None:
        """Start no further episodes; episodes in flight are finished and recorded."""
        self._halted = True

    @property
    def total(self) -> int:
        """Number of episodes of the plan, finished ones included."""
        return self.plan.total(len(self.suite.tasks))

    @contextmanager
    def playing(self) -> Iterator[None]:
        """Enforce time limits and collect garbage rarely; `run` enters it, callers of `play_job` must do so themselves.

        With Python's default threshold the collector scans the many objects of running episodes again and again and
        frees almost nothing: with 256 episodes in flight this takes a sixth of the time of a turn. So the threshold is
        above the number of these objects; those of finished episodes are freed by reference counting.
        """
        before = gc.get_threshold()
        if before[0]:  # else collection is off
            objects = max(before[0], _LEAST_THRESHOLD, _OBJECTS_OF_AN_EPISODE * self._concurrency)
            gc.set_threshold(objects, *before[1:])
        try:
            with self._clock.ticking():
                yield
        finally:
            gc.set_threshold(*before)

    async def run(self, store: RecordStore) -> Summary:
        """Play all episodes that the store does not contain yet, and return the results.

        Raises:
            InputError: The record cannot be written, or is of other tasks; or, after all other episodes have been
                played, some tasks could not be generated.
        """
        queue = make_jobs(self.plan, self.suite.tasks)
        if store.finished:
            queue = checked_jobs(store, queue)
        # One worker is enough until something awaits: an environment with I/O, or an asynchronous policy.
        several = asyncio.Event()
        if not self.inline:
            several.set()
        count, pacing = min(self._concurrency, self.total), Pacing(self.suite.resources.budget)
        workers: list[asyncio.Task[None]] = []
        try:
            with self.playing():
                for number in range(count):
                    workers.append(asyncio.create_task(self._work(queue, store, several, pacing, first=not number)))
                    # Yield now and then, so that first requests are sent before all episodes are prepared. Yielding
                    # after each worker would let the first episodes run far ahead, and the last ones finish alone.
                    if number % (count // _START_ROUNDS + 1) == 0:
                        await asyncio.sleep(0)
                # Not gather: it passes a cancellation on to the workers, which could not tell it from a
                # `CancelledError` raised by a policy.
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
        self,
        queue: Iterator[Job | MissingTask],
        store: RecordStore,
        several: asyncio.Event,
        pacing: Pacing,
        *,
        first: bool,
    ) -> None:
        if not first:
            await several.wait()
        try:
            for job in queue:
                if self._halted:
                    return
                if isinstance(job, MissingTask):
                    self._missing_tasks.append(job)
                    continue
                record = known = store.finished.get(job.key)
                if record is None:
                    try:
                        async with pacing.episode():
                            if not self._has_room(store):
                                return
                            record, line, times = await self.play_job(job, several.set)
                    except StorageError as error:
                        # Raised at the end, so that the episodes in flight keep the replies that were paid for.
                        self._full = error
                        self.halt()
                        return
                    store.write(line, times, record.blobs)
                self.summary.add(record, reused=known is not None)
                if self._on_done is not None:
                    self._on_done(record)
                await asyncio.sleep(0)  # an interrupt is delivered here, between two episodes that never wait
        finally:
            several.set()

    async def play_job(self, job: Job, on_wait: Callable[[], None] = lambda: None) -> tuple[Record, bytes, JsonObject]:
        """Play one episode; errors in it become a fault in its record.

        ``on_wait`` is called before an action of an asynchronous policy is awaited.

        Returns:
            The record, its line, and its entry of the sidecar file: duration, how long each reply took, and the
            traceback if there is one.
        """
        began = time.monotonic()
        episode, trace = await self._episode(job, on_wait)
        record, line = self._record(job, episode)
        times: JsonObject = {"key": job.key, "task": job.task.id, "member": job.member, "turns": episode.turn}
        times["seconds"] = round(time.monotonic() - began, 6)
        if episode.ledger.seconds:
            times["calls"] = {str(event): round(waited, 4) for event, waited in episode.ledger.seconds.items()}
        if trace is not None:
            times["traceback"] = trace
            self.on_traceback(trace)
        return record, line, times

    async def _episode(self, job: Job, on_wait: Callable[[], None]) -> tuple[Episode, str | None]:
        episode = self.suite.episode()
        episode.native_tools = getattr(self._make_policy, "native_tools", False)
        trace = None
        try:
            trace = await self._clock.run(
                lambda over: play_new(
                    episode,
                    job.task,
                    seed=job.seed,
                    make_policy=self._make_policy,
                    env=self.plan.config.env,
                    group=world_group(self.plan.seed, job.group),
                    over=over,
                    on_wait=on_wait,
                    yields=True,
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
        """The record and its line; an episode that cannot be written as JSON is replaced by a ``bad_record`` fault."""
        try:
            record = make_record(self.plan, job, episode)
            return record, record.to_line(episode.ledger)
        except (InputError, TypeError, ValueError, RecursionError) as error:
            episode = self.suite.episode()
            message = f"the episode cannot be written as JSON: {type(error).__name__}: {error}"
            episode.fail(Fault("bad_record", message, role="episode"))
            record = make_record(self.plan, job, episode)
            return record, record.to_line(episode.ledger)

    def _has_room(self, store: RecordStore) -> bool:
        """Whether a further episode can be recorded; if not, those in flight are finished and the run ends."""
        try:
            store.check_room()
        except StorageError as error:
            self._full = error
            self.halt()
        return not self._halted

    def _complete(self) -> None:
        """Raise an error if the disk is full, tasks could not be generated, or episodes are missing."""
        if self._full is not None:
            raise self._full
        if self._halted:
            return
        if self._missing_tasks:
            one = self._missing_tasks[0]
            number = len({item.position for item in self._missing_tasks})
            what = f"{number} of the tasks cannot be made, the first is number {one.position + 1}: {one.error}"
            fix = "Fix the domain's task generator, then give --resume."
            raise InputError(what, where="tasks", fix=fix)
        missing = self.total - self.summary.all.episodes
        if missing:
            raise InputError(f"episodes that did not run: {missing}", where="rollout", fix="Give --resume.")


async def _close_connections() -> None:
    """Close this event loop's connections to models, if there are any, before the loop closes."""
    module = sys.modules.get("simia_gym.llm.transport.http")
    if module is not None:
        await module.close_connections()


def checked_jobs(store: RecordStore, jobs: Iterator[Job | MissingTask]) -> Iterator[Job | MissingTask]:
    """Check that the episodes in a record were played on the current version of their tasks; return the same jobs.

    Jobs are read only until all episodes of the record are found, so that generated tasks are not all generated. Those
    of episodes that are found have tasks without content, for a long record's tasks would fill the memory.

    Raises:
        InputError: A task has changed since one of its episodes was recorded.
    """
    places = store.finished.places.items()
    known = {(place.task, place.member): (key, place.line) for key, place in places}
    seen: list[Job | MissingTask] = []
    for job in jobs:
        if isinstance(job, Job) and (job.task.id, job.member) in known:
            seen.append(replace(job, task=Task(job.task.id, job.task.split, job.task.kind)))
        else:
            seen.append(job)
        if isinstance(job, Job):
            key, line = known.pop((job.task.id, job.member), (job.key, 0))
            if key != job.key:
                raise InputError(
                    f"task {job.task.id!r} has changed since this episode of it was written",
                    where=f"{store.path}:{line}",
                    fix="Give another --out.",
                )
        if not known:
            break
    return chain(seen, jobs)


def make_record(plan: Plan, job: Job, episode: Episode) -> Record:
    """Make the record of a finished episode."""
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
        blobs=episode.ledger.blobs,
    )
