"""Hard limits on the model usage of a run: calls, tokens and cost."""

from __future__ import annotations

import math
from typing import NamedTuple

from simia_gym.errors import Fault, InputError, Role
from simia_gym.llm.transport.fair_queue import FairQueue
from simia_gym.types import JsonObject

FIRST_REPLY = 1000
"""Estimated tokens of a role's first reply if the request sets no ``max_tokens``."""


class Reservation(NamedTuple):
    """Estimated usage of a request in flight: its role, the tokens of prompt and reply, and the cost in USD."""

    role: Role
    tokens: int
    cost: float


class Guess(NamedTuple):
    """Estimated tokens and cost in USD of a reply that ``max_tokens`` does not limit."""

    tokens: int = 0
    cost: float = 0.0


NO_GUESS = Guess()


class Budget(FairQueue[tuple[Role, int, float, Guess], Reservation]):
    """Usage limits of the whole process; safe to use from several threads and event loops.

    Every attempt counts, retries included, because every attempt can cost money. An attempt is allowed if past usage,
    the reservations of attempts in flight and its own estimate together fit the limits; its actual usage replaces the
    estimate afterwards. The limit can thus be exceeded only by the estimation error of the attempts in flight. If an
    attempt would fit without the others in flight, it waits for them.

    Without ``max_tokens``, the length of a reply is guessed from the longest reply of its role so far. The guess is
    reserved, too, so that many such requests do not exceed the limit together. It is ignored for the check of an
    attempt that is alone in flight: a guess is no reason to refuse a request that may fit.

    Args:
        max_calls: Maximum number of attempts; ``None`` for no limit.
        max_tokens: Maximum number of tokens, prompt and completion together; ``None`` for no limit.
        max_cost: Maximum cost in USD, as far as prices are known; ``None`` for no limit.

    Raises:
        InputError: A limit is not a positive number.
    """

    def __init__(
        self, max_calls: int | None = None, max_tokens: int | None = None, max_cost: float | None = None
    ) -> None:
        super().__init__()
        limits = {"max_calls": max_calls, "max_tokens": max_tokens, "max_cost": max_cost}
        for name, limit in limits.items():
            if limit is not None and (isinstance(limit, bool) or not 0 < limit < math.inf):
                raise InputError(f"{name} is {limit!r}", where="budget", fix="Give a number above 0.")
        self.max_calls, self.max_tokens, self.max_cost = max_calls, max_tokens, max_cost
        self._calls = self._tokens = self._reserved_tokens = 0
        self._cost = self._reserved_cost = 0.0
        self._in_flight = 0
        self._longest: dict[Role, int] = {}

    def after_fork(self) -> None:
        """Forget the requests that the parent process has in flight."""
        super().after_fork()
        self._reserved_tokens, self._reserved_cost, self._in_flight = 0, 0.0, 0

    def reply_tokens(self, role: Role) -> int:
        """Tokens of the longest reply of a role so far, which is the guess for its next reply."""
        return self._longest.get(role, FIRST_REPLY)

    def reserve(self, role: Role, tokens: int, cost: float, guess: Guess = NO_GUESS) -> Reservation:
        """Reserve the estimated usage of one request without waiting; always call `settle` afterwards.

        Args:
            role: Role that sends the request.
            tokens: Tokens of prompt and reply.
            cost: Cost in USD.
            guess: Further usage by a reply that ``max_tokens`` does not limit.

        Raises:
            Fault: ``budget``: the rest of the budget is too small.
        """
        with self._lock:
            return self._take(role, tokens, cost, guess)

    async def admit(self, role: Role, tokens: int, cost: float, guess: Guess = NO_GUESS) -> Reservation:
        """Like `reserve`, but wait if requests in flight may free enough budget; a cancelled wait reserves nothing.

        Raises:
            Fault: ``budget``: the request does not fit even without the reservations of requests in flight.
        """
        return await self._wait((role, tokens, cost, guess))

    def settle(self, reservation: Reservation, tokens: int, cost: float, reply: int = 0) -> None:
        """Replace a reservation by the actual usage of its request; 0 if there was no response.

        `reply` are the tokens of the reply alone, from which the length of later replies is guessed.
        """
        with self._lock:
            self._tokens += tokens
            self._cost += cost
            if reply > self._longest.get(reservation.role, 0):
                self._longest[reservation.role] = reply
            self._free(reservation)
            self._serve()

    def snapshot(self) -> JsonObject:
        """Usage so far and the limits, as JSON."""
        with self._lock:
            return {
                "calls": self._calls,
                "tokens": self._tokens,
                "cost_usd": round(self._cost, 6),
                "max_calls": self.max_calls,
                "max_tokens": self.max_tokens,
                "max_cost": self.max_cost,
            }

    @property
    def share(self) -> float:
        """The share of the budget that is used up, by the limit that is nearest; 0 without limits."""
        with self._lock:
            used = ((self._calls, self.max_calls), (self._tokens, self.max_tokens), (self._cost, self.max_cost))
            return max((float(count / limit) for count, limit in used if limit), default=0.0)

    @property
    def idle(self) -> bool:
        """Whether there is no reservation."""
        with self._lock:
            return self._reserved_tokens == 0 and abs(self._reserved_cost) < 1e-9

    def _take(self, role: Role, tokens: int, cost: float, guess: Guess) -> Reservation:
        """Make a reservation; the caller holds the lock."""
        held = Reservation(role, tokens + guess.tokens, cost + guess.cost)
        if self._in_flight:
            tokens, cost = held.tokens, held.cost
        self._check_fits(role, self._reserved_tokens + tokens, self._reserved_cost + cost)
        self._calls += 1
        self._reserved_tokens += held.tokens
        self._reserved_cost += held.cost
        self._in_flight += 1
        return held

    def _check_fits(self, role: Role, tokens: int, cost: float) -> None:
        """Refuse a request if it, together with past usage, exceeds a limit; the caller holds the lock."""
        self._check(role, "calls", self._calls + 1, self.max_calls)
        self._check(role, "tokens", self._tokens + tokens, self.max_tokens)
        self._check(role, "USD", self._cost + cost, self.max_cost)

    def _free(self, reservation: Reservation) -> None:
        """End a reservation; the caller holds the lock."""
        self._reserved_tokens -= reservation.tokens
        self._reserved_cost -= reservation.cost
        self._in_flight -= 1
        if not self._in_flight:  # remove rounding errors
            self._reserved_cost = 0.0

    def _grant(self, asked: tuple[Role, int, float, Guess]) -> Reservation | None:
        try:
            return self._take(*asked)
        except Fault:
            self._check_fits(*asked[:3])  # a fault if it does not fit without the requests in flight either
            return None

    def _take_back(self, permit: Reservation) -> None:
        self._free(permit)
        self._calls -= 1

    def _check(self, role: Role, what: str, wanted: float, most: float | None) -> None:
        if most is not None and wanted > most:
            raise Fault("budget", f"the budget of {most:g} {what} is used up", role=role)
