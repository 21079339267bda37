"""Pinned answers that the processes of a Ray cluster share.

One named actor holds the answers. The first process that asks for a key gets a claim on it and computes the answer; all
others wait at the actor. A thread of each process renews the lease of its claims: a process that dies loses its claims,
and one that computes for a long time keeps them.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from simia_gym.common.json_encoding import decode, encode
from simia_gym.errors import Fault, InputError
from simia_gym.simulators.pins import Make, SharedPins
from simia_gym.types import JsonObject

T = TypeVar("T")

_CAPACITY = 500_000
"""The largest number of answers that are kept; the least recently used ones are dropped first."""
_CONCURRENT_CALLS = 10_000
"""Calls that may wait at the actor at once."""
_NAMESPACE = "simia"
"""Ray's namespace of the actors."""


@dataclass(slots=True, eq=False)
class _Claim:
    """The right of one asker to compute an answer."""

    process: str
    asker: str
    since: float
    over: asyncio.Event = field(default_factory=asyncio.Event)


class PinActor:
    """Holds answers and claims; runs as an asyncio actor, so that many callers can wait.

    Args:
        lease: Seconds without a renewal after which the claims of a process are void.
    """

    def __init__(self, lease: float) -> None:
        self._lease = lease
        self._answers: OrderedDict[str, bytes] = OrderedDict()
        self._claims: dict[str, _Claim] = {}
        self._renewed: dict[str, float] = {}

    async def claim(self, key: str, process: str, asker: str) -> bytes | None:
        """Return the answer of a key as soon as there is one, or ``None``: this asker has to compute it."""
        while True:
            answer = self._answers.get(key)
            if answer is not None:
                self._answers.move_to_end(key)
                return answer
            held, now = self._claims.get(key), time.monotonic()
            ends = now if held is None else max(held.since, self._renewed.get(held.process, 0.0)) + self._lease
            if held is None or ends <= now:
                self._claims[key] = _Claim(process, asker, now)
                return None
            with suppress(TimeoutError):
                async with asyncio.timeout(ends - now):
                    await held.over.wait()

    async def settle(self, key: str, answer: bytes) -> bytes:
        """Store an answer, unless there is one already; return the stored one."""
        stored = self._answers.setdefault(key, answer)
        while len(self._answers) > _CAPACITY:
            self._answers.popitem(last=False)
        if key in self._claims:
            self._claims.pop(key).over.set()
        return stored

    async def release(self, key: str, asker: str) -> None:
        """Give up a claim; the next asker gets it."""
        if key in self._claims and self._claims[key].asker == asker:
            self._claims.pop(key).over.set()

    async def renew(self, process: str) -> None:
        """Renew the lease of a process."""
        self._renewed[process] = time.monotonic()


class RayPins(SharedPins):
    """Pinned answers in a named Ray actor; safe for several threads and event loops, and picklable.

    Only the name is pickled; another process finds the same actor by it. The actor ends with the process that created
    it, which should be one that all others depend on, such as the driver.

    Args:
        name: Name of the actor; processes that give the same name share the answers.
        lease: Seconds after which the claims of a process that has died are void.

    Raises:
        InputError: Ray is not initialised, or the lease is not positive.
    """

    def __init__(self, name: str = "pins", *, lease: float = 10.0) -> None:
        if lease <= 0:
            raise InputError(f"lease is {lease}", where="pins", fix="Give a number above 0.")
        if not ray.is_initialized():
            raise InputError("Ray is not initialised in this process", where="pins", fix="Call ray.init() first.")
        super().__init__()
        self.name, self._lease = name, lease
        self._actor: Any = (
            ray.remote(PinActor)
            .options(
                name=name,
                namespace=_NAMESPACE,
                get_if_exists=True,
                num_cpus=0,
                max_concurrency=_CONCURRENT_CALLS,
                scheduling_strategy=NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True),
            )
            .remote(lease)
        )
        self.after_fork()

    def after_fork(self) -> None:
        """Start without claims in a forked process; Ray has to be initialised again in it."""
        self._process = f"{os.getpid()}-{uuid.uuid4().hex}"
        self._renewing = False

    async def _across(self, key: str, make: Make) -> tuple[JsonObject, bool]:
        self._keep_renewing()
        asker = uuid.uuid4().hex
        call = self._actor.claim.remote(key, self._process, asker)
        try:
            answer: bytes | None = await _reply(call)
            if answer is not None:
                found: JsonObject = decode(answer)
                return found, True
            made = await make()
            written = encode(made)
        except BaseException:
            # If this was cancelled while it waited, the actor may still grant the claim, and nobody would release it.
            call.future().add_done_callback(lambda _: ray.is_initialized() and self._actor.release.remote(key, asker))
            raise
        stored: bytes = await _reply(self._actor.settle.remote(key, written))
        if stored == written:
            return made, False
        other: JsonObject = decode(stored)  # the claim became void, and another process answered first
        return other, True

    def _keep_renewing(self) -> None:
        """Start the thread that renews the lease; the event loop cannot, because an episode may block it."""
        with self._lock:
            if not self._renewing:
                self._renewing = True
                threading.Thread(target=self._renew, name="simia-pins", daemon=True).start()

    def _renew(self) -> None:
        with suppress(Exception):  # Ray was shut down meanwhile; the calls that wait for an answer fail
            # A call of an actor would start Ray anew after its shutdown.
            while self._renewing and ray.is_initialized():
                self._actor.renew.remote(self._process)
                time.sleep(self._lease / 3)
        self._renewing = False

    def close(self) -> None:
        """End the actor; later calls of `answer` fail."""
        self._renewing = False
        ray.kill(self._actor)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name and the lease alone."""
        return partial(RayPins, lease=self._lease), (self.name,)


async def _reply(call: Awaitable[T]) -> T:
    try:
        return await call
    except ray.exceptions.RayError as error:
        what = f"the actor that holds the pinned answers is lost: {type(error).__name__}"
        raise Fault("pin_store", what, role="simulator") from error
