"""Usage of models per role, for the whole process: calls, failures, tokens, cost and latency."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from simia_gym.common.formatting import compact, counted, dollars
from simia_gym.llm.transport.forks import fresh_after_fork
from simia_gym.llm.types import Usage
from simia_gym.types import JsonObject

_STEP = math.log(1.05)
_FIRST_MS = 0.1


@dataclass(slots=True)
class _Account:
    """Usage of one role. Latencies are counted in classes 5% wide: bounded memory, sufficient for percentiles."""

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
        """Latency in milliseconds that this share of the answers does not exceed."""
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


class Accounts:
    """Counts for all roles; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._roles: dict[str, _Account] = {}
        fresh_after_fork(self)

    def after_fork(self) -> None:
        """Start with empty counts in a forked process."""
        self._lock = threading.Lock()
        self._roles = {}

    def asked(self, role: str, prompt_bytes: int, static_bytes: int) -> None:
        """A request begins.

        Args:
            role: Whose it is.
            prompt_bytes: Bytes of its messages.
            static_bytes: Those of them that are the same for many requests.
        """
        with self._lock:
            account = self._roles.get(role) or self._of(role)
            account.calls += 1
            account.prompt_bytes += prompt_bytes
            account.static_bytes += static_bytes

    def answered(self, role: str, usage: Usage, cost: float, seconds: float, *, counted: bool = True) -> None:
        """A try was answered, whatever the answer is worth.

        Args:
            role: Whose it is.
            usage: Tokens.
            cost: USD.
            seconds: From the sending to the end of the answer.
            counted: Whether the server counted the tokens; else they are estimated.
        """
        index = math.ceil(math.log(seconds * 1000 / _FIRST_MS) / _STEP) if seconds * 1000 > _FIRST_MS else 0
        with self._lock:
            account = self._roles.get(role) or self._of(role)
            account.tries += 1
            account.prompt += usage.prompt
            account.cached += usage.cached
            account.completion += usage.completion
            account.estimated += not counted
            account.cost += cost
            account.seconds += seconds
            account.waits[index] += 1

    def failed(self, role: str, kind: str, *, answered: bool = False) -> None:
        """A try failed.

        Args:
            role: Whose it is.
            kind: How.
            answered: Whether `answered` has counted it already.
        """
        with self._lock:
            account = self._of(role)
            account.tries += not answered
            account.failures[kind] += 1

    def gave_up(self, role: str, kind: str) -> None:
        """A request ended in a fault."""
        with self._lock:
            self._of(role).faults[kind] += 1

    def snapshot(self) -> JsonObject:
        """All counts, by role, as JSON."""
        with self._lock:
            return {role: account.to_json() for role, account in sorted(self._roles.items())}

    def drain(self) -> dict[str, _Account]:
        """Return all counts and reset them, so that another process can `add` them to its own."""
        with self._lock:
            taken, self._roles = self._roles, {}
        return taken

    def add(self, taken: Mapping[str, _Account]) -> None:
        """Add the counts that `drain` returned elsewhere."""
        with self._lock:
            for role, more in taken.items():
                account = self._of(role)
                for one in fields(_Account):
                    value = getattr(account, one.name)
                    setattr(account, one.name, value + getattr(more, one.name))

    @property
    def cost(self) -> float:
        """USD so far, of all roles."""
        with self._lock:
            return sum(account.cost for account in self._roles.values())

    @property
    def calls(self) -> int:
        """Requests so far, of all roles."""
        with self._lock:
            return sum(account.calls for account in self._roles.values())

    @property
    def tokens(self) -> int:
        """Tokens so far, of all roles."""
        with self._lock:
            return sum(account.prompt + account.completion for account in self._roles.values())

    def _of(self, role: str) -> _Account:
        account = self._roles.get(role)
        if account is None:
            account = self._roles[role] = _Account()
        return account


_default = Accounts()


def accounts() -> Accounts:
    """The accounts of this process."""
    return _default


def in_short(accounts: Mapping[str, Any], *, short: bool = False) -> str:
    """The running total: requests, tokens, dollars, further tries.

    Args:
        accounts: A snapshot of `simia_gym.llm.accounts.Accounts`.
        short: Leave tokens out where dollars are known.
    """
    calls = sum(role["calls"] for role in accounts.values())
    tokens = sum(role["prompt_tokens"] + role["completion_tokens"] for role in accounts.values())
    cost = sum(role["cost_usd"] for role in accounts.values())
    words = [f"{compact(calls)} call{'' if calls == 1 else 's'}"]
    words += [] if short and cost else [f"{compact(tokens)} tokens"]
    words += [dollars(cost)] if cost else []
    again = 0
    for role in accounts.values():  # attempts that failed, less those that were the last: true also while requests run
        given_up = sum(count for kind, count in role["faults"].items() if kind != "budget")
        again += max(0, sum(role["failures"].values()) - given_up)
    words += [counted(again, "retry", "retries")] if again else []
    return " · ".join(words)
