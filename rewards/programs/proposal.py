"""Whether a call was proposed: its arguments stand, in a natural form, in what the agent said before the user's yes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from simia_gym.common.json_encoding import decode, texts_in
from simia_gym.common.text_cache import cached_by_text
from simia_gym.language import Reading, asks_beside, forms, offers, read, wanted
from simia_gym.record.finished_episode import CallMade, FinishedEpisode, UserTurn

_SHORT = 2
_DIGITS = range(4, 16)
"""Lengths of values of digits alone that are compared with others of that length, such as zip codes."""
_NUMERAL = re.compile(r"(?<![\w#$.,:/-])\d+(?![\w%]|[.,:/-]\d)")
_ORIGINAL = "original"


class Spoken(NamedTuple):
    """How people speak of what tools show.

    Attributes:
        fields: The fields by which they speak of the row that has them.
        original: The list whose first row holds what they call original.
    """

    fields: tuple[str, ...] = ()
    original: str | None = None


class _Shown(NamedTuple):
    """A value in an answer of a tool.

    Attributes:
        value: The value.
        words: The words for it; one is enough.
        place: Where it stands: its rivals stand in the same place.
        parts: The words for each row that the row with this value consists of.
    """

    value: str
    words: Sequence[str] = ()
    place: str = ""
    parts: Sequence[Sequence[str]] = ()


def unproposed(
    finished: FinishedEpisode, call: CallMade, yes: UserTurn, bound: Iterable[Iterable[str]], spoken: Spoken
) -> str | None:
    """What is wrong with the proposal of a call: the first argument that it did not name, or left open.

    The proposal is what the agent has said since the last write before the yes, without what it refused or took back,
    from where it names the call's object up to where it names another one; the yes may add to it. The object is the
    first argument that is bound; it goes without saying if no call has concerned another one. An argument is named by
    its value (a small number or a date also in words), by the words for it in what tools have shown (the name of an
    item, the last digits of a card, the order that has the address), as the original one, or by all that it consists of
    (the flights of a reservation) if nothing else that was shown consists of that. Zero goes without saying.

    An argument is left open if the last message that names it puts another value in its place, one that a tool has
    shown beside it or an id that looks like it, and the user has not said since which one it is. A user that reports
    its acts asks about that itself, and reports no yes.

    Args:
        finished: The episode.
        call: The call.
        yes: The user's yes.
        bound: The arguments that must be named; of several in a group, one is enough.
        spoken: How people speak of what tools show.
    """
    groups = [[name for name in group if call.arguments.get(name) not in (None, "", [], 0)] for group in bound]
    groups = [group for group in groups if group]
    if not groups:
        return None
    first, own = groups[0][0], str(call.arguments[groups[0][0]])
    known = {str(one.arguments[first]) for one in finished.calls if first in one.arguments and one.event < call.event}
    told = dict(_told(finished, own, known, yes))
    proposal = [part for parts in (*told.values(), [read(yes.text)]) for part in parts]
    search = _Search(finished, spoken, yes)
    for group in groups[known == {own} :]:
        if not any(search.names(call.arguments[name], proposal) for name in group):
            return f"no proposal had named its {' or '.join(group)} before the yes"
    for name in (name for group in groups for name in group if yes.acts is None):
        if search.open(call.arguments[name], told):
            return f"the proposal before the yes left its {name} open"
    return None


def strays(message: Reading, call: CallMade) -> str | None:
    """What else a message asks a yes for than a call: a question for a deed of which the message says nothing besides.

    Args:
        message: The message.
        call: The call that is made upon the yes.
    """
    known = " ".join([call.name.replace("_", " "), *texts_in(call.arguments)]).lower()
    for one in message.sentences:
        others = " ".join(other.plain for other in message.sentences if other is not one)
        if one.question and offers(one) and asks_beside(one, f"{known} {others}"):
            return f"the question before the yes asks about something else: {one.said!r}"
    return None


def unheard_of(
    finished: FinishedEpisode, message: Reading, call: CallMade, yes: UserTurn, bound: Iterable[str]
) -> str | None:
    """What is wrong with the values of digits in the message before a yes, such as zip codes.

    Such a value is wrong if it is as long as one of the call and neither a tool nor the user has named it.

    Args:
        finished: The episode.
        message: What of the message stands.
        call: The call.
        yes: The user's yes.
        bound: The arguments of the call whose values are looked at.
    """
    texts = texts_in([call.arguments.get(name) for name in bound])
    lengths = {len(text) for text in texts if text.isdigit() and len(text) in _DIGITS}
    if not lengths:
        return None
    stated = {text for one in message.sentences for text in _NUMERAL.findall(one.plain) if len(text) in lengths}
    given = " ".join(texts_in(call.arguments))
    heard = [
        str(event.get(key))
        for event in finished.events[: yes.event + 1]
        if event["type"] in ("message", "transition")
        for key in ("observation", "text")
    ]
    wrong = next((one for one in sorted(stated) if not any(one in text for text in [given, *heard])), None)
    return None if wrong is None else f"the proposal before the yes names {wrong}, which nothing shows"


def _told(
    finished: FinishedEpisode, own: str, known: set[str], yes: UserTurn
) -> Iterator[tuple[int, Sequence[Reading]]]:
    """What each message said about an object, of some that are known, with its event."""
    written = max((one.event for one in finished.calls if one.ok and one.writes and one.event < yes.event), default=-1)
    mine, others = wanted(own.lstrip("#")), [wanted(other.lstrip("#")) for other in known - {own}]
    inside = True
    for told in finished.agent_turns:
        if not written < told.event <= yes.event:
            continue
        said = read(told.text).standing
        kept: list[Reading] = []
        for part in said.parts if not inside or any(other.stands_in(said) for other in others) else [said]:
            if mine.stands_in(part):
                inside = True
            elif any(other.stands_in(part) for other in others):
                inside = False
            if inside:
                kept.append(part)
        if kept:
            yield told.event, kept


class _Search:
    """Looks for the arguments of a call in messages, by the words for them.

    Args:
        finished: The episode.
        spoken: How people speak of what tools show.
        yes: The user's yes.
    """

    def __init__(self, finished: FinishedEpisode, spoken: Spoken, yes: UserTurn) -> None:
        self._finished, self._spoken, self._yes = finished, spoken, yes

    @cached_property
    def _chosen(self) -> set[str]:
        """The texts among the arguments of the calls after the yes, which are no rivals of each other."""
        finished, yes = self._finished, self._yes.event
        then = next((turn.event for turn in finished.user_turns if turn.event > yes), len(finished.events))
        made = [one.arguments for one in finished.calls if one.writes and yes < one.event < then]
        return {text for each in made for text in texts_in(each)}

    def names(self, value: Any, texts: Sequence[Reading]) -> bool:
        """Whether one of several texts names an argument."""
        if isinstance(value, list):
            return all(self.names(item, texts) for item in value)
        if isinstance(value, Mapping):
            return any(self.names(item, texts) for item in value.values())
        if isinstance(value, bool):
            return True
        return _stand(forms(value), texts) or _stand(self._words(str(value)), texts) or self._whole(str(value), texts)

    def open(self, value: Any, told: dict[int, Sequence[Reading]]) -> bool:
        """Whether the last message that names an argument, or an item of it, leaves open which value holds."""
        if isinstance(value, list):
            return any(self._open(item, told, listed=True) for item in value if isinstance(item, str))
        return isinstance(value, str) and self._open(value, told, listed=False)

    def _open(self, value: str, told: dict[int, Sequence[Reading]], *, listed: bool) -> bool:
        event = next((event for event in reversed(told) if self.names(value, told[event])), None)
        if event is None:
            return False
        message = Reading("", tuple(one for part in told[event] for one in part.sentences))
        if not message.places:
            return False
        rivals = self._rivals(value, listed=listed)
        an_id = not listed and not value.isdigit() and " " not in value

        def named(text: Reading) -> tuple[bool, bool]:
            other = an_id and wanted(value.lstrip("#")).competitors(text) > 0
            return self.names(value, [text]), other or _stand(rivals, [text])

        since = [turn for turn in self._finished.user_turns if event <= turn.event <= self._yes.event]
        return message.leaves_open(named) and not any(self.names(value, [read(turn.text)]) for turn in since)

    def _words(self, value: str) -> Iterator[str]:
        """The words for a value in the answers of tools."""
        found = (shown.words for answer in self._shown(value) for shown in answer if shown.value == value)
        return iter(dict.fromkeys(word for words in found for word in words))

    def _whole(self, value: str, texts: Sequence[Reading]) -> bool:
        """Whether all that the row of a value consists of is named, and no other row consists of the same."""
        parts = next(
            (one.parts for answer in self._shown(value) for one in answer if one.value == value and one.parts), ()
        )
        if not parts or not all(_stand(words, texts) for words in parts):
            return False
        answers = (
            _answer(str(self._finished.events[call.event]["observation"]), self._spoken)
            for call in self._finished.calls
        )
        return {one.value for answer in answers for one in answer if one.parts == parts} == {value}

    def _rivals(self, value: str, *, listed: bool) -> set[str]:
        """The words for what tools have shown in the place of a value; of a list, not what stands in other rows."""
        found: set[str] = set()
        for answer in self._shown(value):
            at = {one.place for one in answer if one.value == value and one.place}
            if listed and any(place.endswith("]") for place in at):
                continue
            others = {one.value for one in answer if one.place in at} - self._chosen
            found.update(word for one in answer if one.value in others for word in (*forms(one.value), *one.words))
        return found

    def _shown(self, value: str) -> Iterator[Sequence[_Shown]]:
        """What the answers of tools show; only those are read in which the value stands."""
        for call in self._finished.calls:
            text = str(self._finished.events[call.event]["observation"])
            if value in text:
                yield _answer(text, self._spoken)


# Without the cache, an episode of a task that was played before takes 5% more instructions.
@cached_by_text
def _answer(text: str, spoken: Spoken) -> Sequence[_Shown]:
    """What an answer of a tool shows; the episodes of a task have most of them in common."""
    try:
        return tuple(_read(decode(text), "", "", spoken))
    except (ValueError, RecursionError):
        return ()


def _stand(phrases: Iterable[str], texts: Sequence[Reading]) -> bool:
    return any(want.stands_in(text) for want in map(wanted, phrases) for text in texts)


def _read(value: Any, key: str, place: str, spoken: Spoken) -> Iterator[_Shown]:
    """What a part of an answer shows; ``key`` is where it stands in the part around it, ``place`` where that stands."""
    inside = f"{place}/{key}"
    if isinstance(value, list):
        for item in value:
            yield from _read(item, "", f"{inside}[]", spoken)
            if isinstance(item, str):
                yield _Shown(item, (), inside)
        if spoken.original == key and value and isinstance(value[0], Mapping):
            yield from (_Shown(item, (_ORIGINAL,)) for item in value[0].values() if isinstance(item, str))
    elif isinstance(value, Mapping):
        ids = {name: item for name, item in value.items() if name.endswith("id") and isinstance(item, str)}
        words = _words(value, spoken)
        parts = _parts(value, spoken)
        for name, item in ids.items():
            yield _Shown(item, words, f"{place}.{name}]" if place.endswith("[]") else "", parts)
            parts = []  # the first id is the row's own
        if key:
            yield _Shown(key, words, place)
        for name, item in value.items():
            yield from _read(item, name, inside, spoken)
            if isinstance(item, Mapping):
                yield from (_Shown(part, list(ids.values())) for part in item.values() if isinstance(part, str))


def _words(row: Mapping[str, Any], spoken: Spoken) -> list[str]:
    """The words by which people speak of a row."""
    words: list[str] = []
    for name in spoken.fields:
        word = row.get(name)
        several = word.values() if isinstance(word, Mapping) else [word]
        words += [str(one).replace("_", " ") for one in several if isinstance(one, str | float)]
    return [word for word in words if len(word) > _SHORT]


def _parts(row: Mapping[str, Any], spoken: Spoken) -> list[list[str]]:
    """The words for each row of the first list in a row of which every row has words, and no id of its own."""
    for rows in row.values():
        if isinstance(rows, list) and rows and all(isinstance(one, Mapping) for one in rows):
            parts = [_words(one, spoken) for one in rows if not any(name.endswith("id") for name in one)]
            if len(parts) == len(rows) and all(parts):
                return parts
    return []
