"""Results of a rollout: counts, rates over valid episodes, and confidence intervals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from simia_gym.common.formatting import counted
from simia_gym.record.finished_episode import CONTEXT_LIMIT
from simia_gym.record.records import Record
from simia_gym.types import JsonObject

T = TypeVar("T")
Z95 = 1.959963984540054


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95% Wilson score interval of a proportion: lower and upper bound."""
    rate, square = successes / trials, Z95**2
    centre = (rate + square / (2 * trials)) / (1 + square / trials)
    half = Z95 / (1 + square / trials) * math.sqrt(rate * (1 - rate) / trials + square / (4 * trials**2))
    # With no successes, or only successes, one bound is exactly 0 or 1; rounding must not push it out of [0, 1].
    return (0.0 if not successes else max(0.0, centre - half)), (
        1.0 if successes == trials else min(1.0, centre + half)
    )


@dataclass
class Tally:
    """Sums over episodes.

    Attributes:
        episodes: Number of all episodes.
        valid: Number of valid episodes, which have a reward; the following sums count only these.
        successes: Number of successful episodes.
        reward: Sum of rewards.
        turns: Sum of turns.
        cut_off: Number of actions that a token limit cut off (``finish_reason`` ``length``), in all episodes.
        overflows: Number of episodes that were cut because they outgrew the policy's context.
        invented: Number of actions that went on with an observation that the policy had invented, in all episodes.
    """

    episodes: int = 0
    valid: int = 0
    successes: int = 0
    reward: float = 0.0
    turns: int = 0
    cut_off: int = 0
    overflows: int = 0
    invented: int = 0

    def add(self, record: Record) -> None:
        """Count one episode."""
        self.episodes += 1
        self.cut_off += sum("finish_reason" in event for event in record.events)
        self.overflows += record.ended == CONTEXT_LIMIT
        self.invented += sum("invented" in event for event in record.events)
        if record.valid and record.reward is not None:
            self.valid += 1
            self.successes += record.success
            self.reward += record.reward
            self.turns += record.turns

    @classmethod
    def sum(cls, tallies: Iterable[Tally]) -> Tally:
        """Add several tallies."""
        total = cls()
        for item in tallies:
            for name, value in vars(item).items():
                setattr(total, name, getattr(total, name) + value)
        return total

    @property
    def invalid(self) -> int:
        """Number of episodes without a reward."""
        return self.episodes - self.valid

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
        all: Sums over all episodes.
        kinds: Sums by kind of task.
        groups: Sums by an option of the tasks and its value, for the options in ``scores_by`` of ``domain.yaml``.
        faults: Number of faults by ``role:kind``.
        messages: Message of the first fault of each ``role:kind``.
        reused: Number of episodes taken from the record instead of played.
        routes: Number of tool results by route, if models take part: by the model, by the world, from a pin, ...
        rejected: Number of simulator replies that broke rules and were rejected.
        read: What was put right in models' replies to read them: number of replies by kind.
        unread: Number of models' replies that could not be read.
        shadow: In shadow runs, the number of simulator replies that were compared with the world's (``answers``), and
            how many of them differ in ``outcome``, ``error_code`` or ``observation``, or have ``wrong``, ``missed`` or
            ``spurious`` state values; and how many are equal in something only up to masks (``masked``).
    """

    all: Tally = field(default_factory=Tally)
    kinds: dict[str, Tally] = field(default_factory=dict)
    groups: dict[str, dict[str, Tally]] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)
    messages: dict[str, str] = field(default_factory=dict)
    reused: int = 0
    routes: Counter[str] = field(default_factory=Counter)
    rejected: int = 0
    read: Counter[str] = field(default_factory=Counter)
    unread: int = 0
    shadow: Counter[str] = field(default_factory=Counter)

    def add(self, record: Record, *, reused: bool = False) -> None:
        """Count one episode."""
        self.all.add(record)
        self.kinds.setdefault(record.kind, Tally()).add(record)
        for name, value in score_groups(record).items():
            self.groups.setdefault(name, {}).setdefault(value, Tally()).add(record)
        self.reused += reused
        if record.events and "models" in record.events[0]:
            self._count_answers(record)
        if not record.valid:
            name, fault = fault_name(record), record.fault or {}
            self.faults[name] += 1
            self.messages.setdefault(name, fault.get("message") or str(record.verdict.get("reason", "")))

    def _count_answers(self, record: Record) -> None:
        for event in record.events:
            if event["type"] == "transition" and "route" in event["meta"]:
                self.routes[event["meta"]["route"]] += 1
                self._count_shadow(event["meta"].get("shadow"))
            elif event["type"] == "rejected":
                self.rejected += 1
            elif event["type"] == "unread":
                self.unread += 1
            elif event["type"] == "model":
                self.read.update(event.get("read", ()))

    def _count_shadow(self, note: Mapping[str, Any] | None) -> None:
        if note is None:
            return
        self.shadow["answers"] += 1
        for name in ("outcome", "error_code", "observation"):
            self.shadow[name] += not note[name]
        for name in ("wrong", "missed", "spurious"):
            self.shadow[name] += note.get(name, 0) > 0
        if note.get("masked"):
            self.shadow["masked"] += 1


def score_groups(record: Record) -> dict[str, str]:
    """The values of the task's options by which scores are shown, as texts by their names."""
    return {name: str(value) for name, value in record.start.get("scores_by", {}).items()}


def group_rows(groups: Mapping[str, Mapping[str, T]]) -> list[tuple[str, T]]:
    """Rows of a table, such as ``apps: 2``."""
    return [(f"{name}: {value}", one) for name, values in groups.items() for value, one in sorted(values.items())]


def limit_words(cut_off: int, overflows: int, invented: int) -> list[str]:
    """Lines on actions and episodes that were cut off: by a limit of the policy's model, or at what it invented."""
    lines = {
        f"cut off by max_tokens (finish_reason length): {counted(cut_off, 'action')}": cut_off,
        f"outgrew the policy's context, cut and judged: {counted(overflows, 'episode')}": overflows,
        f"cut at an invented observation: {counted(invented, 'action')}": invented,
    }
    return [words for words, count in lines.items() if count]


def fault_name(record: Record) -> str:
    """Why an episode is invalid: ``role:kind`` of its fault, or that the reward could not tell."""
    return f"{record.fault['role']}:{record.fault['kind']}" if record.fault else "reward:invalid"


def spending_json(summary: Summary, accounts: Mapping[str, Any]) -> JsonObject:
    """Model usage and the routes of tool results, as JSON; empty if no model was used.

    ``accounts`` is a snapshot of `simia_gym.llm.accounts.Accounts`.
    """
    if not accounts and not summary.routes:
        return {}
    out = {"models": dict(accounts), "routes": dict(sorted(summary.routes.items())), "rejected": summary.rejected}
    out |= {"read": dict(sorted(summary.read.items())), "unread": summary.unread}
    return {**out, "shadow": dict(summary.shadow)} if summary.shadow else out
