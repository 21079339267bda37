"""Pinned answers that the processes of a Ray cluster share.

One named actor holds the answers. Each process caches the answers that it has received and asks the actor once for
each key, however many of its episodes need it. The first asker of a key gets a claim on it and computes the answer; all
others wait at the actor. A thread of each process renews the lease of its claims: a process that dies loses its claims,
and one that computes for a long time keeps them.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Awaitable
from functools import partial
from itertools import count
from typing import Any, TypeVar

import ray

from simia_gym.common.json_encoding import decode, encode
from simia_gym.errors import Fault, InputError
from simia_gym.llm.transport.forks import fresh_after_fork
from simia_gym.rl.cluster.pin_actor import FOUND, YOURS, PinActor
from simia_gym.simulators.pins import Make, MemoryPins
from simia_gym.types import JsonObject

T = TypeVar("T")

_LONGEST_CALL = 20.0
"""Seconds that one call waits at the actor before it is repeated."""
_CONCURRENT_CALLS = 10_000
"""Calls that may wait at the actor at once."""
_NAMESPACE = "simia"
"""Ray's namespace of the actors."""


class RayPins:
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
        self.name, self._lease = name, lease
        self._actor: Any = _find_or_create(name, lease)
        self._near = MemoryPins()
        self._begin()
        fresh_after_fork(self)

    def _begin(self) -> None:
        self._process = f"{os.getpid()}-{uuid.uuid4().hex}"
        self._claims = count()
        self._lock = threading.Lock()
        self._held = 0
        self._idle = threading.Event()
        self._renewing: threading.Thread | None = None

    async def answer(self, key: str, make: Make) -> tuple[JsonObject, bool]:
        """Return the answer of a key; compute it if there is none.

        See `simia_gym.simulators.pins.PinStore.answer`.

        Raises:
            Fault: ``pin_store``: the actor is lost.
            Exception: What ``make`` raised; only the asker whose ``make`` was called gets it.
        """
        elsewhere = False

        async def across() -> JsonObject:
            nonlocal elsewhere
            made, elsewhere = await self._across(key, make)
            return made

        found, shared = await self._near.answer(key, across)
        return found, shared or elsewhere

    async def _across(self, key: str, make: Make) -> tuple[JsonObject, bool]:
        claim = f"{self._process}:{next(self._claims)}"
        self._hold(1)
        try:
            while True:
                told, answer = await self._ask(key, claim)
                if told == FOUND:
                    found: JsonObject = decode(answer)
                    return found, True
                if told == YOURS:
                    break
            try:
                made = await make()
                written = encode(made)
            except BaseException:
                self._actor.release.remote(key, claim)
                raise
            counts = await _asked(self._actor.settle.remote(key, claim, written))
            if counts == written:
                return made, False
            stored: JsonObject = decode(counts)  # the claim became void, and another process answered first
            return stored, True
        finally:
            self._hold(-1)

    async def _ask(self, key: str, claim: str) -> tuple[str, bytes]:
        try:
            told: tuple[str, bytes] = await _asked(self._actor.claim.remote(key, claim, _LONGEST_CALL))
        except BaseException:
            # This task was cancelled while it waited; the actor may still grant the claim, and nobody would release it.
            self._actor.release.remote(key, claim)
            raise
        return told

    def _hold(self, more: int) -> None:
        """Renew this process's lease for as long as it has a claim or waits for one."""
        with self._lock:
            self._held += more
            if not self._held:
                self._idle.set()
            elif more > 0 and self._renewing is None:
                self._idle.clear()
                self._renewing = threading.Thread(target=self._renew, name="simia-pins", daemon=True)
                self._renewing.start()

    def _renew(self) -> None:
        while True:
            if self._idle.wait(self._lease / 3):
                with self._lock:
                    if not self._held:
                        self._renewing = None
                        return
                    self._idle.clear()
            try:
                self._actor.renew.remote(self._process)
            except Exception:  # Ray was shut down; the calls that wait for an answer fail
                with self._lock:
                    self._renewing = None
                return

    def counts(self) -> JsonObject:
        """Counts of the actor: ``made`` and ``given`` answers, ``void`` claims, ``answers`` that it holds."""
        found: JsonObject = ray.get(self._actor.counts.remote())
        return found

    def close(self) -> None:
        """End the actor; later calls of `answer` fail."""
        ray.kill(self._actor)

    def after_fork(self) -> None:
        """Start without claims in a forked process; Ray has to be initialised again in it."""
        self._begin()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name and the lease alone."""
        return partial(RayPins, lease=self._lease), (self.name,)


def _find_or_create(name: str, lease: float) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    options = {
        "name": name,
        "namespace": _NAMESPACE,
        "get_if_exists": True,
        "num_cpus": 0,
        "max_concurrency": _CONCURRENT_CALLS,
        "scheduling_strategy": NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True),
    }
    return ray.remote(PinActor).options(**options).remote(lease)


async def _asked(answer: Awaitable[T]) -> T:
    try:
        return await answer
    except ray.exceptions.RayError as error:
        what = f"the actor that holds the pinned answers is lost: {type(error).__name__}"
        raise Fault("pin_store", what, role="simulator") from error
