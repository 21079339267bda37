"""Model usage per role, for the whole process: calls, failures, tokens, cost and latency."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from operator import add, sub
from typing import Any

from simia_gym.common.formatting import compact, counted, dollars
from simia_gym.llm.transport.forks import ForkSafe
from simia_gym.llm.types import Usage
from simia_gym.types import JsonObject

_STEP = math.log(1.05)
_FIRST_MS = 0.1


@dataclass(slots=True)
class _Account:
    """Usage of one role. Latencies are kept as a histogram with bins 5% wide, so memory stays bounded."""

    calls: int = 0
    tries: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    estimated: int = 0
    cost: float = 0.0
    prompt_bytes: int = 0
    static_bytes: int = 0
    seconds: float = 0.0
    waits: Counter[int] = field(default_factory=Counter)

    def percentile(self, share: float) -> float | None:
        """Latency in milliseconds, to bin width, that this share of the responses kept; ``None`` without responses."""
        total = sum(self.waits.values())
        reached = 0
        for index in sorted(self.waits):
            reached += self.waits[index]
            if reached >= share * total:
                return round(_FIRST_MS * math.exp(_STEP * index), 3)
        return None

    def to_json(self) -> JsonObject:
        answers = sum(self.waits.values())
        return {
            "calls": self.calls,
            "tries": self.tries,
            "retries": max(0, self.tries - self.calls),
            "failures": dict(sorted(self.failures.items())),
            "faults": dict(sorted(self.faults.items())),
            "prompt_tokens": self.prompt,
            "cached_tokens": self.cached,
            "completion_tokens": self.completion,
            "estimated": self.estimated,
            "cost_usd": round(self.cost, 6),
            "prompt_bytes": self.prompt_bytes,
            "static_bytes": self.static_bytes,
            "static_share": round(self.static_bytes / self.prompt_bytes, 4) if self.prompt_bytes else None,
            "latency_ms": {
                "n": answers,
                "mean": round(1000 * self.seconds / answers, 3) if answers else None,
                "p50": self.percentile(0.5),
                "p99": self.percentile(0.99),
            },
        }


def _combined(one: _Account, other: _Account, how: Callable[[Any, Any], Any]) -> _Account:
    """The sum or the difference of two accounts."""
    return _Account(*(how(getattr(one, part.name), getattr(other, part.name)) for part in fields(_Account)))


class Mark:
    """What `Accounts` had counted at one moment."""

    def __init__(self, roles: Mapping[str, _Account]) -> None:
        self._roles = roles

    def of(self, role: str) -> _Account:
        """The account of a role at that moment."""
        return self._roles.get(role) or _Account()


class Accounts(ForkSafe):
    """Counts for all roles; safe to use from several threads."""

    def __init__(self) -> None:
        super().__init__()
        self._roles: defaultdict[str, _Account] = defaultdict(_Account)

    def after_fork(self) -> None:
        """Start with empty counts in a forked process."""
        self._roles.clear()

    def asked(self, role: str, prompt_bytes: int, static_bytes: int) -> None:
        """Count a new request, with the size of its messages and of their beginning that other requests share."""
        with self._lock:
            account = self._roles[role]
            account.calls += 1
            account.prompt_bytes += prompt_bytes
            account.static_bytes += static_bytes

    def answered(self, role: str, usage: Usage, cost: float, seconds: float, *, counted: bool = True) -> None:
        """Count an attempt that got a response, usable or not; `counted` says whether the server counted the tokens."""
        index = math.ceil(math.log(seconds * 1000 / _FIRST_MS) / _STEP) if seconds * 1000 > _FIRST_MS else 0
        with self._lock:
            account = self._roles[role]
            account.tries += 1
            account.prompt += usage.prompt
            account.cached += usage.cached
            account.completion += usage.completion
            account.estimated += not counted
            account.cost += cost
            account.seconds += seconds
            account.waits[index] += 1

    def failed(self, role: str, kind: str, *, answered: bool = False) -> None:
        """Count a failed attempt by the kind of its `Fault`; `answered` if that method has counted it already."""
        with self._lock:
            account = self._roles[role]
            account.tries += not answered
            account.failures[kind] += 1

    def gave_up(self, role: str, kind: str) -> None:
        """Count a request that ended in a fault of this kind."""
        with self._lock:
            self._roles[role].faults[kind] += 1

    def mark(self) -> Mark:
        """What is counted so far, for `snapshot` to leave out: a process may play several runs."""
        with self._lock:
            return Mark({role: _combined(account, _Account(), sub) for role, account in self._roles.items()})

    def snapshot(self, since: Mark | None = None) -> JsonObject:
        """The counts by role as JSON: all, or of roles that were asked since a mark what has come since."""
        with self._lock:
            counted = sorted(self._roles.items())
            if since is not None:
                more = ((role, _combined(account, since.of(role), sub)) for role, account in counted)
                counted = [(role, account) for role, account in more if account != _Account()]
            return {role: account.to_json() for role, account in counted}

    def drain(self) -> dict[str, _Account]:
        """Return all counts and reset them, so that another process can `add` them to its own."""
        with self._lock:
            drained = dict(self._roles)
            self._roles.clear()
        return drained

    def add(self, taken: Mapping[str, _Account]) -> None:
        """Add counts that `drain` returned in another process."""
        with self._lock:
            for role, more in taken.items():
                self._roles[role] = _combined(self._roles[role], more, add)


_default = Accounts()


def accounts() -> Accounts:
    """The accounts of this process."""
    return _default


def in_short(accounts: Mapping[str, Any], *, short: bool = False) -> str:
    """Summarise a snapshot of `Accounts` in one line; `short` leaves the tokens out if the cost is known."""
    calls = sum(role["calls"] for role in accounts.values())
    tokens = sum(role["prompt_tokens"] + role["completion_tokens"] for role in accounts.values())
    cost = sum(role["cost_usd"] for role in accounts.values())
    words = [f"{compact(calls)} call{'' if calls == 1 else 's'}"]
    words += [] if short and cost else [f"{compact(tokens)} tokens"]
    words += [dollars(cost)] if cost else []
    # Failed attempts without those of abandoned requests: correct while requests are in flight, too.
    retries = sum(max(0, sum(role["failures"].values()) - _given_up(role)) for role in accounts.values())
    words += [counted(retries, "retry", "retries")] if retries else []
    return " · ".join(words)


def _given_up(role: Mapping[str, Any]) -> int:
    return sum(count for kind, count in role["faults"].items() if kind != "budget")
