"""Seeds: traces that people have, read in their formats, checked, and kept with what was wrong with the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from simia_gym.common.json_encoding import encode, hash_of
from simia_gym.conversations import Conversation, Unreadable, read_conversations
from simia_gym.synth.domains import Subject
from simia_gym.trajectories.duplicates import Duplicates
from simia_gym.trajectories.examine import examine
from simia_gym.trajectories.findings import Finding
from simia_gym.trajectories.redaction import redacted
from simia_gym.types import JsonObject, Message

SEEDS, SEEDS_DROPPED = "seeds.jsonl", "seeds_dropped.jsonl"


@dataclass(frozen=True)
class Seed:
    """A trace that trajectories are made from.

    Attributes:
        id: From its content; equal for equal traces, whatever file they stand in.
        messages: In OpenAI's layout, without a system message, arguments decoded.
        kind: Kind of its task; empty if that is not known.
        source: File and line.
        licence: Licence of its source; empty if that is not known.
        redacted: Number of values that were replaced.
    """

    id: str
    messages: tuple[Message, ...]
    kind: str = ""
    source: str = ""
    licence: str = ""
    redacted: int = 0

    def to_json(self) -> JsonObject:
        """As a line of `SEEDS`."""
        return {
            "id": self.id,
            "kind": self.kind,
            "source": self.source,
            "licence": self.licence,
            "redacted": self.redacted,
            "messages": list(self.messages),
        }

    @classmethod
    def from_json(cls, data: JsonObject) -> Seed:
        """Read a line of `SEEDS`."""
        return cls(**{**data, "messages": tuple(data["messages"])})


@dataclass(frozen=True)
class DroppedSeed:
    """A trace that is no seed: where it stands, and why."""

    where: str
    findings: tuple[Finding, ...]

    def to_json(self) -> JsonObject:
        """As a line of `SEEDS_DROPPED`."""
        return {"where": self.where, "findings": [finding.to_json() for finding in self.findings]}


def read_seeds(
    paths: Iterable[Path],
    subject: Subject,
    *,
    format: str | None = None,
    licence: str = "",
    redact: bool = False,
    least: float = 1.0,
) -> Iterator[Seed | DroppedSeed]:
    """Read traces and check them by programs.

    Args:
        paths: Files in any format of `simia_gym.conversations`.
        subject: What they are about; its tools decide about calls.
        format: The format of the files; by default what fits their content.
        licence: Licence of traces that name none.
        redact: Whether names, addresses and numbers of people are replaced.
        least: Least reward of a trace that has one.

    Yields:
        Each trace, as a seed or with the reasons why it is none.

    Raises:
        InputError: A file cannot be read at all.
    """
    known = Duplicates()
    for path in paths:
        for found in read_conversations(path, format):
            if isinstance(found, Unreadable):
                yield DroppedSeed(found.where, (Finding("unreadable", 0, found.why),))
                continue
            yield _checked(found, subject, known, licence, redact, least)


def _checked(
    found: Conversation, subject: Subject, known: Duplicates, licence: str, redact: bool, least: float
) -> Seed | DroppedSeed:
    messages, count = subject.with_calls(_without_greeting(found.messages)), 0
    if redact:
        messages, count = redacted(messages)
    problems = examine(messages, subject.tools)
    if found.valid is False:
        problems.insert(0, Finding("no_reward", 0, "a fault ended its episode"))
    elif found.reward is not None and found.reward < least:
        problems.insert(0, Finding("low_reward", 0, f"its reward is {found.reward:g}"))
    name = hash_of(encode(messages))[:12]
    twin = None if problems else known.find(name, messages)
    if twin is not None:
        problems = [Finding(twin[0], 0, f"it is the same as seed {twin[1]}")]
    if problems:
        return DroppedSeed(found.where or found.source, tuple(problems))
    return Seed(name, tuple(messages), found.kind, found.source, found.licence or licence, count)


def _without_greeting(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages without an agent's greeting before the first word of the user."""
    greets = bool(messages) and messages[0]["role"] == "assistant" and not messages[0].get("tool_calls")
    return messages[1:] if greets else messages
