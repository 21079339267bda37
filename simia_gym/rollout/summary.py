"""What a rollout came to: counts, rates over valid episodes, and how sure one can be of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simia_gym.record.records import Record
from simia_gym.types import JsonObject

_Z95 = 1.959963984540054


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95% Wilson score interval of a proportion.

    Args:
        successes: How often it happened.
        trials: How often it could have.

    Returns:
        Lower and upper bound; (0, 1) without any trial.
    """
    if not trials:
        return 0.0, 1.0
    rate, square = successes / trials, _Z95**2
    centre = (rate + square / (2 * trials)) / (1 + square / trials)
    half = _Z95 / (1 + square / trials) * math.sqrt(rate * (1 - rate) / trials + square / (4 * trials**2))
    # at 0 and at all of them the bound is exact; rounding must not push it out of [0, 1]
    return (0.0 if not successes else max(0.0, centre - half)), (
        1.0 if successes == trials else min(1.0, centre + half)
    )


@dataclass
class Tally:
    """Sums over episodes.

    Attributes:
        episodes: All of them.
        valid: Those with a reward; everything below counts these alone.
        successes: Strict passes.
        reward: Sum of rewards.
        turns: Sum of turns.
    """

    episodes: int = 0
    valid: int = 0
    successes: int = 0
    reward: float = 0.0
    turns: int = 0

    def add(self, record: Record) -> None:
        """Count one episode."""
        self.episodes += 1
        if record.valid and record.reward is not None:
            self.valid += 1
            self.successes += record.success
            self.reward += record.reward
            self.turns += record.turns

    @classmethod
    def sum(cls, tallies: Iterable[Tally]) -> Tally:
        """Several tallies as one."""
        total = cls()
        for item in tallies:
            for name, value in vars(item).items():
                setattr(total, name, getattr(total, name) + value)
        return total

    @property
    def success_rate(self) -> float | None:
        """Share of successes among valid episodes."""
        return self.successes / self.valid if self.valid else None

    @property
    def mean_reward(self) -> float | None:
        """Mean reward of valid episodes."""
        return self.reward / self.valid if self.valid else None

    @property
    def mean_turns(self) -> float | None:
        """Mean number of turns of valid episodes."""
        return self.turns / self.valid if self.valid else None


@dataclass
class Summary:
    """A rollout's results so far.

    Attributes:
        all: Every episode.
        kinds: The same by kind of task.
        faults: How often each fault occurred, by ``role:kind``.
        messages: One message for each of them, the first.
        reused: How many were taken from the file instead of run.
        routes: How calls were answered, where models take part: by the model, by the world, from a pin, ...
        rejected: Answers of models that broke rules and were not taken over.
        shadow: Answers that were held against the world's (``answers``), and how many of them differ in their
            ``outcome``, ``error_code``, ``observation``, and by ``wrong``, ``missed`` or ``spurious`` values of the
            state.
    """

    all: Tally = field(default_factory=Tally)
    kinds: dict[str, Tally] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)
    messages: dict[str, str] = field(default_factory=dict)
    reused: int = 0
    routes: Counter[str] = field(default_factory=Counter)
    rejected: int = 0
    shadow: Counter[str] = field(default_factory=Counter)

    def add(self, record: Record, *, reused: bool = False) -> None:
        """Count one episode."""
        self.all.add(record)
        self.kinds.setdefault(record.kind, Tally()).add(record)
        self.reused += reused
        if record.events and "models" in record.events[0]:
            self._count_answers(record)
        if not record.valid:
            fault = record.fault or {}
            name = f"{fault['role']}:{fault['kind']}" if fault else "reward:invalid"
            self.faults[name] += 1
            self.messages.setdefault(name, fault.get("message") or str(record.verdict.get("reason", "")))

    def _count_answers(self, record: Record) -> None:
        for event in record.events:
            if event["type"] == "transition" and "route" in event["meta"]:
                self.routes[event["meta"]["route"]] += 1
                self._count_shadow(event["meta"].get("shadow"))
            elif event["type"] == "rejected":
                self.rejected += 1

    def _count_shadow(self, note: Mapping[str, Any] | None) -> None:
        if note is None:
            return
        self.shadow["answers"] += 1
        for name in ("outcome", "error_code", "observation"):
            self.shadow[name] += not note[name]
        for name in ("wrong", "missed", "spurious"):
            self.shadow[name] += note.get(name, 0) > 0

    @property
    def invalid(self) -> int:
        """Episodes without a reward."""
        return self.all.episodes - self.all.valid


def spending_json(summary: Summary, accounts: Mapping[str, Any]) -> JsonObject:
    """What models took and how calls were answered, as JSON; nothing where no model was asked."""
    if not accounts and not summary.routes:
        return {}
    out = {"models": dict(accounts), "routes": dict(sorted(summary.routes.items())), "rejected": summary.rejected}
    return {**out, "shadow": dict(summary.shadow)} if summary.shadow else out
