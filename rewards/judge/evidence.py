"""Verifies a judge's evidence: each quote must occur verbatim in the record and come from a trusted source."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import chain

from simia_gym.record.finished_episode import Event
from simia_gym.rewards.finding import MOST_EVIDENCE, stands_in
from simia_gym.rewards.judge.judge_record import Side, texts_of
from simia_gym.types import Evidence

_ELLIPSIS = re.compile(r"\s*(?:\.\.\.+|…)$")
_MARKS = "[\"'`´‘’‚“”„«»]"
_PIECES = re.compile(r"\s+|[^\s]")

LEAST = 3
"""Minimum number of characters of a quote that counts as evidence."""


def complaint(events: Sequence[Event], piece: Evidence, trusted: Collection[Side]) -> str | None:
    """Explain why a piece of evidence is rejected; ``None`` if it is accepted.

    Only words from the ``trusted`` sources count as proof for the question.
    """
    sides = _sides(events, piece)
    if sides is None:
        return f"the record has no event {piece.event}"
    shown = f"the quote {piece.quote[:80]!r} of event {piece.event}"
    if len(piece.quote.strip()) < LEAST or not any(char.isalnum() for char in piece.quote):
        return f"{shown} is too short to show anything"
    if not sides:
        return f"{shown} does not stand there, to the letter"
    if sides >= {"called", "seen"} and "called" not in trusted:
        return f"{shown} is what the agent wrote in its call and the tool repeats, which proves nothing here"
    if not sides & set(trusted) and "heard" in sides:
        return f"{shown} is what the user said, which proves no goal"
    if not sides & set(trusted):
        return f"{shown} is the agent's own, which proves nothing here"
    return None


def real(events: Sequence[Event], pieces: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """The pieces whose quotes occur in the record, from any source; for verdicts that need no proof."""
    return tuple(piece for piece in pieces if _sides(events, piece))[:MOST_EVIDENCE]


def located(events: Sequence[Event], piece: Evidence) -> str | None:
    """The words of the record that a quote means which is not found to the letter; ``None`` if there are none.

    Spacing, the kind of quotation marks, case and a final ellipsis are no matter.
    """
    if not 0 <= piece.event < len(events) or stands_in(events[piece.event], piece.quote):
        return None
    quote = _ELLIPSIS.sub("", piece.quote.strip()).replace('\\"', '"')
    if len(quote) < LEAST or not any(char.isalnum() for char in quote):
        return None
    pattern = re.compile("".join(map(_alike, _PIECES.findall(quote))), re.IGNORECASE)
    for text in chain.from_iterable(texts_of(events[piece.event]).values()):
        if (match := pattern.search(text)) is not None and stands_in(events[piece.event], match.group()):
            return match.group()
    return None


def _alike(part: str) -> str:
    """A pattern for a part of a quote: spaces, a quotation mark, or anything else."""
    if part.isspace():
        return r"\s+"
    return _MARKS if re.fullmatch(_MARKS, part) else re.escape(part)


def _sides(events: Sequence[Event], piece: Evidence) -> set[Side] | None:
    """The sources of the quoted words; ``None`` if the record has no such event."""
    if not 0 <= piece.event < len(events):
        return None
    texts = texts_of(events[piece.event])
    if not any(texts.values()):
        return None
    if not stands_in(events[piece.event], piece.quote):
        return set()
    sides = {side for side, parts in texts.items() if any(piece.quote in part for part in parts)}
    # A tool may repeat what it was given in other letters or quotation marks; an error, what it refuses.
    given = texts["called"] if events[piece.event]["type"] != "invalid" else [_refused(events, piece.event)]
    words = _plain(piece.quote)
    if words and any(words in _plain(part) for part in given):
        sides.add("called")
    return sides


def _plain(text: str) -> str:
    """The letters and digits of a text, case-folded."""
    return "".join(char for char in text.casefold() if char.isalnum())


def _refused(events: Sequence[Event], index: int) -> str:
    """The text of the invalid action to which an error message responds."""
    for event in reversed(events[:index]):
        if event["type"] == "action":
            return str(event["text"])
    return ""
