"""A worker process: plays many episodes on one event loop and reports those that finish to the driver.

The loop runs only while a driver's call (`Worker.exchange`) is being executed. The driver always has one more call
queued, so the loop runs all the time. It runs in the main thread, as in the local pool, so that an alarm can interrupt
an episode that neither returns nor yields; an asyncio actor of Ray has its loop in another thread.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import time
import traceback
from contextlib import ExitStack
from dataclasses import replace

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
        self._share = BudgetShare()
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
            self._runner = EpisodeRunner(_build(setup, self._share), self._share, setup.slots)
            self._open.enter_context(self._runner.pool.playing())
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

    def exchange(self, slots: list[EpisodeSlot], limits: Amounts, halted: bool = False) -> WorkerReply:
        """Play for a while, and report the episodes that finished and the usage of models since the last call.

        Args:
            slots: Further episodes.
            limits: This worker's budget limits from now on, as totals since its start.
            halted: Whether to start no episode any more.
        """
        if self._runner is None:
            raise RuntimeError("call start first")
        in_force = self._share.grant(limits)
        finished = self._loop.run_until_complete(self._runner.play(slots, halted))
        usage, spent = accounts().drain(), self._share.spent()
        return WorkerReply(finished=finished, usage=usage, in_force=in_force, spent=spent)


def _build(setup: WorkerSetup, share: BudgetShare) -> Pool:
    """Build environment, policy and pool from the driver's settings.

    Raises:
        InputError: Something cannot be built here, or differs from what the driver has.
    """
    if setup.version != __version__:
        what = f"simia-gym is of version {__version__} and the driver's of {setup.version}"
        raise InputError(what, where="--ray", fix="Install the same on all nodes.")
    suite = load_suite(setup.config, replace(setup.resources, budget=share if setup.budget else None))
    plan, policy = setup.plan, setup.policy.policy
    if suite.domain.hash != plan.domain_hash:
        what = f"the domain {suite.domain.name} differs from the driver's"
        raise InputError(what, where="--ray", fix="Have the same files and data on all nodes.")
    make_policy = suite.load_policy(policy, setup.policy.options)
    source = policy_hash(policy, suite.domain.config.policies, folder=suite.domain.folder)
    files = getattr(make_policy, "content_hash", None)
    if (source is not None and source != plan.policy_hash) or files != setup.policy.content_hash:
        what = f"the policy {policy} differs from the driver's"
        raise InputError(what, where="--ray", fix="Have the same files on all nodes.")
    return Pool(suite, plan, make_policy, concurrency=setup.slots, timeout=setup.timeout)


class EpisodeRunner:
    """Plays the episodes of one worker, so many at once."""

    def __init__(self, pool: Pool, share: BudgetShare, slots: int) -> None:
        self.pool, self._share, self._slots = pool, share, slots
        self._tasks: set[asyncio.Task[SlotResult]] = set()
        self._halted = False
        self._sent: set[str] = set()
        # As in the local pool, one episode at a time is enough until one waits for something.
        self._one_by_one = pool.inline
        self._free = asyncio.Semaphore(1 if pool.inline else slots)

    async def close(self) -> None:
        """Cancel all episodes."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def play(self, slots: list[EpisodeSlot], halted: bool) -> list[SlotResult]:
        """Play until an episode has finished, and a moment longer; at most `_LONGEST_CALL` seconds."""
        self._halted = halted
        self._tasks.update(asyncio.create_task(self._play_one(slot)) for slot in slots)
        if not self._tasks:
            return []
        # The driver's next call brings further episodes, so with free slots this call returns soon.
        seconds = _LONGEST_CALL if len(self._tasks) >= self._slots else _LINGER
        until = time.monotonic() + seconds
        while not any(task.done() for task in self._tasks) and time.monotonic() < until and not self._share.starved:
            await asyncio.wait(self._tasks, timeout=_LINGER, return_when=asyncio.FIRST_COMPLETED)
        done, self._tasks = await asyncio.wait(self._tasks, timeout=_LINGER)
        return [task.result() for task in done]

    async def _play_one(self, slot: EpisodeSlot) -> SlotResult:
        async with self._free:
            if self._halted:
                return SlotResult(slot=slot)
            job = job_at(self.pool.plan, self.pool.suite.tasks, *slot)
            if isinstance(job, MissingTask):
                return SlotResult(slot=slot, error=job.error)
            record, line, times = await self.pool.play_job(job, self._play_several)
            blobs = {name: data for name, data in record.blobs.items() if name not in self._sent}
            self._sent.update(blobs)
            return SlotResult(slot=slot, line=line, times=times, blobs=blobs)

    def _play_several(self) -> None:
        if self._one_by_one:
            self._one_by_one = False
            for _ in range(self._slots - 1):
                self._free.release()
