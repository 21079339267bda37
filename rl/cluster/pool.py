"""The pool whose episodes run in worker processes of a Ray cluster, one process per core and many episodes in each.

The driver hands out episodes by number, gets finished lines back, and is the only one that writes the record. The
episodes of a worker that died are assigned again.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Coroutine, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import ray

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.suite import Suite
from simia_gym.common.json_encoding import decode
from simia_gym.common.secrets import without_secrets
from simia_gym.errors import Fault, InputError
from simia_gym.llm.accounts import accounts
from simia_gym.record.records import Record, record_from_json
from simia_gym.rl.cluster.assignments import Assignments
from simia_gym.rl.cluster.budget_shares import BudgetShares
from simia_gym.rl.cluster.messages import SlotResult, WorkerReady, WorkerReply, WorkerSetup, model_variables
from simia_gym.rl.cluster.pins import RayPins
from simia_gym.rl.cluster.session import session
from simia_gym.rl.cluster.worker import Worker
from simia_gym.rollout.jobs import EpisodeSlot, Job, MissingTask, Plan, job_at, make_jobs, slots_of
from simia_gym.rollout.pool import OnDone, Pool, checked_jobs
from simia_gym.rollout.pools import Elsewhere
from simia_gym.rollout.store import RecordStore
from simia_gym.rollout.summary import Summary
from simia_gym.version import __version__

_CALLS_AHEAD = 2
"""Calls that a worker has at once: while one is executed, the next one is queued already."""
_POLL_CLUSTER = 5.0
"""Seconds between two checks of how many processors the cluster has."""
_POLL_BUDGET = 0.05
"""Seconds after which a worker without a fair share of the budget gets new limits."""
_LEAST_DEATHS = 6
"""Deaths of workers in a row, without a finished episode between them, before the run stops."""


class RayPool(Pool):
    """Runs the episodes of a plan on Ray.

    Uses Ray as it is initialised in this process. If it is not, connects to the named cluster, or starts a cluster of
    this machine alone, until the run ends.

    Args:
        suite: The environment; its settings and resources must be picklable.
        plan: What to run.
        elsewhere: Name of the policy, address of the cluster, number of workers.
        concurrency: The largest number of episodes in flight over all workers; at least one for each worker.
        timeout: Seconds that one episode may take.
        on_done: Called after each episode, also for those that the store holds already.

    Attributes:
        summary: The results so far; correct at any moment, also after an interruption.
        lost: Number of workers that died.
        workers: The workers that are ready to play now, by name.

    Raises:
        InputError: A resource cannot be used in other processes.
    """

    def __init__(
        self,
        suite: Suite,
        plan: Plan,
        elsewhere: Elsewhere,
        *,
        concurrency: int = 8,
        timeout: float | None = None,
        on_done: OnDone | None = None,
    ) -> None:
        super().__init__(suite, plan, _nobody, concurrency=concurrency, timeout=timeout, on_done=on_done)
        resources = suite.resources
        for name in ("client", "clients", "models", "simulator", "cassette", "api_key", "api_keys"):
            if getattr(resources, name):
                fix = "Leave it out; set API keys as environment variables."
                raise InputError("it cannot be used in other processes", where=f"resources.{name}", fix=fix)
        if elsewhere.workers is not None and elsewhere.workers < 1:
            raise InputError(f"workers is {elsewhere.workers}", where="--ray-workers", fix="Give at least 1.")
        self.lost = 0
        self.workers: dict[str, WorkerReady] = {}
        self._elsewhere, self._timeout = elsewhere, timeout
        self._assignments = Assignments(iter(()))
        self._over = asyncio.Event()
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._error: BaseException | None = None
        self._running: dict[str, Any] = {}
        self._shares = BudgetShares(resources.budget)
        self._deaths = 0

    async def run(self, store: RecordStore) -> Summary:
        """Run everything that the store does not hold yet; see `Pool.run`.

        Raises:
            InputError: The record cannot be written, or belongs to other tasks; a worker cannot play; all workers would
                load their models onto one GPU; workers die one after another; or, after all other episodes have run,
                some tasks could not be made.
        """
        self._assignments = Assignments(self._slots(store))
        if not self._assignments.done:
            with session(self._elsewhere.address, self._elsewhere.workers):
                check_cards(self._elsewhere, ray.cluster_resources().get("GPU", 0))
                await self._run_on(store)
        self._complete()
        return self.summary

    async def _run_on(self, store: RecordStore) -> None:
        # Episodes share pinned answers within their group, so a group of one needs no store across processes.
        shared = self.suite.pins is not None and self.plan.group > 1
        pins = RayPins(f"rollout-{os.urandom(8).hex()}") if shared else None
        self._spawn(self._start_workers(store, pins))
        try:
            await self._over.wait()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for actor in self._running.values():
                ray.kill(actor)
            if pins is not None:
                pins.close()
        if self._error is not None:
            raise self._error

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task whose failure ends the run."""

        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if not task.cancelled() and task.exception() is not None:
                self._error = self._error or task.exception()
                self._over.set()

        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(ended)

    def _slots(self, store: RecordStore) -> Iterator[EpisodeSlot]:
        """The episodes that are still to be played; those that the store holds are counted on the way."""
        slots = slots_of(self.plan, len(self.suite.tasks))
        if not store.finished:
            yield from slots
            return
        jobs = checked_jobs(store, make_jobs(self.plan, self.suite.tasks))
        for slot, job in zip(slots, jobs, strict=True):
            known = store.finished.get(job.key) if isinstance(job, Job) else None
            if known is None:
                yield slot
            else:
                self._count(known, reused=True)

    async def _start_workers(self, store: RecordStore, pins: RayPins | None) -> None:
        """Start one worker per processor, or as many as were asked for; nodes may join at any time."""
        asked = self._elsewhere.workers
        started = 0
        while True:
            wanted = min(asked or max(1, int(ray.cluster_resources().get("CPU", 1))), self.total)
            setup = self._worker_setup(wanted, pins)
            for number in range(started, wanted):
                self._spawn(self._keep_worker(number, setup, store))
            started = max(started, wanted)
            if asked is not None:
                return
            await asyncio.sleep(_POLL_CLUSTER)

    def _worker_setup(self, workers: int, pins: RayPins | None) -> WorkerSetup:
        """The setup of one of several workers: limits of requests in flight are divided among them, at least 1 each."""

        def part(limit: int | None) -> int | None:
            return None if limit is None else max(1, limit // workers)

        config, resources, options = self.suite.config, self.suite.resources, self._elsewhere.options
        roles = {
            role: {**settings, "concurrency": part(settings.get("concurrency"))}
            for role, settings in config.roles.items()
        }
        options = replace(options, api_key=None, client=None, concurrency=part(options.concurrency))
        return WorkerSetup(
            version=__version__,
            folder=os.getcwd(),
            config=replace(config, simulator=self.suite.simulator_name, roles=roles),
            resources=Resources(base_url=resources.base_url, base_urls=dict(resources.base_urls), pins=pins),
            budget=resources.budget is not None,
            plan=self.plan,
            policy=replace(self._elsewhere, options=options),
            slots=-(-self._concurrency // workers),
            timeout=self._timeout,
        )

    async def _keep_worker(self, number: int, setup: WorkerSetup, store: RecordStore) -> None:
        """Run one worker until all episodes are done, and start a new one if it dies.

        With ``max_restarts`` Ray would keep the keys of models in its control store, to give them to the new worker.
        """
        for incarnation in count():
            name = f"{number}.{incarnation}"
            actor = ray.remote(Worker).options(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD").remote()
            self._running[name] = actor
            try:
                ready: WorkerReady = await actor.start.remote(setup, model_variables())
                if ready.problem is not None:
                    what = f"a worker on {ready.node} cannot play: {ready.problem}"
                    raise InputError(what, where="--ray", fix="All nodes need what this one has.")
                self.workers[name] = ready
                await self._feed(name, actor, setup.slots, store)
                return
            except ray.exceptions.RayError as error:
                self._worker_died(name, error, store)
            finally:
                self.workers.pop(name, None)
                ray.kill(self._running.pop(name))

    async def _feed(self, name: str, actor: Any, capacity: int, store: RecordStore) -> None:
        """Exchange episodes with a worker for as long as there are any."""
        calls: deque[Any] = deque()
        recent = 0
        while not self._assignments.done:
            self._changed.clear()
            fair = self._shares.enough(name)
            more = self._wanted(name, capacity, recent) if fair and not self._halted and self._has_room(store) else 0
            slots = self._assignments.assign(name, more)
            busy = self._assignments.count(name) > 0
            if busy or not fair:
                calls.append(actor.exchange.remote(slots, self._shares.grant(name), self._halted))
                if not fair:
                    await asyncio.sleep(_POLL_BUDGET)
            elif not calls:
                if self._halted and not any(self._assignments.count(other) for other in self._running):
                    break
                await self._changed.wait()
                continue
            if busy and len(calls) < _CALLS_AHEAD:
                continue
            reply: WorkerReply = await calls.popleft()
            self._shares.report(name, reply.in_force, reply.spent)
            accounts().add(reply.usage)
            recent = len(reply.finished)
            self._take_in(name, reply.finished, store)
        self._over.set()

    def _wanted(self, name: str, capacity: int, recent: int) -> int:
        """How many more episodes to assign to a worker: what it can play at once, and a part of the waiting ones.

        One call for each episode, as with `ray.util.ActorPool`, would cost 0.5 ms of the driver's processor time beside
        the 2.5 ms that an episode of a world takes.
        With no episode queued, the worker's slots would idle until the next exchange; with too many queued, the other
        workers would idle at the end.
        """
        running = self._running or (name,)
        left = self.total - self.summary.all.episodes - len(self._missing_tasks)
        waiting = max(0, left - sum(max(capacity, self._assignments.count(other)) for other in running))
        spare = min(2 * max(capacity, recent), -(-waiting // (2 * len(running))))
        return max(0, capacity + spare - self._assignments.count(name))

    def _take_in(self, name: str, finished: list[SlotResult], store: RecordStore) -> None:
        for one in finished:  # also of episodes that another worker has finished: blobs are sent once
            store.blobs.add(one.blobs)
        results = [one for one in finished if self._assignments.complete(name, one.slot)]
        if results:
            self._deaths = 0
        made = [one for one in results if one.line]
        self._missing_tasks += [MissingTask(one.slot.task, one.error) for one in results if one.error is not None]
        for one in made:
            store.write(one.line, {**one.times, "worker": name}, {})
            if "traceback" in one.times:
                self.on_traceback(one.times["traceback"])
        self._changed.set()
        self._count(*(record_from_json(decode(one.line), "a worker's line", store.blobs) for one in made))

    def _count(self, *records: Record, reused: bool = False) -> None:
        """Count all episodes before `on_done` hears of the first one, since it may end the run."""
        for record in records:
            self.summary.add(record, reused=reused)
        if self._on_done is not None:
            for record in records:
                self._on_done(record)

    def _worker_died(self, name: str, error: Exception, store: RecordStore) -> None:
        """Assign the episodes of a dead worker again; one that was with several dead workers gets a fault.

        Raises:
            InputError: Workers die one after another and no episode finishes.
        """
        self.lost += 1
        self._deaths += 1
        self._shares.worker_died(name)
        for slot in self._assignments.worker_died(name):
            job = job_at(self.plan, self.suite.tasks, *slot)
            if isinstance(job, MissingTask):
                self._missing_tasks.append(job)
                continue
            episode = self.suite.episode()
            episode.fail(Fault("worker_lost", "three workers died while they played it", role="episode"))
            record, line = self._record(job, episode)
            store.write(line, {"key": job.key, "task": job.task.id, "member": job.member, "turns": 0}, record.blobs)
            self._count(record)
        self._changed.set()
        if self._deaths >= max(_LEAST_DEATHS, 3 * len(self._running)):
            lines = str(error).strip().splitlines() or [""]
            said = lines[-1 if isinstance(error, ray.exceptions.RayTaskError) else 0]
            what = f"workers die before they finish anything ({type(error).__name__}: {without_secrets(said)})"
            raise InputError(what, where="--ray", fix="Look into Ray's logs, then give --resume.")


def check_cards(elsewhere: Elsewhere, cards: float) -> None:
    """Refuse to load a model in every worker if all of them would choose the same GPU.

    Raises:
        InputError: The policy is ``hf``, the cluster has GPUs, and no device is named.
    """
    if elsewhere.policy != "hf" or not cards or elsewhere.options.extra.get("device"):
        return
    what = "each worker loads its own copy of the model, and all workers of a node would use its first GPU"
    fix = (
        "Serve the model with vLLM and give --policy llm, or name the device: "
        """--role 'policy.extra={"device": "cpu"}'."""
    )
    raise InputError(what, where="policy 'hf' with --ray", fix=fix)


def _nobody() -> Any:
    raise RuntimeError("policies are made in the workers")
