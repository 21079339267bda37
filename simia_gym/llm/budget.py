"""Hard limits on what a run may ask of models: calls, tokens, money."""

from __future__ import annotations

import asyncio
import math
import threading
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from simia_gym.errors import Fault, InputError, Role
from simia_gym.llm.transport.forks import fresh_after_fork
from simia_gym.types import JsonObject

FIRST_REPLY = 1000
"""Tokens that are taken for a reply of a role that has not yet replied, where nothing limits it."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """What a request in flight may take, as estimated.

    Attributes:
        role: Who asks.
        tokens: Tokens.
        cost: USD.
    """

    role: Role
    tokens: int
    cost: float


class Guess(NamedTuple):
    """What a reply without a limit may take besides what is sure.

    Attributes:
        tokens: Tokens.
        cost: USD.
    """

    tokens: int = 0
    cost: float = 0.0


NO_GUESS = Guess()


@dataclass(eq=False, slots=True)
class _Waiting:
    """A request that waits until others are settled; it gets what it asks for, or a fault."""

    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[None]
    role: Role
    tokens: int
    cost: float
    guess: Guess
    granted: Reservation | None = None
    fault: Fault | None = None


class Budget:
    """What may be used, for the whole process; safe to use from several threads and loops.

    Every try counts, for every try can cost. A try is allowed if what is spent, what is reserved for those in flight
    and its own estimate fit; what it really took is settled afterwards, so that the limit is passed by no more than the
    error of the estimates of those in flight. Where only those in flight stand in the way, it waits for them.

    How long a reply becomes that nothing limits is only guessed, by the longest one of its role so far. A guess is
    reserved like the rest, so that many such replies do not pass the limit together; but a try that is alone in flight
    needs no room for it, for a guess is no reason to refuse what may well fit.

    Args:
        max_calls: Most tries.
        max_tokens: Most tokens, prompt and completion together.
        max_cost: Most USD, where prices are known.

    Raises:
        InputError: A limit is not a positive number.
    """

    def __init__(
        self, max_calls: int | None = None, max_tokens: int | None = None, max_cost: float | None = None
    ) -> None:
        limits = {"max_calls": max_calls, "max_tokens": max_tokens, "max_cost": max_cost}
        for name, limit in limits.items():
            if limit is not None and (isinstance(limit, bool) or not 0 < limit < math.inf):
                raise InputError(f"{name} is {limit!r}", where="budget", fix="Give a number above 0.")
        self.max_calls, self.max_tokens, self.max_cost = max_calls, max_tokens, max_cost
        self._lock = threading.Lock()
        self._calls = self._tokens = self._reserved_tokens = 0
        self._cost = self._reserved_cost = 0.0
        self._in_flight = 0
        self._queue: deque[_Waiting] = deque()
        self._longest: dict[Role, int] = {}
        fresh_after_fork(self)

    def after_fork(self) -> None:
        """What the parent has in flight is not the child's to settle."""
        self._lock = threading.Lock()
        self._reserved_tokens, self._reserved_cost, self._in_flight = 0, 0.0, 0
        self._queue.clear()

    def reply_tokens(self, role: Role) -> int:
        """The tokens of the longest reply of a role so far: the guess for the next one.

        Args:
            role: Who asks.
        """
        return self._longest.get(role, FIRST_REPLY)

    def reserve(self, role: Role, tokens: int, cost: float, guess: Guess = NO_GUESS) -> Reservation:
        """Take leave to send one request, now or not at all; `settle` must follow, whatever happens.

        Args:
            role: Who asks.
            tokens: How many tokens it may take.
            cost: What it may cost in USD.
            guess: What it may take besides, where nothing limits its reply.

        Raises:
            Fault: ``budget``: there is not enough left.
        """
        with self._lock:
            return self._take(role, tokens, cost, guess)

    async def admit(self, role: Role, tokens: int, cost: float, guess: Guess = NO_GUESS) -> Reservation:
        """The same as `reserve`, but it waits for what those in flight leave; a cancelled wait takes nothing.

        Args:
            role: Who asks.
            tokens: How many tokens it may take.
            cost: What it may cost in USD.
            guess: What it may take besides, where nothing limits its reply.

        Raises:
            Fault: ``budget``: with what is spent there is not enough left.
        """
        with self._lock:
            if not self._queue:
                try:
                    return self._take(role, tokens, cost, guess)
                except Fault:
                    self._check_without_others(role, tokens, cost)
            loop = asyncio.get_running_loop()
            mine = _Waiting(loop, loop.create_future(), role, tokens, cost, guess)
            self._queue.append(mine)
        try:
            await mine.future
        except BaseException:
            with self._lock:
                if mine.granted is not None:
                    self._give_back(mine.granted)
                elif mine in self._queue:
                    self._queue.remove(mine)
                self._grant()
            raise
        if mine.granted is None:
            assert mine.fault is not None
            raise mine.fault
        return mine.granted

    def settle(self, reservation: Reservation, tokens: int, cost: float, reply: int = 0) -> None:
        """Say what a request really took; 0 where there was no answer.

        Args:
            reservation: What was reserved for it.
            tokens: Tokens.
            cost: USD.
            reply: The tokens of its reply alone, from which the next one's are guessed.
        """
        with self._lock:
            self._tokens += tokens
            self._cost += cost
            if reply > self._longest.get(reservation.role, 0):
                self._longest[reservation.role] = reply
            self._free(reservation)
            if self._queue:
                self._grant()

    def snapshot(self) -> JsonObject:
        """What is spent and what may be, as JSON."""
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
    def idle(self) -> bool:
        """Whether nothing is reserved."""
        with self._lock:
            return self._reserved_tokens == 0 and abs(self._reserved_cost) < 1e-9

    def _take(self, role: Role, tokens: int, cost: float, guess: Guess) -> Reservation:
        """Reserve; the lock is held."""
        held = Reservation(role, tokens + guess.tokens, cost + guess.cost)
        if self._in_flight:
            tokens, cost = held.tokens, held.cost
        self._check(role, "calls", self._calls + 1, self.max_calls)
        self._check(role, "tokens", self._tokens + self._reserved_tokens + tokens, self.max_tokens)
        self._check(role, "USD", self._cost + self._reserved_cost + cost, self.max_cost)
        self._calls += 1
        self._reserved_tokens += held.tokens
        self._reserved_cost += held.cost
        self._in_flight += 1
        return held

    def _check_without_others(self, role: Role, tokens: int, cost: float) -> None:
        """Refuse what does not fit even if those in flight take nothing; the lock is held."""
        self._check(role, "calls", self._calls + 1, self.max_calls)
        self._check(role, "tokens", self._tokens + tokens, self.max_tokens)
        self._check(role, "USD", self._cost + cost, self.max_cost)

    def _free(self, reservation: Reservation) -> None:
        """A reservation ends; the lock is held."""
        self._reserved_tokens -= reservation.tokens
        self._reserved_cost -= reservation.cost
        self._in_flight -= 1
        if not self._in_flight:  # what sums of fractions leave over must not stand in anybody's way
            self._reserved_cost = 0.0

    def _give_back(self, reservation: Reservation) -> None:
        """A request that was never sent: it counts for nothing. The lock is held."""
        self._free(reservation)
        self._calls -= 1

    def _grant(self) -> None:
        """Let those go on that wait, in the order in which they came; the lock is held."""
        while self._queue:
            one = self._queue[0]
            asked = one.role, one.tokens, one.cost
            try:
                one.granted = self._take(*asked, one.guess)
            except Fault:
                try:
                    self._check_without_others(*asked)
                    return
                except Fault as fault:
                    one.fault = fault
            self._queue.popleft()
            try:
                one.loop.call_soon_threadsafe(_wake, one.future)
            except RuntimeError:  # its loop is closed
                if one.granted is not None:
                    self._give_back(one.granted)

    def _check(self, role: Role, what: str, wanted: float, most: float | None) -> None:
        if most is not None and wanted > most:
            raise Fault("budget", f"the budget of {most:g} {what} is used up", role=role)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
