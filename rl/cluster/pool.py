"""The pool whose episodes run in worker processes of a Ray cluster, one process per core and many episodes in each.

The driver hands out episodes by number, gets finished lines back, and is the only one that writes the record. Work that
was with a worker that died is handed out again.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Coroutine, Iterator
from dataclasses import replace
from typing import Any

import ray

from simia_gym.assembly.suite import Suite
from simia_gym.common.json_encoding import decode
from simia_gym.common.secrets import without_secrets
from simia_gym.errors import Fault, InputError
from simia_gym.llm.accounts import accounts
from simia_gym.record.records import Record, record_from_json
from simia_gym.rl.cluster.assignments import Book, Place
from simia_gym.rl.cluster.messages import Order, Ready, Reply, settings_of_models
from simia_gym.rl.cluster.nodes import places_of
from simia_gym.rl.cluster.session import graphics_cards, processors, session
from simia_gym.rl.cluster.shares import Shares
from simia_gym.rl.cluster.worker import Worker, for_one_of
from simia_gym.rollout.jobs import Job, Plan, Unmade, job_at, make_jobs
from simia_gym.rollout.pool import OnDone, Pool, checked_jobs
from simia_gym.rollout.pools import Elsewhere
from simia_gym.rollout.store import RecordStore
from simia_gym.rollout.summary import Summary
from simia_gym.version import __version__

_AHEAD = 2
"""Questions that a worker has at once: while one is answered, the next is there already."""
_LOOK = 5.0
"""Seconds between two looks at how many processors the cluster has."""
_MOMENT = 0.05
"""Seconds after which a worker that has no fair share of the budget yet is told of its new one."""
_LEAST_DEATHS = 6


class RayPool(Pool):
    """Runs the episodes of a plan on Ray.

    Where Ray is initialised already, it is used; else this connects to the cluster that is named, or starts one of this
    machine alone, and leaves it at the end.

    Args:
        suite: The environment, as settings and parts that other processes can make again.
        plan: What to run.
        elsewhere: The policy, by name, and where the workers are.
        concurrency: Most episodes in flight, over all workers; at least one each.
        timeout: Seconds that one episode may take.
        on_done: Called after each episode, also for those taken from the store.

    Attributes:
        summary: The results so far; true at any moment, also after an interruption.
        lost: How many workers died.
        workers: Those that are ready to play now, by name.

    Raises:
        InputError: Something is set that another process cannot have.
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
        parts = suite.resources
        for name in ("client", "clients", "models", "simulator", "cassette", "api_key", "api_keys"):
            if getattr(parts, name):
                fix = "Leave it out; keys stand in the environment."
                raise InputError("it cannot be had in other processes", where=f"parts.{name}", fix=fix)
        if elsewhere.workers is not None and elsewhere.workers < 1:
            raise InputError(f"workers is {elsewhere.workers}", where="--ray-workers", fix="Give at least 1.")
        self.lost = 0
        self.workers: dict[str, Ready] = {}
        self._elsewhere, self._timeout = elsewhere, timeout
        self._shares = Shares(parts.budget)
        self._order: Order | None = None
        self._book = Book(iter(()))
        self._over = asyncio.Event()
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._problem: BaseException | None = None
        self._running: dict[str, Any] = {}
        self._deaths = 0

    async def run(self, store: RecordStore) -> Summary:
        """Run everything that the store does not hold yet; see `Pool.run`.

        Raises:
            InputError: The record cannot be written, or belongs to other tasks; a worker cannot play, or all would load
                their models onto one graphics card; workers die one after another; or, after everything else has run,
                some tasks could not be made.
        """
        self._book = Book(self._places(store))
        if not self._book.done:
            with session(self._elsewhere.address, self._elsewhere.workers):
                check_cards(self._elsewhere, graphics_cards())
                await self._run_on(store)
        self._complete()
        return self.summary

    async def _run_on(self, store: RecordStore) -> None:
        pins: Any = None
        # Whoever is no group of its own shares answers with nobody; for a group those of one process would not do.
        if self.suite.pins is not None and self.plan.group > 1:
            from simia_gym.rl.cluster.pins import RayPins

            pins = RayPins(f"rollout-{os.urandom(8).hex()}")
        self._begin(self._grow(store, None if pins is None else pins.settings))
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
        if self._problem is not None:
            raise self._problem

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Start something whose failure ends the run."""

        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if not task.cancelled() and task.exception() is not None:
                self._problem = self._problem or task.exception()
                self._over.set()

        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(ended)

    def _places(self, store: RecordStore) -> Iterator[Place]:
        """Everything that is still to be played; what the store holds is counted on the way."""
        places = places_of(self.plan, len(self.suite.tasks))
        if not store.finished:
            yield from places
            return
        jobs = checked_jobs(store, make_jobs(self.plan, self.suite.tasks))
        for place, job in zip(places, jobs, strict=True):
            known = store.finished.get(job.key) if isinstance(job, Job) else None
            if known is None:
                yield place
            else:
                self._count(known, reused=True)

    async def _grow(self, store: RecordStore, pins: Any) -> None:
        """Have as many workers as there are processors, or as many as were asked for; nodes may join at any time."""
        asked = self._elsewhere.workers
        started = 0
        while True:
            wanted = min(asked or max(1, processors()), self.total)
            order = for_one_of(self._ordered(wanted, pins), wanted)
            for number in range(started, wanted):
                self._begin(self._serve(number, order, store))
            started = max(started, wanted)
            if asked is not None:
                return
            await asyncio.sleep(_LOOK)

    def _ordered(self, workers: int, pins: Any) -> Order:
        parts, plan = self.suite.resources, self.plan
        return Order(
            version=__version__,
            folder=os.getcwd(),
            config=replace(self.suite.config, simulator=self.suite.simulator_name),
            base_url=parts.base_url,
            base_urls=dict(parts.base_urls),
            plan={
                "config": plan.config,
                "domain_hash": plan.domain_hash,
                "policy": plan.policy,
                "seed": plan.seed,
                "group": plan.group,
                "episodes": plan.episodes,
                "policy_hash": plan.policy_hash,
            },
            policy=self._elsewhere.policy,
            options=replace(self._elsewhere.options, api_key=None, client=None),
            content_hash=self._elsewhere.content_hash,
            slots=-(-self._concurrency // workers),
            timeout=self._timeout,
            pins=pins,
            budget=parts.budget is not None,
        )

    async def _serve(self, number: int, order: Order, store: RecordStore) -> None:
        """Keep one worker busy, and the next one where it dies."""
        incarnation = 0
        while True:
            name = f"{number}.{incarnation}"
            actor = ray.remote(Worker).options(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD").remote()
            self._running[name] = actor
            try:
                ready: Ready = await actor.begin.remote(order, settings_of_models())
                if ready.problem is not None:
                    what = f"a worker on {ready.node} cannot play: {ready.problem}"
                    raise InputError(what, where="--ray", fix="All nodes need what this one has.")
                self.workers[name] = ready
                await self._feed(name, actor, order.slots, store)
                return
            except ray.exceptions.RayError as error:
                self._bury(name, error, store)
            finally:
                self.workers.pop(name, None)
                ray.kill(self._running.pop(name))
            incarnation += 1

    async def _feed(self, name: str, actor: Any, slots: int, store: RecordStore) -> None:
        """Exchange episodes with a worker for as long as there are any."""
        asked: deque[Any] = deque()
        recent = 0
        while not self._book.done:
            self._changed.clear()
            fair = self._shares.enough(name)
            more = self._wanted(name, slots, recent) if fair and not self._halted else 0
            places = self._book.take(name, more) if more else []
            busy = self._book.held(name) > 0
            if places or busy or not fair:
                asked.append(actor.exchange.remote(places, self._shares.grant(name), self._halted))
                if not fair:
                    await asyncio.sleep(_MOMENT)
            elif not asked:
                if self._halted and not any(self._book.held(other) for other in self._running):
                    break
                await self._changed.wait()
                continue
            if busy and len(asked) < _AHEAD:
                continue
            reply: Reply = await asked.popleft()
            recent = len(reply.finished)
            self._take_in(name, reply, store)
        self._over.set()

    def _wanted(self, name: str, slots: int, recent: int) -> int:
        """How many more episodes a worker should have: those that it plays, and some of what no worker has room for.

        Without a spare one its slots would idle while it is asked for more; with too many the others would, at the end.
        """
        running = self._running or (name,)
        left = self.total - self.summary.all.episodes - len(self._unmade)
        waiting = max(0, left - sum(max(slots, self._book.held(other)) for other in running))
        spare = min(2 * max(slots, recent), -(-waiting // (2 * len(running))))
        return max(0, slots + spare - self._book.held(name))

    def _take_in(self, name: str, reply: Reply, store: RecordStore) -> None:
        self._shares.heard(name, reply.in_force, reply.spent)
        accounts().add(reply.accounts)
        self._book.give_back(name, reply.returned)
        counted = [one for one in reply.finished if self._book.finish(name, one.place)]
        if counted:
            self._deaths = 0
        # All are written and counted before anybody hears of the first, who may want to end the run.
        for one in counted:
            if one.unmade is None:
                store.write(one.line, {**one.times, "worker": name})
            else:
                self._unmade.append(Unmade(one.place.position, one.unmade))
        self._wake()
        made = [one.line for one in counted if one.unmade is None]
        self._count(*(record_from_json(decode(line), "a worker's line") for line in made))

    def _count(self, *records: Record, reused: bool = False) -> None:
        """Count episodes, all of them before anybody hears of the first."""
        for record in records:
            self.summary.add(record, reused=reused)
        if self._on_done is not None:
            for record in records:
                self._on_done(record)

    def _bury(self, name: str, error: Exception, store: RecordStore) -> None:
        """Give the work of a dead worker to others; an episode that took several workers along gets a fault.

        Raises:
            InputError: Workers die and nothing is finished between.
        """
        self.lost += 1
        self._deaths += 1
        self._shares.lost(name)
        for place in self._book.lose(name):
            job = job_at(self.plan, self.suite.tasks, place.position, place.member)
            if isinstance(job, Unmade):
                self._unmade.append(job)
                continue
            episode = self.suite.episode()
            episode.fail(Fault("worker_lost", "three workers died while they played it", role="episode"))
            record, line = self._record(job, episode)
            store.write(line, {"key": job.key, "task": job.task.id, "member": job.member, "turns": 0})
            self._count(record)
        self._wake()
        if self._deaths >= max(_LEAST_DEATHS, 3 * len(self._running)):
            lines = str(error).strip().splitlines() or [""]
            said = lines[-1 if isinstance(error, ray.exceptions.RayTaskError) else 0]
            what = f"workers die before they finish anything ({type(error).__name__}: {without_secrets(said)})"
            raise InputError(what, where="--ray", fix="Look into Ray's logs, then give --resume.")

    def _wake(self) -> None:
        """Something has changed that a worker without work may wait for."""
        self._changed.set()


def check_cards(elsewhere: Elsewhere, cards: float) -> None:
    """Refuse a model in every worker where all of them would choose the same graphics card.

    Args:
        elsewhere: The policy and its settings.
        cards: How many graphics cards the cluster has.

    Raises:
        InputError: Says what to do in place of it.
    """
    if elsewhere.policy != "hf" or not cards or elsewhere.options.extra.get("device"):
        return
    what = "each worker loads a model of its own, all of a machine onto its first graphics card"
    fix = (
        "Serve the model with vLLM and give --policy llm, or name the device: "
        """--role 'policy.extra={"device": "cpu"}'."""
    )
    raise InputError(what, where="policy 'hf' with --ray", fix=fix)


def _nobody() -> Any:
    raise RuntimeError("policies are made in the workers")
