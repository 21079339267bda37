"""One budget for many processes: each worker has a share, and what one worker does not use goes to the others.

The driver sends limits with every exchange and divides what is left equally; the sum of all limits that may be in force
never exceeds the budget. One actor that every request asks would cost a millisecond of processor time, three times the
rest of a request. A worker that has used its share waits until the driver moves it a part of the others'. If its
limits do not grow for a while, the budget is used up: less is left than one request of each worker needs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import NamedTuple

from simia_gym.errors import Fault, Role
from simia_gym.llm.budget import Budget, Guess, Reservation


class Amounts(NamedTuple):
    """Calls, tokens and cost in USD; in a limit, ``None`` means unlimited."""

    calls: float | None
    tokens: float | None
    cost: float | None


_NOTHING = Amounts(0, 0, 0)
_UNTIL_SURE = 3.0
"""Seconds without growth of the share after which the budget is used up; every worker has had several exchanges."""
_SMALLEST = 1e-6
"""Growth of a share that counts as none."""


class BudgetShare(Budget):
    """The part of a budget that one worker may use; the driver changes its limits."""

    def __init__(self) -> None:
        super().__init__()
        self.max_calls = self.max_tokens = self.max_cost = 0
        self._raised = time.monotonic()

    def grant(self, limits: Amounts) -> Amounts:
        """Set the limits, but never below what is used or reserved already; return the limits in force."""
        with self._lock:
            used = (self._calls, self._tokens + self._reserved_tokens, self._cost + self._reserved_cost)
            pairs = zip(limits, used, strict=True)
            before = (self.max_calls, self.max_tokens, self.max_cost)
            after = Amounts(*(None if limit is None else max(limit, taken) for limit, taken in pairs))
            self.max_calls, self.max_tokens, self.max_cost = after  # type: ignore[assignment]
            if any((new or 0) > (old or 0) + _SMALLEST for new, old in zip(after, before, strict=True)):
                self._raised = time.monotonic()
            self._serve()
            return after

    @property
    def starved(self) -> bool:
        """Whether a request is waiting for a larger share."""
        return bool(self._queue)

    def _grant(self, asked: tuple[Role, int, float, Guess]) -> Reservation | None:
        """Reserve a request if the share allows it; a fault if it does not and has not grown for a while."""
        try:
            return self._take(*asked)
        except Fault:
            if time.monotonic() - self._raised > _UNTIL_SURE:
                self._check_fits(*asked[:3])
            return None

    def _check(self, role: Role, what: str, wanted: float, most: float | None) -> None:
        if most is not None and wanted > most:
            raise Fault("budget", f"the budget of {what} is used up (this worker's share of it)", role=role)

    def spent(self) -> Amounts:
        """What this worker has used."""
        with self._lock:
            return Amounts(self._calls, self._tokens, self._cost)


@dataclass
class _WorkerShare:
    """What the driver knows of one worker's share."""

    spent: Amounts = _NOTHING
    in_force: Amounts = _NOTHING
    sent: list[Amounts] = field(default_factory=list)

    def most(self, index: int) -> float:
        """The highest limit that may be in force in this worker."""
        return max((one[index] or 0) for one in (self.in_force, *self.sent))


class BudgetShares:
    """The driver's side: divides a budget among workers; without a budget nothing is limited."""

    def __init__(self, budget: Budget | None) -> None:
        limits = (None,) * 3 if budget is None else (budget.max_calls, budget.max_tokens, budget.max_cost)
        self._whole = Amounts(*limits)
        self._workers: dict[str, _WorkerShare] = {}
        self._gone = _NOTHING

    def grant(self, worker: str) -> Amounts:
        """The limits to send to a worker; a call of `report` or `worker_died` must follow."""
        held = self._workers.setdefault(worker, _WorkerShare())
        granted = Amounts(*(self._part(held, index) for index in range(3)))
        held.sent.append(granted)
        return granted

    def enough(self, worker: str) -> bool:
        """Whether a worker has at least half a fair share; a new one waits until the others' limits are lowered."""
        held = self._workers.get(worker, _WorkerShare())
        return all(
            whole is None or held.most(index) - (held.spent[index] or 0) >= self._fair(index) / 2
            for index, whole in enumerate(self._whole)
        )

    def report(self, worker: str, in_force: Amounts, spent: Amounts) -> None:
        """Note a worker's reply: the limits in force and what it has used."""
        held = self._workers[worker]
        held.sent.pop(0)
        held.in_force, held.spent = in_force, spent

    def worker_died(self, worker: str) -> None:
        """Free a dead worker's share. What it used since its last reply is unknown and not counted."""
        held = self._workers.pop(worker, _WorkerShare())
        self._gone = Amounts(*((one or 0) + (two or 0) for one, two in zip(self._gone, held.spent, strict=True)))

    def _part(self, held: _WorkerShare, index: int) -> float | None:
        whole = self._whole[index]
        if whole is None:
            return None
        others = sum(one.most(index) for one in self._workers.values() if one is not held)
        most = whole - (self._gone[index] or 0) - others
        return max(0.0, min((held.spent[index] or 0) + self._fair(index), most))

    def _fair(self, index: int) -> float:
        spent = sum(one.spent[index] or 0 for one in self._workers.values()) + (self._gone[index] or 0)
        return max(0.0, (self._whole[index] or 0) - spent) / max(1, len(self._workers))
