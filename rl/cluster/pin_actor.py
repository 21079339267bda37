"""The actor that holds the pinned answers of a cluster; see `simia_gym.rl.cluster.pins` for who asks it."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from simia_gym.types import JsonObject

FOUND, YOURS, WAIT = "found", "yours", "wait"


@dataclass(slots=True)
class _Claim:
    """Who makes an answer."""

    owner: str
    since: float
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def process(self) -> str:
        return _process(self.owner)


class PinActor:
    """Holds answers and claims; runs as an asyncio actor, so that many can wait.

    Args:
        lease: Seconds of silence after which the claims of a process are void.
        capacity: Most answers that are kept; those that were not asked for longest go first.
    """

    def __init__(self, lease: float, capacity: int) -> None:
        self._lease, self._capacity = lease, capacity
        self._answers: OrderedDict[str, bytes] = OrderedDict()
        self._claims: dict[str, _Claim] = {}
        self._heard: dict[str, float] = {}
        self._withdrawn: OrderedDict[str, None] = OrderedDict()
        self._made = self._given = self._void = 0

    async def claim(self, key: str, owner: str, patience: float) -> tuple[str, bytes]:
        """Give the answer, or the right to make it, or tell to ask again.

        Args:
            key: What is asked for.
            owner: Who asks, ``process:number``, another number for each asker.
            patience: Seconds that it may take.

        Returns:
            ``found`` with the answer, ``yours``, or ``wait``.
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
        """Take an answer; the first one counts.

        Returns:
            The answer that counts.
        """
        self._heard[_process(owner)] = time.monotonic()
        counts = self._answers.get(key)
        if counts is None:
            counts = self._answers[key] = answer
            self._made += 1
            while len(self._answers) > self._capacity:
                self._answers.popitem(last=False)
        held = self._claims.get(key)
        if held is not None:
            self._drop(key, held)
        return counts

    async def release(self, key: str, owner: str) -> None:
        """Give a claim back, or withdraw one that is still waiting: the next one tries."""
        held = self._claims.get(key)
        if held is not None and held.owner == owner:
            self._drop(key, held)
        self._withdrawn[owner] = None
        while len(self._withdrawn) > self._capacity:
            self._withdrawn.popitem(last=False)

    async def renew(self, process: str) -> None:
        """A process is alive."""
        self._heard[process] = time.monotonic()

    async def forget(self, process: str) -> None:
        """A process is dead."""
        self._heard.pop(process, None)
        for key, held in list(self._claims.items()):
            if held.process == process:
                self._drop(key, held)
                self._void += 1

    async def counts(self) -> JsonObject:
        """What was done so far."""
        held = {"answers": len(self._answers), "claims": len(self._claims)}
        return {"made": self._made, "given": self._given, "void": self._void, **held}

    def _ends(self, held: _Claim) -> float:
        return max(held.since, self._heard.get(held.process, -math.inf)) + self._lease

    def _drop(self, key: str, held: _Claim) -> None:
        del self._claims[key]
        held.over.set()


def _process(owner: str) -> str:
    return owner.rpartition(":")[0]
