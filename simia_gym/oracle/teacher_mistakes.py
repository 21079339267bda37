"""The mistakes of poor teachers, put into a correct trajectory one at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from random import Random
from typing import Any, NamedTuple

import orjson

from simia_gym.common.json_encoding import encode
from simia_gym.trajectories.findings import Called, calls_of, text_of
from simia_gym.types import Message

_MONEY = re.compile(r"\$\d+\.\d\d|(?<=price\": )\d+\.\d+|(?<=price\":)\d+\.\d+")
_ID_KEY = re.compile(r"(?:^|_)(?:ids?|number)$")


class Spoiled(NamedTuple):
    """A trajectory with a mistake, and the mistake's kind."""

    messages: list[Message]
    kind: str


def spoil(messages: Sequence[Message], chance: Random, kinds: Sequence[str], readers: frozenset[str]) -> Spoiled | None:
    """Put one mistake into a trajectory, of the first of the kinds, in random order, that it admits.

    Args:
        messages: The trajectory.
        chance: Draws the mistake.
        kinds: The kinds to choose from, of `TEACHER_MISTAKES`.
        readers: Names of the tools that change nothing.

    Returns:
        The trajectory with its mistake; ``None`` if it admits none, or if the text itself is to be cut off.
    """
    for kind in chance.sample(list(kinds), len(kinds)):
        if kind == "cut_end":
            return None
        made = _WAYS[kind](deepcopy(list(messages)), chance, readers)
        if made is not None:
            return Spoiled(made, kind)
    return None


def cut(text: str, chance: Random) -> str:
    """A text without its end, as of a model that reached its limit."""
    return text[: chance.randrange(len(text) // 3, len(text) - len('{"end":true}') - 1)]


def _contradiction(messages: list[Message], chance: Random, readers: frozenset[str]) -> list[Message] | None:
    """A call is made again at once, and its answer has another value."""
    found = [call for call in calls_of(messages) if call.name in readers and _values(call.answer)]
    if not found:
        return None
    call = chance.choice(found)
    return _asked_again(messages, call, call.answered, _altered(call.answer, chance))


def _denied_write(messages: list[Message], chance: Random, readers: frozenset[str]) -> list[Message] | None:
    """A call that was answered before a change is made again after it, and answered as if nothing had changed."""
    calls = list(calls_of(messages))
    pairs = [
        (read, write)
        for write in calls
        if write.name not in readers and _values(write.answer)
        for read in calls
        if read.name in readers and read.answered < write.place and _same_row(read.answer, write.answer)
    ]
    if not pairs:
        return None
    read, write = chance.choice(pairs)
    return _asked_again(messages, read, write.answered, read.answer)


def _invented_id(messages: list[Message], chance: Random, readers: frozenset[str]) -> list[Message] | None:
    """A call has an id that nobody has said."""
    places = []
    for place, message in enumerate(messages):
        for number, call in enumerate(message.get("tool_calls") or ()):
            arguments = call["function"]["arguments"]
            ids = [key for key, value in arguments.items() if _ID_KEY.search(key) and isinstance(value, str)]
            places += [(place, number, key) for key in ids if sum(map(str.isdigit, arguments[key])) > 2]
    if not places:
        return None
    place, number, key = chance.choice(places)
    arguments = messages[place]["tool_calls"][number]["function"]["arguments"]
    arguments[key] = "".join(str(chance.randrange(10)) if char.isdigit() else char for char in arguments[key])
    return messages


def _missing_observation(messages: list[Message], chance: Random, readers: frozenset[str]) -> list[Message] | None:
    """An observation is left out."""
    places = [place for place, message in enumerate(messages) if message["role"] == "tool"]
    if not places:
        return None
    del messages[chance.choice(places)]
    return messages


def _wrong_total(messages: list[Message], chance: Random, readers: frozenset[str]) -> list[Message] | None:
    """The agent adds two amounts that it has seen, and is wrong."""
    seen: list[str] = []
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            seen += _MONEY.findall(text_of(message))
        elif message["role"] == "assistant" and not message.get("tool_calls") and len(seen) > 1:
            one, other = (float(item.strip("$")) for item in chance.sample(seen, 2))
            said = f"In total: ${one:.2f} + ${other:.2f} = ${one + other + chance.randrange(1, 40):.2f}."
            messages[place] = {**message, "content": f"{text_of(message)} {said}"}
            return messages
    return None


def _asked_again(messages: list[Message], call: Called, after: int, answer: str) -> list[Message]:
    """The trajectory in which a call is made again behind a message and answered."""
    again = {"id": f"{call.id}_again", "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    asked: list[Message] = [
        {"role": "assistant", "content": "", "tool_calls": [again]},
        {"role": "tool", "tool_call_id": again["id"], "content": answer},
    ]
    return [*messages[: after + 1], *asked, *messages[after + 1 :]]


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of the plain values of a JSON value, those under keys of ids left out."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not _ID_KEY.search(key):
                yield from _places(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _places(item, (*path, number))
    elif isinstance(value, str | int | float) and not isinstance(value, bool) and path:
        yield path


def _values(text: str) -> list[tuple[Any, ...]]:
    return [*_places(_json(text))] if text.startswith(("{", "[")) else []


def _altered(text: str, chance: Random) -> str:
    """An answer with one value changed."""
    value = _json(text)
    *path, last = chance.choice(_values(text))
    holder = value
    for key in path:
        holder = holder[key]
    old = holder[last]
    holder[last] = f"{old}x" if isinstance(old, str) else old + chance.randrange(1, 9)
    return encode(value).decode()


def _wrong_value(messages: list[Message], chance: Random, readers: frozenset[str]) -> list[Message] | None:
    """A value of an observation is another one than in the world."""
    found = [call for call in calls_of(messages) if _values(call.answer)]
    if not found:
        return None
    call = chance.choice(found)
    messages[call.answered] = {**messages[call.answered], "content": _altered(call.answer, chance)}
    return messages


def _same_row(read: str, write: str) -> bool:
    """Whether two answers show one row, with at least one other value."""
    one, other = _json(read), _json(write)
    if not isinstance(one, dict) or not isinstance(other, dict) or one == other:
        return False
    owns = [next((key for key in row if key.endswith("_id")), None) for row in (one, other)]
    return owns[0] is not None and owns[0] == owns[1] and one[owns[0]] == other[owns[0]]


_WAYS: Mapping[str, Callable[[list[Message], Random, frozenset[str]], list[Message] | None]] = {
    "contradiction": _contradiction,
    "denied_write": _denied_write,
    "invented_id": _invented_id,
    "missing_observation": _missing_observation,
    "wrong_total": _wrong_total,
    "wrong_value": _wrong_value,
}
