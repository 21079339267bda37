"""The result of a comparison: figures with intervals, pairs of episodes, first divergences, flipped tasks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from simia_gym.common.frames import data_frame
from simia_gym.common.notebook import as_html, as_text
from simia_gym.types import JsonObject

if TYPE_CHECKING:
    import pandas

MARK = "simia compare"
VERSION = 1

Kind: TypeAlias = Literal[
    "action", "outcome", "error_code", "changes", "observation", "reply", "invalid", "fault", "end", "reward"
]
"""What differs first: what the policy does; a call's outcome, error code, changes of the state or observation; the
user's reply; the answer to an invalid action; a fault of one side; the end; the reward of episodes that are equal."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number.

    Attributes:
        value: The number; ``None`` if it is not applicable or undefined, which ``note`` then explains.
        interval: Its 95% interval over tasks; ``None`` without a value or with fewer than two tasks.
        n: How many calls, episodes or policies were compared.
        count: Of a share, how many of the ``n``; ``None`` of other numbers.
        tasks: Number of tasks.
        method: ``wilson``, ``bootstrap`` or ``none``.
        note: Why there is no value; empty if there is one.
    """

    value: float | None
    interval: tuple[float, float] | None
    n: int
    count: int | None
    tasks: int
    method: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference between two episodes.

    Attributes:
        turn: The turn, from 1; 0 for the opening.
        who: The tool that was called, ``user``, or empty.
        kind: What differs.
        left: It on the left side, in one line.
        right: It on the right side.
        left_event: Index of the event of the left record; -1 if it has ended.
        right_event: Index of the event of the right record; -1 if it has ended.
    """

    turn: int
    who: str
    kind: Kind
    left: str
    right: str
    left_event: int
    right_event: int


@dataclass(frozen=True, slots=True)
class Played:
    """One episode of a pair.

    Attributes:
        line: Line number in its file, from 1.
        valid: Whether it has a reward.
        reward: The reward; ``None`` if it is invalid.
        success: Whether it met all that success requires.
        turns: Number of actions of the policy.
        tokens: Tokens of the models of simulator, user and judge; ``None`` if no model was asked.
        cost: What these tokens cost in USD; ``None`` if no model was asked, or the prices of one that was asked are not
            given. Tokens from a server's cache are counted as others, because records do not tell them.
        repaired: Number of replies of the simulator's model that were rejected and asked again.
    """

    line: int
    valid: bool
    reward: float | None
    success: bool
    turns: int
    tokens: int | None
    cost: float | None
    repaired: int


@dataclass(frozen=True, slots=True)
class Pair:
    """The same task, played by the same policy on both sides.

    Calls and replies are compared as long as the policy does the same on both sides.

    Attributes:
        policy: The policy.
        task: Id of the task.
        kind: Kind of the task.
        member: Number of the episode among those of the task.
        left: The episode on the left side.
        right: The episode on the right side.
        calls: Number of tool calls that both sides answered.
        observation: How many of them have the same observation, as canonical JSON.
        outcome: How many have the same outcome: success or error.
        error_code: How many have the same error code, or none on both sides.
        stateful: For how many of them both sides say what they change.
        changes: How many of these change the same values to the same values.
        missed: How many lack a change that the left side makes.
        spurious: How many make a change that the left side does not make.
        wrong: How many change a value to another value than the left side.
        replies: Number of messages that both users answered.
        same_replies: How many of these replies are the same.
        final_state: Whether the whole state is the same at the end, but for private tables; ``None`` if a side keeps
            none.
        divergence: The first difference; ``None`` if there is none.
    """

    policy: str
    task: str
    kind: str
    member: int
    left: Played
    right: Played
    calls: int
    observation: int
    outcome: int
    error_code: int
    stateful: int
    changes: int
    missed: int
    spurious: int
    wrong: int
    replies: int
    same_replies: int
    final_state: bool | None
    divergence: Divergence | None

    @property
    def scored(self) -> bool:
        """Whether both episodes have a reward."""
        return self.left.valid and self.right.valid


@dataclass(frozen=True, slots=True)
class Flip:
    """A task that a policy solves on one side and not on the other.

    Attributes:
        policy: The policy.
        task: Id of the task.
        left: Share of its episodes that succeed on the left side.
        right: Share of its episodes that succeed on the right side.
    """

    policy: str
    task: str
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class PolicyScore:
    """A policy's mean reward on both sides, over the same episodes.

    Attributes:
        policy: The policy.
        left: On the left side.
        right: On the right side.
        difference: Right minus left.
    """

    policy: str
    left: Figure
    right: Figure
    difference: Figure


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison.

    Attributes:
        label: Its name.
        sources: The record files.
        episodes: Number of its episodes, those included that the other side does not have.
        unpaired: Number of its episodes that the other side does not have.
        invalid: Number of the paired episodes without a reward.
    """

    label: str
    sources: tuple[str, ...]
    episodes: int
    unpaired: int
    invalid: int


@dataclass(frozen=True)
class Comparison:
    """The same tasks on two sides. ``print`` shows it as tables; `to_json` and `to_pandas` convert it.

    The left side is the reference: a missed write is one that only the left side makes, a false positive an episode
    that succeeds only on the right side, and differences are right minus left.

    Attributes:
        env: The environment.
        domain_hash: The version of the domain.
        left: The left side.
        right: The right side.
        compared: The settings that differ, with the values of both sides.
        figures: The figures by name.
        tools: Agreement of observations by tool.
        policies: The mean rewards of each policy.
        flips: The tasks that flipped.
        pairs: The compared pairs.
        seed: Random seed of the bootstrap.
        resamples: Number of resamples of the bootstrap.
        mode: ``closed-loop``; or ``open-loop`` or ``drift`` if the actions of the left side were forced on the right.
        steps: Agreement of observations by the number of the call in its episode; the last also counts later calls.
        warnings: What the reader should know.
    """

    env: str
    domain_hash: str
    left: Side
    right: Side
    compared: Mapping[str, tuple[Any, Any]]
    figures: Mapping[str, Figure]
    tools: Mapping[str, Figure]
    policies: tuple[PolicyScore, ...]
    flips: tuple[Flip, ...]
    pairs: tuple[Pair, ...]
    seed: int
    resamples: int
    mode: str = "closed-loop"
    steps: Mapping[int, Figure] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def divergences(self) -> Mapping[tuple[Kind, str], int]:
        """Number of pairs by kind of the first divergence and who it concerns; the most frequent first."""
        found: dict[tuple[Kind, str], int] = {}
        for pair in self.pairs:
            if (first := pair.divergence) is not None:
                found[first.kind, first.who] = found.get((first.kind, first.who), 0) + 1
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def short_of(self, *, min_agreement: float | None = None, max_flips: int | None = None) -> list[str]:
        """Why the comparison does not pass a gate, one line each; empty if it passes.

        Args:
            min_agreement: The least agreement of observations and of rewards, from 0 to 1. A figure that is not
                applicable asks nothing; if neither is applicable, the gate is not passed.
            max_flips: The most tasks that may flip.
        """
        found = []
        if min_agreement is not None:
            asked = [(name, one) for name in ("observation", "reward") if (one := self.figures[name]).value is not None]
            found += [
                f"the agreement of {name}s is {one.value:.4f}, less than {min_agreement}"
                for name, one in asked
                if cast(float, one.value) < min_agreement
            ]
            if not asked:
                found.append("there is no agreement of observations or rewards to look at")
        if max_flips is not None and len(self.flips) > max_flips:
            found.append(f"{len(self.flips)} tasks flipped, more than {max_flips}")
        return found

    def to_json(self, *, pairs: bool = True) -> JsonObject:
        """The comparison as plain JSON values, as ``simia compare --json`` prints it.

        Args:
            pairs: Whether to include every pair.
        """
        out: JsonObject = {"made_by": MARK, "v": VERSION, "confidence": 0.95}
        out["bootstrap"] = {"seed": self.seed, "resamples": self.resamples}
        out |= {name: getattr(self, name) for name in ("env", "domain_hash", "mode")}
        out |= {"left": _plain(self.left), "right": _plain(self.right)}
        out["compared"] = {name: list(values) for name, values in self.compared.items()}
        for name in ("figures", "tools", "steps"):
            out[name] = {str(key): _plain(one) for key, one in getattr(self, name).items()}
        out |= {name: [_plain(one) for one in getattr(self, name)] for name in ("policies", "flips")}
        out["divergences"] = [
            {"kind": kind, "who": who, "pairs": count} for (kind, who), count in self.divergences.items()
        ]
        out["warnings"] = list(self.warnings)
        return out | ({"pairs": [_plain(one) for one in self.pairs]} if pairs else {})

    def to_pandas(self) -> pandas.DataFrame:
        """The pairs as a table, one row each; columns of a side begin with ``left_`` or ``right_``.

        Raises:
            InputError: pandas is not installed.
        """
        return data_frame((dict(_flat(pair)) for pair in self.pairs), "to_json()")

    def __str__(self) -> str:
        """The comparison as plain-text tables."""
        from simia_gym.evaluation.comparing.tables import comparison_parts

        return as_text(comparison_parts(self))

    def _repr_html_(self) -> str:
        """The comparison in a notebook."""
        from simia_gym.evaluation.comparing.tables import comparison_parts

        return as_html(comparison_parts(self))

    def __repr__(self) -> str:
        """A short description; a comparison may hold thousands of pairs."""
        return f"<Comparison of {self.env}: {self.left.label} and {self.right.label}, {len(self.pairs)} pairs>"


def _plain(value: Any) -> Any:
    """A dataclass as a dictionary, in the order of its fields, with lists for tuples."""
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _flat(pair: Pair) -> Iterator[tuple[str, Any]]:
    """The columns of a pair."""
    for column in dataclasses.fields(pair):
        value = getattr(pair, column.name)
        if isinstance(value, Played):
            yield from ((f"{column.name}_{each.name}", getattr(value, each.name)) for each in dataclasses.fields(value))
        elif column.name == "divergence":
            for each in dataclasses.fields(Divergence):
                yield f"divergence_{each.name}", None if value is None else getattr(value, each.name)
        else:
            yield column.name, value
