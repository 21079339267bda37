"""The results of checks (`Finding`) and of grade functions (`Grade`), and the quotes that prove them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from simia_gym.common.json_encoding import encode, texts_in
from simia_gym.language import visible
from simia_gym.record.finished_episode import CallMade, Event, FinishedEpisode
from simia_gym.types import CriterionKind, CriterionResult, Evidence

PASS = 1.0 - 1e-9
"""Minimum value that counts as met; slightly below 1, because a sum of shares may be inexact."""

QUOTE_LENGTH = 240
MOST_EVIDENCE = 4


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Attributes:
        value: How far the criterion holds, 0 to 1; ``None`` if it cannot be judged, which makes the verdict invalid.
        reason: One sentence that explains the value.
        evidence: Quotes from the record that support the value.
    """

    value: float | None
    reason: str
    evidence: tuple[Evidence, ...] = ()

    @property
    def met(self) -> bool | None:
        """Whether the criterion holds in full; ``None`` if it cannot be judged."""
        return None if self.value is None else self.value >= PASS

    @classmethod
    def of(cls, holds: bool, reason: str, evidence: Iterable[Evidence] = ()) -> Finding:
        """A finding with value 1 or 0."""
        return cls(1.0 if holds else 0.0, reason, tuple(evidence)[:MOST_EVIDENCE])

    @classmethod
    def unknown(cls, reason: str) -> Finding:
        """A finding without a value: the criterion cannot be judged."""
        return cls(None, reason)

    def result(self, name: str, kind: CriterionKind, weight: float = 1.0, required: bool = True) -> CriterionResult:
        """The finding as the result of a criterion."""
        return CriterionResult(name, kind, weight, required, self.value, self.met, self.reason, self.evidence)


@dataclass(frozen=True, slots=True)
class Grade:
    """The result of a domain's grade function: the published reward of a domain that has a reward formula.

    Attributes:
        reward: The reward, 0 to 1.
        parts: The components of the published formula.
        criteria: The components as criterion results, for reports.
        reason: One sentence that explains the reward.
    """

    reward: float
    parts: Mapping[str, Any] = field(default_factory=dict)
    criteria: tuple[CriterionResult, ...] = ()
    reason: str = ""


GradeFunction: TypeAlias = Callable[[FinishedEpisode], Grade | Awaitable[Grade]]


def quote_text(event: int, text: str) -> Evidence:
    """Quote the start of a text of an event."""
    return Evidence(event, text[:QUOTE_LENGTH])


def quote_call(finished: FinishedEpisode, call: CallMade) -> Evidence:
    """Quote a tool call verbatim from the record."""
    text = encode(finished.events[call.event]["call"]).decode()
    return Evidence(call.event, text[:QUOTE_LENGTH])


def quote_change(finished: FinishedEpisode, pointer: str) -> tuple[Evidence, ...]:
    """Quote the last operation that changed the value at a pointer, a value inside it, or a value that contains it."""
    below = f"{pointer}/"
    for index, path in _paths(finished):
        if path == pointer or path.startswith(below) or pointer.startswith(f"{path}/"):
            return (Evidence(index, path),)
    return ()


def _paths(finished: FinishedEpisode) -> list[tuple[int, str]]:
    """The events and paths of all operations, the last event first; cached for all checks."""
    paths: list[tuple[int, str]] | None = finished.memo.get(_paths)
    if paths is None:
        changed = [(index, event["ops"]) for index, event in enumerate(finished.events) if event.get("ops")]
        paths = finished.memo[_paths] = [(index, op["path"]) for index, ops in reversed(changed) for op in ops]
    return paths


def stands_in(event: Event, quote: str) -> bool:
    """Whether a quote occurs verbatim in an event: in one of its texts, as a person sees it too, or in its JSON.

    An empty quote occurs nowhere.
    """
    if not quote:
        return False
    call = event.get("call")
    if call is not None and quote in encode(call).decode():  # fast path: most quotes are of calls
        return True
    for text in event.values():
        if isinstance(text, str) and quote in text:
            return True
    if quote in encode(event).decode():
        return True
    return any(quote in text or quote in visible(text).text for text in texts_in(event, keys=True))


def unfounded(finished: FinishedEpisode, evidence: Iterable[Evidence]) -> Evidence | None:
    """The first piece of evidence whose quote does not occur in its event; ``None`` if all occur."""
    for piece in evidence:
        if not 0 <= piece.event < len(finished.events) or not stands_in(finished.events[piece.event], piece.quote):
            return piece
    return None
