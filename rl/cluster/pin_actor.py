"""The actor that holds the pinned answers of a cluster; `simia_gym.rl.cluster.pins` is its client."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from simia_gym.types import JsonObject

FOUND, YOURS, WAIT = "found", "yours", "wait"
_CAPACITY = 500_000
"""The largest number of answers that are kept; the least recently used ones are dropped first."""


@dataclass(slots=True)
class _Claim:
    """The right of one asker to compute an answer."""

    owner: str
    since: float
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def process(self) -> str:
        return _process(self.owner)


class PinActor:
    """Holds answers and claims; runs as an asyncio actor, so that many callers can wait.

    Args:
        lease: Seconds without a call or renewal after which the claims of a process are void.
    """

    def __init__(self, lease: float) -> None:
        self._lease = lease
        self._answers: OrderedDict[str, bytes] = OrderedDict()
        self._claims: dict[str, _Claim] = {}
        self._heard: dict[str, float] = {}
        self._withdrawn: OrderedDict[str, None] = OrderedDict()
        self._made = self._given = self._void = 0

    async def claim(self, key: str, owner: str, patience: float) -> tuple[str, bytes]:
        """Return the answer of a key, or grant the claim to compute it, or ask the caller to call again.

        Args:
            key: The key.
            owner: The asker, ``process:number``, with another number for each asker.
            patience: Seconds after which the call returns in any case.

        Returns:
            ``found`` with the answer, ``yours`` (the caller has the claim), or ``wait`` (call again).
        """
        self._heard[_process(owner)] = time.monotonic()
        until = time.monotonic() + patience
        while True:
            if owner in self._withdrawn:
                return WAIT, b""
            answer = self._answers.get(key)
            if answer is not None:
                self._answers.move_to_end(key)
                self._given += 1
                return FOUND, answer
            held = self._claims.get(key)
            now = time.monotonic()
            if held is None or held.owner == owner or self._ends(held) <= now:
                if held is not None and held.owner != owner:
                    self._drop(key, held)
                    self._void += 1
                self._claims[key] = _Claim(owner, now)
                return YOURS, b""
            if until <= now:
                return WAIT, b""
            try:
                async with asyncio.timeout(min(until, self._ends(held)) - now):
                    await held.over.wait()
            except TimeoutError:
                continue

    async def settle(self, key: str, owner: str, answer: bytes) -> bytes:
        """Store an answer, unless there is one already; return the stored one."""
        self._heard[_process(owner)] = time.monotonic()
        counts = self._answers.get(key)
        if counts is None:
            counts = self._answers[key] = answer
            self._made += 1
            while len(self._answers) > _CAPACITY:
                self._answers.popitem(last=False)
        held = self._claims.get(key)
        if held is not None:
            self._drop(key, held)
        return counts

    async def release(self, key: str, owner: str) -> None:
        """Give up a claim, or a call that is still waiting for one; the next asker gets it."""
        held = self._claims.get(key)
        if held is not None and held.owner == owner:
            self._drop(key, held)
        self._withdrawn[owner] = None
        while len(self._withdrawn) > _CAPACITY:
            self._withdrawn.popitem(last=False)

    async def renew(self, process: str) -> None:
        """Renew the lease of a process."""
        self._heard[process] = time.monotonic()

    async def counts(self) -> JsonObject:
        """Counts so far, and the numbers of answers and claims held."""
        held = {"answers": len(self._answers), "claims": len(self._claims)}
        return {"made": self._made, "given": self._given, "void": self._void, **held}

    def _ends(self, held: _Claim) -> float:
        return max(held.since, self._heard.get(held.process, -math.inf)) + self._lease

    def _drop(self, key: str, held: _Claim) -> None:
        del self._claims[key]
        held.over.set()


def _process(owner: str) -> str:
    return owner.rpartition(":")[0]
