"""One budget for all workers: an actor holds it, and each request to a model asks the actor first."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future
from typing import Any

from simia_gym.errors import Fault, Role
from simia_gym.llm.budget import NO_GUESS, Budget, Guess, Reservation
from simia_gym.rl.cluster.actors import reply

Answer = Reservation | Fault


class BudgetActor:
    """Holds the budget, and what each worker has reserved; runs as an asyncio actor."""

    def __init__(self, max_calls: int | None, max_tokens: int | None, max_cost: float | None) -> None:
        self._budget = Budget(max_calls, max_tokens, max_cost)
        self._reserved: dict[str, Counter[Reservation]] = {}

    async def admit(self, worker: str, role: Role, tokens: int, cost: float, guess: Guess) -> Answer:
        """Reserve a request as soon as it fits, or return the fault."""
        try:
            reservation = await self._budget.admit(role, tokens, cost, guess)
        except Fault as fault:
            return fault
        self._reserved.setdefault(worker, Counter())[reservation] += 1
        return reservation

    async def settle(self, worker: str, reservation: Reservation, tokens: int, cost: float, reply: int = 0) -> None:
        """Replace a reservation of a worker by what its request used."""
        if self._reserved[worker][reservation]:
            self._reserved[worker][reservation] -= 1
            self._budget.settle(reservation, tokens, cost, reply)

    async def worker_died(self, worker: str) -> None:
        """Count what a dead worker has reserved as used, since its requests may have been answered."""
        for reservation in self._reserved.get(worker, Counter()).elements():
            self._budget.settle(reservation, reservation.tokens, reservation.cost)
        self._reserved.pop(worker, None)


class RayBudget(Budget):
    """The budget of a run as one worker sees it.

    Args:
        actor: Handle of the `BudgetActor`.
        worker: Name of the worker.
    """

    def __init__(self, actor: Any, worker: str) -> None:
        super().__init__()
        self._actor, self._worker = actor, worker

    async def admit(self, role: Role, tokens: int, cost: float, guess: Guess = NO_GUESS) -> Reservation:
        """Reserve one request; see `Budget.admit`."""
        call = self._actor.admit.remote(self._worker, role, tokens, cost, guess)
        try:
            answer: Answer = await reply(call, "budget")
        except BaseException:  # cancelled while it waited: the actor may still admit it, and nobody would settle it
            call.future().add_done_callback(self._release)
            raise
        if isinstance(answer, Fault):
            raise answer
        return answer

    def _release(self, call: Future[Answer]) -> None:
        if call.exception() is None and isinstance(answer := call.result(), Reservation):
            self._actor.settle.remote(self._worker, answer, 0, 0.0)

    def settle(self, reservation: Reservation, tokens: int, cost: float, reply: int = 0) -> None:
        """Replace a reservation by the actual usage of its request; see `Budget.settle`."""
        self._longest[reservation.role] = max(reply, self._longest.get(reservation.role, 0))
        self._actor.settle.remote(self._worker, reservation, tokens, cost, reply)
