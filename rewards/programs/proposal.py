"""Whether a call was proposed: its arguments stand, in a natural form, in what the agent said before the user's yes."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from simia_gym.common.json_encoding import decode
from simia_gym.language import NUMBER_WORDS, Reading, Sentence, read, wanted
from simia_gym.record.finished_episode import CallMade, FinishedEpisode, UserTurn

_NAMES = ("name", "title", "brand", "last_four", "source", "price")
"""Fields by which people speak of the row that has them."""
_SHORT = 2
_DATE = re.compile(r"\d{4}-(\d\d)-(\d\d)")
_ENDINGS = {1: "st", 21: "st", 31: "st", 2: "nd", 22: "nd", 3: "rd", 23: "rd"}
_ORIGINAL = "original"


def unproposed(finished: FinishedEpisode, call: CallMade, yes: UserTurn, bound: Iterable[Iterable[str]]) -> str | None:
    """The first argument of a call that no proposal named.

    The proposal is what the agent has said since the last write before the yes, without what it refused or took back,
    from where it names the call's object up to where it names another one; the yes may add to it. The object is the
    first argument that is bound; it goes without saying if no call has concerned another one. An argument is named by
    its value (a small number or a date also in words), by the words for it in what tools have shown (the name of an
    item, the last digits of a card, the order that has the address), or as the original one. Zero goes without saying.

    Args:
        finished: The episode.
        call: The call.
        yes: The user's yes.
        bound: The arguments that must be named; of several in a group, one is enough.
    """
    groups = [[name for name in group if call.arguments.get(name) not in (None, "", [], 0)] for group in bound]
    groups = [group for group in groups if group]
    if not groups:
        return None
    first, own = groups[0][0], str(call.arguments[groups[0][0]])
    known = {str(one.arguments[first]) for one in finished.calls if first in one.arguments and one.event < call.event}
    proposal = _proposal(finished, own, known, yes)
    for group in groups[known == {own} :]:
        if not any(_named(call.arguments[name], proposal, finished) for name in group):
            return " or ".join(group)
    return None


def _proposal(finished: FinishedEpisode, own: str, known: set[str], yes: UserTurn) -> Reading:
    """What was said about an object, of some that are known."""
    written = max((one.event for one in finished.calls if one.ok and one.writes and one.event < yes.event), default=-1)
    kept: list[Sentence] = []
    inside = True
    for told in finished.agent_turns:
        if not written < told.event <= yes.event:
            continue
        for sentence in read(told.text).standing.sentences:
            here = Reading(sentence.said, (sentence,))
            if wanted(own.lstrip("#")).stands_in(here):
                inside = True
            elif any(wanted(other.lstrip("#")).stands_in(here) for other in known):
                inside = False
            if inside:
                kept.append(sentence)
    return Reading("", (*kept, *read(yes.text).sentences))


def _named(value: Any, proposal: Reading, finished: FinishedEpisode) -> bool:
    if isinstance(value, list):
        return all(_named(item, proposal, finished) for item in value)
    if isinstance(value, Mapping):
        return any(_named(item, proposal, finished) for item in value.values())
    if isinstance(value, bool):
        return True
    kind, _, number = str(value).rpartition("_")
    forms = [str(value).lstrip("#"), *([number, kind.replace("_", " ")] if kind and number.isdigit() else [])]
    if isinstance(value, int) and value in range(len(NUMBER_WORDS)):
        forms.append(NUMBER_WORDS[value])
    date = _DATE.fullmatch(str(value))
    if date is not None and 1 <= int(date[1]) <= 12:
        day = int(date[2])
        for month in (calendar.month_name[int(date[1])], calendar.month_abbr[int(date[1])]):
            forms += [f"{month} {day}", f"{month} {day}{_ENDINGS.get(day, 'th')}", f"{day} {month}"]
    if any(wanted(form).stands_in(proposal) for form in forms):
        return True
    return any(wanted(form).stands_in(proposal) for form in dict.fromkeys(_shown(finished, str(value))))


def _shown(finished: FinishedEpisode, value: str) -> Iterator[str]:
    """The words for a value in the answers of tools; an answer is read once, and only if the value stands in it."""
    for call in finished.calls:
        text = str(finished.events[call.event]["observation"])
        if value not in text:
            continue
        key = (_shown, call.event)
        if key not in finished.memo:
            try:
                result = decode(text)
            except ValueError:
                result = None
            finished.memo[key] = list(_words(result, ""))
        for name, words in finished.memo[key]:
            if name == value:
                yield from words


def _words(value: Any, key: str) -> Iterator[tuple[str, list[str]]]:
    """Pairs of a value and the words for it; ``key`` is where the present part of a result stands."""
    if isinstance(value, list):
        for item in value:
            yield from _words(item, key)
        if "history" in key and value and isinstance(value[0], Mapping):
            yield from ((item, [_ORIGINAL]) for item in value[0].values() if isinstance(item, str))
    elif isinstance(value, Mapping):
        ids = [str(item) for name, item in value.items() if name.endswith("id") and isinstance(item, str)]
        names = [str(value[name]).replace("_", " ") for name in _NAMES if isinstance(value.get(name), str | float)]
        options = value.get("options")
        names += map(str, options.values()) if isinstance(options, Mapping) else []
        names = [name for name in names if len(name) > _SHORT]
        yield from ((one, names) for one in (*ids, key))
        for name, item in value.items():
            yield from _words(item, name)
            if isinstance(item, Mapping):
                yield from ((part, ids) for part in item.values() if isinstance(part, str))
