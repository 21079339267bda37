"""A worker process: hosts many episodes on one loop, and tells the driver what has come to its end.

The loop runs while the driver's question is being answered, and the driver always has one more question waiting, so it
runs all the time. It runs in the process's main thread: an episode that neither returns nor yields is interrupted by an
alarm here as it is in a process of one's own.
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
from simia_gym.rl.cluster.assignments import Place
from simia_gym.rl.cluster.messages import Finished, Order, Ready, Reply, take_over
from simia_gym.rl.cluster.shares import Amounts, Share
from simia_gym.rollout.collection import rarer_collection
from simia_gym.rollout.foreign import foreign_code
from simia_gym.rollout.jobs import Plan, Unmade, job_at
from simia_gym.rollout.player import make_player
from simia_gym.rollout.pool import Pool
from simia_gym.types import JsonObject
from simia_gym.version import __version__

_PATIENCE = 1.0
"""Seconds after which the driver gets an answer in any case."""
_LINGER = 0.1
"""Seconds in which further episodes may come to their end before the first of them is told of."""


class Worker:
    """The actor. Its methods are called one after another, in the process's main thread."""

    def __init__(self) -> None:
        self._loop = new_loop()
        self._open = ExitStack()
        self._station: Station | None = None

    def begin(self, order: Order, variables: dict[str, str]) -> Ready:
        """Get ready.

        Args:
            order: What is to be played.
            variables: The driver's settings of models, which take the place of those in this process's environment.

        Returns:
            Who this is, and what makes it impossible to play, if something does.
        """
        ready = Ready(node=platform.node(), pid=os.getpid())
        try:
            take_over(variables)
            if os.path.isdir(order.folder):
                os.chdir(order.folder)
                sys.path.append(order.folder)
            asyncio.set_event_loop(self._loop)
            self._station = Station(*_made(order))
            self._open.enter_context(self._station.ready())
            self._loop.run_until_complete(self._station.open())
        except SimiaError as error:
            return replace(ready, problem=str(error))
        except Exception:
            return replace(ready, problem=without_secrets(traceback.format_exc(limit=-3)))
        return ready

    def close(self) -> None:
        """End what has not come to its end; a process that is ended anyway needs no such thing."""
        if self._station is not None:
            self._loop.run_until_complete(self._station.close())
        self._open.close()
        asyncio.set_event_loop(None)
        self._loop.close()

    def exchange(self, places: list[Place], limits: Amounts, recall: bool = False) -> Reply:
        """Take further episodes, play on, and tell what has come to its end.

        Args:
            places: Further episodes.
            limits: What may be used altogether from now on.
            recall: Give back what has not begun.
        """
        station = self._station
        if station is None:
            raise RuntimeError("begin comes first")
        in_force = station.share.grant(limits)
        station.add(places)
        returned = station.recall() if recall else []
        self._loop.run_until_complete(station.play(_PATIENCE, _LINGER))
        finished, station.finished = station.finished, []
        return Reply(
            finished=finished,
            returned=returned,
            accounts=accounts().drain(),
            in_force=in_force,
            spent=station.share.spent(),
        )


def _made(order: Order) -> tuple[Order, Pool, Share]:
    """Everything of one's own, made from the order.

    Raises:
        InputError: It cannot be made here, or is something else than with the driver.
    """
    if order.version != __version__:
        what = f"simia-gym is of version {__version__} and the driver's of {order.version}"
        raise InputError(what, where="--ray", fix="Install the same on all nodes.")
    share = Share()
    pins = None
    if order.pins is not None:
        from simia_gym.rl.cluster.pins import RayPins

        pins = RayPins(**order.pins)
    budget = share if order.budget else None
    resources = Resources(base_url=order.base_url, base_urls=order.base_urls, pins=pins, budget=budget)
    with foreign_code(order.config.domain or order.config.env):
        suite = load_suite(order.config, resources)
    plan = Plan(**order.plan)
    if suite.domain.hash != plan.domain_hash:
        what = f"the domain {suite.domain.name} is another one than the driver's"
        raise InputError(what, where="--ray", fix="Have the same files and data on all nodes.")
    options = order.options
    if order.policy == "llm" and order.policy not in suite.domain.config.policies:
        from simia_gym.policies.llm import resolve_options

        options = resolve_options(options)
    make_policy = make_player(order.policy, options, suite)
    source = policy_hash(order.policy, suite.domain.config.policies, folder=suite.domain.folder)
    files = getattr(make_policy, "content_hash", None)
    if (source is not None and source != plan.policy_hash) or files != order.content_hash:
        what = f"the policy {order.policy} is another one than the driver's"
        raise InputError(what, where="--ray", fix="Have the same files on all nodes.")
    pool = Pool(suite, plan, make_policy, concurrency=order.slots, timeout=order.timeout)
    return order, pool, share


class Station:
    """The episodes of one worker.

    Args:
        order: What is played.
        pool: Plays one episode.
        share: What may be used.

    Attributes:
        finished: What has come to its end and was not told yet.
        share: As given.
    """

    def __init__(self, order: Order, pool: Pool, share: Share) -> None:
        self.share = share
        self.finished: list[Finished] = []
        self._pool, self._slots = pool, order.slots
        self._queue: deque[Place] = deque()
        self._busy = 0
        self._players: list[asyncio.Task[None]] = []

    def ready(self) -> ExitStack:
        """What has to hold while episodes run."""
        stack = ExitStack()
        stack.enter_context(rarer_collection(self._slots))
        stack.enter_context(self._pool.ticking())
        return stack

    async def open(self) -> None:
        """Start the players; they wait for episodes."""
        self._more, self._some, self._idle = asyncio.Event(), asyncio.Event(), asyncio.Event()
        # One is enough until something waits, as in a pool of one process.
        self._several = asyncio.Event()
        if not self._pool.inline:
            self._several.set()
        self._players = [asyncio.create_task(self._play_on(first=n == 0)) for n in range(self._slots)]

    async def close(self) -> None:
        """End the players."""
        for player in self._players:
            player.cancel()
        await asyncio.gather(*self._players, return_exceptions=True)

    def add(self, places: Iterable[Place]) -> None:
        """Queue episodes."""
        self._queue.extend(places)
        if self._queue:
            self._more.set()
            self._idle.clear()

    def recall(self) -> list[Place]:
        """Give back what has not begun."""
        places = list(self._queue)
        self._queue.clear()
        self._more.clear()
        self._rest()
        return places

    async def play(self, patience: float, linger: float) -> None:
        """Play on until something has come to its end, and a moment longer.

        Args:
            patience: Most seconds that it may take.
            linger: Seconds after the first; and most seconds where there is room for further episodes.
        """
        for player in self._players:
            if player.done():
                player.result()
        if not self._queue and not self._busy:
            return
        # Further episodes come with the next question, which waits until this one is answered.
        full = self._queue or self._busy >= self._slots
        until = self._loop_time() + (patience if full else linger)
        while not self._some.is_set() and self._loop_time() < until:
            await _either(self._some, _LINGER)
            if self.share.hungry:
                return
        await _either(self._idle, linger)
        self._some.clear()

    @staticmethod
    def _loop_time() -> float:
        return asyncio.get_running_loop().time()

    async def _play_on(self, *, first: bool) -> None:
        if not first:
            await self._several.wait()
        while True:
            while not self._queue:
                await self._more.wait()
            place = self._queue.popleft()
            if not self._queue:
                self._more.clear()
            self._busy += 1
            try:
                await self._play_one(place)
            finally:
                self._busy -= 1
                self._some.set()
                self._rest()
            await asyncio.sleep(0)

    def _rest(self) -> None:
        if not self._queue and not self._busy:
            self._idle.set()

    async def _play_one(self, place: Place) -> None:
        job = job_at(self._pool.plan, self._pool.suite.tasks, place.position, place.member)
        if isinstance(job, Unmade):
            self.finished.append(Finished(place=place, unmade=job.error))
            return
        sink = _Sink()
        await self._pool.play_job(job, sink, self._several.set)
        self.finished.append(Finished(place=place, line=sink.line, times=sink.times))


class _Sink:
    """Takes one finished episode, in place of a file."""

    line: bytes = b""
    times: JsonObject

    def write(self, line: bytes, times: JsonObject) -> None:
        """Take it."""
        self.line, self.times = line, times


async def _either(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


def split_among(ceiling: int | None, workers: int) -> int | None:
    """A worker's part of the most requests that may be in flight to a model; at least one."""
    return None if ceiling is None else max(1, ceiling // workers)


def for_one_of(order: Order, workers: int) -> Order:
    """The order of one of so many workers: ceilings of requests in flight are split among them."""
    roles = {
        role: {**settings, "concurrency": split_among(settings["concurrency"], workers)}
        if settings.get("concurrency")
        else settings
        for role, settings in order.config.roles.items()
    }
    options = replace(order.options, concurrency=split_among(order.options.concurrency, workers))
    return replace(order, config=replace(order.config, roles=roles), options=options)
