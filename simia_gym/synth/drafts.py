"""Drafts: what was written or played for one attempt, before any check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from simia_gym.synth.seeds import Seed
from simia_gym.types import JsonObject

DRAFTS = "drafts.jsonl"


@dataclass(frozen=True)
class Attempt:
    """One attempt at a trajectory.

    Attributes:
        id: Stable: from kind and number.
        order: Its place among all attempts; checks that compare trajectories go in this order.
        kind: The kind of task that is wanted; empty if seeds have no kinds.
        number: Its number among the attempts of the kind, from 0.
    """

    id: str
    order: int
    kind: str
    number: int


@dataclass(frozen=True)
class Draft:
    """What became of an attempt.

    Attributes:
        id: That of the attempt.
        order: That of the attempt.
        kind: Kind of the task.
        way: ``single`` or ``played``.
        text: What a teacher wrote; empty if it was played.
        messages: What was played; empty if a teacher wrote it.
        seed: The id of its seed; empty if it was played.
        facts: Task, seed of the episode, reward and verdict of one that was played.
        model: Who wrote it.
        usage: Tokens of prompt and reply.
        vary: What the teacher was asked to vary.
        fault: Why there is nothing; empty if there is.
    """

    id: str
    order: int
    kind: str
    way: str
    text: str = ""
    messages: Sequence[JsonObject] = ()
    seed: str = ""
    facts: JsonObject = field(default_factory=dict)
    model: str = ""
    usage: JsonObject = field(default_factory=dict)
    vary: JsonObject = field(default_factory=dict)
    fault: str = ""

    def to_json(self) -> JsonObject:
        """As a line of `DRAFTS`."""
        return {name: value for name, value in vars(self).items() if value not in ("", (), {})} | {
            "order": self.order,
            "kind": self.kind,
        }

    @classmethod
    def from_json(cls, data: JsonObject) -> Draft:
        """Read a line of `DRAFTS`."""
        return cls(**data)


def seeds_of(seeds: Sequence[Seed], kind: str) -> list[Seed]:
    """The seeds of a kind; all of them if none is of it."""
    return [seed for seed in seeds if seed.kind == kind] or list(seeds)
