"""One budget for many processes: each worker has a share, and what one does not use goes to the others.

The driver grants limits with every exchange, so that all workers may use equal parts of what is left; the sum of the
limits that may be in force never passes the budget. A worker that has used up its share waits for what the others give
way to. Where nothing more comes, the budget is used up: less is left than one request of each worker could take.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import NamedTuple

from simia_gym.errors import Fault, Role
from simia_gym.llm.budget import NO_GUESS, Budget, Guess, Reservation


class Amounts(NamedTuple):
    """Calls, tokens and USD; of limits, ``None`` where there is none."""

    calls: float | None
    tokens: float | None
    cost: float | None


_NOTHING = Amounts(0, 0, 0)
_UNTIL_SURE = 3.0
"""Seconds without growth after which there is nothing left for a share: everybody has had several exchanges."""
_PAUSE = 0.02
_SMALLEST = 1e-6
"""Growth of a share below which it is none."""


class Share(Budget):
    """The part of a budget that a worker may use; its limits move."""

    def __init__(self) -> None:
        super().__init__()
        self._limit(_NOTHING)
        self._raised = time.monotonic()
        self._waiting = 0

    def _limit(self, limits: Amounts) -> None:
        self.max_calls = limits.calls  # type: ignore[assignment]
        self.max_tokens = limits.tokens  # type: ignore[assignment]
        self.max_cost = limits.cost

    def grant(self, limits: Amounts) -> Amounts:
        """Set the limits; what is used or reserved already cannot be taken back.

        Returns:
            The limits that are in force.
        """
        with self._lock:
            used = (self._calls, self._tokens + self._reserved_tokens, self._cost + self._reserved_cost)
            pairs = zip(limits, used, strict=True)
            before = (self.max_calls, self.max_tokens, self.max_cost)
            after = Amounts(*(None if limit is None else max(limit, taken) for limit, taken in pairs))
            self._limit(after)
            if any((new or 0) > (old or 0) + _SMALLEST for new, old in zip(after, before, strict=True)):
                self._raised = time.monotonic()
            return after

    @property
    def hungry(self) -> bool:
        """Whether a request waits for a larger share."""
        return self._waiting > 0

    async def admit(self, role: Role, tokens: int, cost: float, guess: Guess = NO_GUESS) -> Reservation:
        """Take leave to send one request, as soon as the share allows it.

        Raises:
            Fault: ``budget``: it does not, and has not grown for a while, so that nothing is left elsewhere.
        """
        while True:
            try:
                return self.reserve(role, tokens, cost, guess)
            except Fault:
                if time.monotonic() - self._raised > _UNTIL_SURE:
                    with self._lock:
                        self._check_without_others(role, tokens, cost)
            self._waiting += 1
            try:
                await asyncio.sleep(_PAUSE)
            finally:
                self._waiting -= 1

    def _check(self, role: Role, what: str, wanted: float, most: float | None) -> None:
        if most is not None and wanted > most:
            raise Fault("budget", f"the budget of {what} is used up (this worker's share of it)", role=role)

    def spent(self) -> Amounts:
        """What has been used."""
        with self._lock:
            return Amounts(self._calls, self._tokens, self._cost)


@dataclass
class _Held:
    spent: Amounts = _NOTHING
    in_force: Amounts = _NOTHING
    under_way: list[Amounts] = field(default_factory=list)

    def most(self, index: int) -> float:
        """The highest limit that this worker may go by."""
        return max((one[index] or 0) for one in (self.in_force, *self.under_way))


class Shares:
    """The driver's side.

    Args:
        budget: The whole; ``None`` for no limit.
    """

    def __init__(self, budget: Budget | None) -> None:
        limits = (None,) * 3 if budget is None else (budget.max_calls, budget.max_tokens, budget.max_cost)
        self._whole = Amounts(*limits)
        self._workers: dict[str, _Held] = {}
        self._gone = _NOTHING

    def grant(self, worker: str) -> Amounts:
        """The limits to send to a worker; `heard` must follow, or `lost`."""
        held = self._workers.setdefault(worker, _Held())
        granted = Amounts(*(self._part(held, index) for index in range(3)))
        held.under_way.append(granted)
        return granted

    def enough(self, worker: str) -> bool:
        """Whether a worker has a fair share by now; one that has just come waits until the others have given way."""
        held = self._workers.get(worker, _Held())
        return all(
            whole is None or held.most(index) - (held.spent[index] or 0) >= self._fair(index) / 2
            for index, whole in enumerate(self._whole)
        )

    def heard(self, worker: str, in_force: Amounts, spent: Amounts) -> None:
        """A worker answers: these limits are in force, so much is used."""
        held = self._workers[worker]
        held.under_way.pop(0)
        held.in_force, held.spent = in_force, spent

    def lost(self, worker: str) -> None:
        """A worker has died. What it used since its last answer is not known, and counts for nothing."""
        held = self._workers.pop(worker, _Held())
        self._gone = Amounts(*((one or 0) + (two or 0) for one, two in zip(self._gone, held.spent, strict=True)))

    def _part(self, held: _Held, index: int) -> float | None:
        whole = self._whole[index]
        if whole is None:
            return None
        others = sum(one.most(index) for one in self._workers.values() if one is not held)
        most = whole - (self._gone[index] or 0) - others
        return max(0.0, min((held.spent[index] or 0) + self._fair(index), most))

    def _fair(self, index: int) -> float:
        spent = sum(one.spent[index] or 0 for one in self._workers.values()) + (self._gone[index] or 0)
        return max(0.0, (self._whole[index] or 0) - spent) / max(1, len(self._workers))
