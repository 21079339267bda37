"""Pinned answers that the processes of a Ray cluster share.

The answers lie in one named actor. Each process keeps those that it has seen, and asks the actor for a key once,
however many of its episodes want it. Whoever is told that a key is free has claimed it and makes the answer; everybody
else waits at the actor. A claim is void when its process has said nothing for as long as the lease, which a thread of
that process renews: a process that dies loses its claims, and one that computes for long keeps them.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Awaitable
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

_PATIENCE = 20.0
"""Seconds that one question waits at the actor before it is asked again."""
_MANY = 10_000
"""Questions that may wait at the actor at once."""


class RayPins:
    """Pinned answers in a named Ray actor; safe for several threads and event loops, and picklable.

    Ray must be initialised. What travels to another process is the name: there the same actor is found again. The actor
    ends with the process that made it, which should be one that all others depend on, such as the driver.

    Args:
        name: Names the actor; whoever gives the same name shares the answers.
        namespace: Ray's namespace, so that jobs of their own can share it, too.
        lease: Seconds after which the claim of a process that has died is void.
        capacity: Most answers that the actor keeps; those that were not asked for longest go first.

    Raises:
        InputError: Ray is not initialised, or a number cannot be.
    """

    def __init__(
        self,
        name: str = "pins",
        *,
        namespace: str = "simia",
        lease: float = 10.0,
        capacity: int = 500_000,
    ) -> None:
        if lease <= 0 or capacity < 1:
            what, fix = f"lease is {lease} and capacity is {capacity}", "Give numbers above 0."
            raise InputError(what, where="pins", fix=fix)
        if not ray.is_initialized():
            raise InputError("Ray is not initialised in this process", where="pins", fix="Call ray.init() first.")
        self._settings: JsonObject = {
            "name": name,
            "namespace": namespace,
            "lease": lease,
            "capacity": capacity,
        }
        self._lease = lease
        self._actor: Any = _find_or_make(**self._settings)
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

    @property
    def settings(self) -> JsonObject:
        """The arguments with which another process finds the same actor."""
        return dict(self._settings)

    @property
    def process(self) -> str:
        """How this process signs its claims."""
        return self._process

    async def answer(self, key: str, make: Make) -> tuple[JsonObject, bool]:
        """Give the answer of a key, making it where there is none.

        See `simia_gym.simulators.pins.PinStore.answer`.

        Raises:
            Fault: ``pin_store``: the actor is lost.
            Exception: What ``make`` raised, for the asker that called it alone.
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
            stored: JsonObject = decode(counts)  # the claim was void, and somebody else was quicker
            return stored, True
        finally:
            self._hold(-1)

    async def _ask(self, key: str, claim: str) -> tuple[str, bytes]:
        try:
            told: tuple[str, bytes] = await _asked(self._actor.claim.remote(key, claim, _PATIENCE))
        except BaseException:
            # Cancelled while it waited: the actor may grant the claim all the same, and nobody would know.
            self._actor.release.remote(key, claim)
            raise
        return told

    def _hold(self, more: int) -> None:
        """Keep this process's lease alive while it has any claim, or may have."""
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
            except Exception:  # Ray was shut down; whoever waits for an answer is told
                with self._lock:
                    self._renewing = None
                return

    def forget(self, process: str) -> None:
        """Drop the claims of a process that is known to have died, rather than wait for its lease to end."""
        self._actor.forget.remote(process)

    def counts(self) -> JsonObject:
        """What the actor has done: ``made``, ``given``, ``void`` claims, ``answers`` that it holds."""
        found: JsonObject = ray.get(self._actor.counts.remote())
        return found

    def close(self) -> None:
        """End the actor; nobody can ask it any more."""
        ray.kill(self._actor)

    def after_fork(self) -> None:
        """A forked process has claimed nothing; Ray itself must be initialised anew in it."""
        self._begin()

    def __getstate__(self) -> JsonObject:
        """What travels to another process: where the answers are."""
        return self._settings

    def __setstate__(self, state: JsonObject) -> None:
        """Find the same actor from another process."""
        self.__init__(**state)  # type: ignore[misc]


def _find_or_make(*, name: str, namespace: str, lease: float, capacity: int) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    options = {
        "name": name,
        "namespace": namespace,
        "get_if_exists": True,
        "num_cpus": 0,
        "max_concurrency": _MANY,
        "scheduling_strategy": here,
    }
    return ray.remote(PinActor).options(**options).remote(lease, capacity)


async def _asked(answer: Awaitable[T]) -> T:
    try:
        return await answer
    except ray.exceptions.RayError as error:
        what = f"the actor that holds the pinned answers is lost: {type(error).__name__}"
        raise Fault("pin_store", what, role="simulator") from error
