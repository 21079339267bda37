"""A worker process: plays many episodes on one event loop and reports those that finish to the driver.

The loop runs only while a driver's call (`Worker.exchange`) is being executed. The driver always has one more call
queued, so the loop runs all the time. It runs in the process's main thread, so that an episode that neither returns nor
yields can be interrupted by an alarm, as in the local pool.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import traceback
from collections import deque
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.suite import load_suite
from simia_gym.common.event_loop import new_loop
from simia_gym.common.secrets import without_secrets
from simia_gym.errors import InputError, SimiaError
from simia_gym.llm.accounts import accounts
from simia_gym.policies import policy_hash
from simia_gym.rl.cluster.budget_shares import Amounts, BudgetShare
from simia_gym.rl.cluster.messages import SlotResult, WorkerReady, WorkerReply, WorkerSetup, set_model_variables
from simia_gym.rollout.jobs import EpisodeSlot, MissingTask, job_at
from simia_gym.rollout.pool import Pool
from simia_gym.version import __version__

_LONGEST_CALL = 1.0
"""Seconds after which an exchange returns in any case."""
_LINGER = 0.1
"""Seconds that an exchange waits for further episodes to finish after the first one."""


class Worker:
    """The Ray actor. Its methods run one after another in the process's main thread."""

    def __init__(self) -> None:
        self._loop = new_loop()
        self._open = ExitStack()
        self._runner: EpisodeRunner | None = None

    def start(self, setup: WorkerSetup, variables: dict[str, str]) -> WorkerReady:
        """Build the environment and the policy; the driver's `model_variables` replace those of this process."""
        ready = WorkerReady(node=platform.node(), pid=os.getpid())
        try:
            set_model_variables(variables)
            if os.path.isdir(setup.folder):
                os.chdir(setup.folder)
                sys.path.append(setup.folder)
            asyncio.set_event_loop(self._loop)
            self._runner = _build(setup)
            self._open.enter_context(self._runner.pool.playing())
            self._loop.run_until_complete(self._runner.start())
        except SimiaError as error:
            return replace(ready, problem=str(error))
        except Exception:
            return replace(ready, problem=without_secrets(traceback.format_exc(limit=-3)))
        return ready

    def close(self) -> None:
        """Cancel all episodes and close the loop; not needed where the process is killed."""
        if self._runner is not None:
            self._loop.run_until_complete(self._runner.close())
        self._open.close()
        asyncio.set_event_loop(None)
        self._loop.close()

    def exchange(self, slots: list[EpisodeSlot], limits: Amounts, recall: bool = False) -> WorkerReply:
        """Queue further episodes, play for a while, and report the episodes that finished.

        Args:
            slots: Further episodes.
            limits: This worker's budget limits from now on, as totals since its start.
            recall: Whether to return all episodes that have not started.
        """
        runner = self._runner
        if runner is None:
            raise RuntimeError("call start first")
        in_force = runner.share.grant(limits)
        runner.add(slots)
        returned = runner.recall() if recall else []
        self._loop.run_until_complete(runner.play())
        finished, runner.finished = runner.finished, []
        return WorkerReply(
            finished=finished,
            returned=returned,
            accounts=accounts().drain(),
            in_force=in_force,
            spent=runner.share.spent(),
        )


def _build(setup: WorkerSetup) -> EpisodeRunner:
    """Build environment, policy and pool from the driver's settings.

    Raises:
        InputError: Something cannot be built here, or differs from what the driver has.
    """
    if setup.version != __version__:
        what = f"simia-gym is of version {__version__} and the driver's of {setup.version}"
        raise InputError(what, where="--ray", fix="Install the same on all nodes.")
    share = BudgetShare()
    pins = None
    if setup.pins is not None:
        from simia_gym.rl.cluster.pins import RayPins

        pins = RayPins(setup.pins)
    budget = share if setup.budget else None
    resources = Resources(base_url=setup.base_url, base_urls=setup.base_urls, pins=pins, budget=budget)
    suite = load_suite(setup.config, resources)
    plan = setup.plan
    if suite.domain.hash != plan.domain_hash:
        what = f"the domain {suite.domain.name} differs from the driver's"
        raise InputError(what, where="--ray", fix="Have the same files and data on all nodes.")
    make_policy = suite.load_policy(setup.policy, setup.options)
    source = policy_hash(setup.policy, suite.domain.config.policies, folder=suite.domain.folder)
    files = getattr(make_policy, "content_hash", None)
    if (source is not None and source != plan.policy_hash) or files != setup.content_hash:
        what = f"the policy {setup.policy} differs from the driver's"
        raise InputError(what, where="--ray", fix="Have the same files on all nodes.")
    pool = Pool(suite, plan, make_policy, concurrency=setup.slots, timeout=setup.timeout)
    return EpisodeRunner(pool, share, setup.slots)


class EpisodeRunner:
    """Plays the queued episodes of one worker; ``finished`` holds those that were not reported yet."""

    def __init__(self, pool: Pool, share: BudgetShare, slots: int) -> None:
        self.share = share
        self.finished: list[SlotResult] = []
        self.pool, self._slots = pool, slots
        self._queue: deque[EpisodeSlot] = deque()
        self._busy = 0
        self._players: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start the players, which wait for episodes."""
        self._queued, self._finished_one, self._idle = asyncio.Event(), asyncio.Event(), asyncio.Event()
        # As in the local pool, one player is enough until an episode waits for something.
        self._several = asyncio.Event()
        if not self.pool.inline:
            self._several.set()
        self._players = [asyncio.create_task(self._play_on(first=n == 0)) for n in range(self._slots)]

    async def close(self) -> None:
        """Cancel the players."""
        for player in self._players:
            player.cancel()
        await asyncio.gather(*self._players, return_exceptions=True)

    def add(self, slots: Iterable[EpisodeSlot]) -> None:
        """Queue episodes."""
        self._queue.extend(slots)
        if self._queue:
            self._queued.set()
            self._idle.clear()

    def recall(self) -> list[EpisodeSlot]:
        """Remove the episodes that have not started from the queue and return them."""
        slots = list(self._queue)
        self._queue.clear()
        self._queued.clear()
        self._check_idle()
        return slots

    async def play(self) -> None:
        """Play until an episode has finished, and a moment longer; at most `_LONGEST_CALL` seconds."""
        for player in self._players:
            if player.done():
                player.result()
        if not self._queue and not self._busy:
            return
        loop = asyncio.get_running_loop()
        # The driver's next call brings further episodes, so with free slots this call returns soon.
        full = self._queue or self._busy >= self._slots
        until = loop.time() + (_LONGEST_CALL if full else _LINGER)
        while not self._finished_one.is_set() and loop.time() < until:
            await _wait(self._finished_one, _LINGER)
            if self.share.starved:
                return
        await _wait(self._idle, _LINGER)
        self._finished_one.clear()

    async def _play_on(self, *, first: bool) -> None:
        if not first:
            await self._several.wait()
        while True:
            while not self._queue:
                await self._queued.wait()
            slot = self._queue.popleft()
            if not self._queue:
                self._queued.clear()
            self._busy += 1
            try:
                await self._play_one(slot)
            finally:
                self._busy -= 1
                self._finished_one.set()
                self._check_idle()
            await asyncio.sleep(0)

    def _check_idle(self) -> None:
        if not self._queue and not self._busy:
            self._idle.set()

    async def _play_one(self, slot: EpisodeSlot) -> None:
        job = job_at(self.pool.plan, self.pool.suite.tasks, *slot)
        if isinstance(job, MissingTask):
            self.finished.append(SlotResult(slot=slot, error=job.error))
            return
        _, line, times = await self.pool.play_job(job, self._several.set)
        self.finished.append(SlotResult(slot=slot, line=line, times=times))


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


def _split(limit: int | None, workers: int) -> int | None:
    return None if limit is None else max(1, limit // workers)


def setup_for_one_of(setup: WorkerSetup, workers: int) -> WorkerSetup:
    """The setup of one of several workers: limits of requests in flight are divided among them, at least 1 each."""
    roles = {
        role: {**settings, "concurrency": _split(settings["concurrency"], workers)}
        if settings.get("concurrency")
        else settings
        for role, settings in setup.config.roles.items()
    }
    options = replace(setup.options, concurrency=_split(setup.options.concurrency, workers))
    return replace(setup, config=replace(setup.config, roles=roles), options=options)
