"""Replaces what names people in a trace, the same value by the same everywhere in a conversation.

What a person is called is taken from where it stands under a key that says so (``first_name``, ``email``, ``phone``),
in calls and observations, and from "my name is ..."; addresses of mail, card and telephone numbers from their form.
Every place of such a value is replaced, also inside ids that are made from it. A name that only stands in running text
is not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson

from simia_gym.trajectories.findings import text_of
from simia_gym.types import Message

_FIRST = ("Robin", "Alex", "Sam", "Kim", "Jo", "Lee", "Max", "Sky", "Pat", "Noa")
_LAST = ("Arden", "Birch", "Calder", "Dale", "Elm", "Frost", "Grove", "Hale", "Isley", "Juniper")
_KEYS: Mapping[str, str] = {
    "first_name": "first", "firstname": "first", "given_name": "first",
    "last_name": "last", "lastname": "last", "family_name": "last", "surname": "last",
    "name": "", "full_name": "whole", "customer_name": "whole", "passenger_name": "whole",
    "email": "mail", "mail": "mail", "e_mail": "mail",
    "phone": "digits", "phone_number": "digits", "telephone": "digits", "mobile": "digits",
    "dob": "date", "date_of_birth": "date", "birthday": "date",
    "address1": "street", "address2": "street", "street": "street", "zip": "digits", "postal_code": "digits",
    "ssn": "digits", "passport": "digits", "passport_number": "digits",
}  # fmt: skip
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_NUMBER = re.compile(
    r"(?<![\w#-])(?:\+?\d{1,3}[ .-]?)?(?:\(\d{3}\)|\d{3})[ .-]\d{3}[ .-]\d{4}(?!\w)|(?<!\w)(?:\d{4}[ -]){3}\d{4}(?!\w)"
)
_SAID = re.compile(r"\b(?:[Mm]y name is|[Ii]'m|[Ii] am|[Tt]his is) ([A-Z][\w'-]+) ([A-Z][\w'-]+)")
_SHORT = 2


def redacted(messages: Sequence[Message]) -> tuple[list[Message], int]:
    """Replace what names people.

    Returns:
        The messages, and the number of values that were replaced.
    """
    found = dict.fromkeys(pair for message in messages for pair in _found(message))
    others: dict[str, str] = {}
    for value, kind in found:
        if value.lower() not in others:
            others[value.lower()] = _other(value, kind, len(others))
    if not others:
        return list(messages), 0
    pattern = re.compile(
        "|".join(rf"(?<![^\W_]){re.escape(value)}(?![^\W_])" for value in sorted(others, key=len, reverse=True)), re.I
    )

    def change(match: re.Match[str]) -> str:
        other = others[match.group().lower()]
        return other.lower() if match.group().islower() else other

    return [_changed(message, lambda text: pattern.sub(change, text)) for message in messages], len(others)


def _found(message: Message) -> Iterator[tuple[str, str]]:
    """The values that name people, with their kinds."""
    if message["role"] == "system":
        return
    text = text_of(message)
    for call in message.get("tool_calls") or ():
        yield from _under_keys(call["function"]["arguments"], "")
    if message["role"] == "tool" and text.lstrip().startswith(("{", "[")):
        with suppress(orjson.JSONDecodeError):
            yield from _under_keys(orjson.loads(text), "")
    yield from ((value, "mail") for value in _MAIL.findall(text))
    yield from ((value, "digits") for value in _NUMBER.findall(text))
    if message["role"] == "user":
        for first, last in _SAID.findall(text):
            yield first, "first"
            yield last, "last"


def _under_keys(value: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _under_keys(item, name.lower())
    elif isinstance(value, list):
        for item in value:
            yield from _under_keys(item, key)
    elif isinstance(value, str) and _KEYS.get(key) and len(value) > _SHORT:
        if _KEYS[key] == "whole":
            first, _, last = value.partition(" ")
            yield from ((first, "first"), (last, "last")) if last else ((first, "first"),)
        else:
            yield value, _KEYS[key]


def _other(value: str, kind: str, number: int) -> str:
    """The value that stands for another; ``number`` tells the values of a conversation apart."""
    if kind == "mail":
        return f"person{number + 1}@example.com"
    if kind in ("first", "last"):
        names = _FIRST if kind == "first" else _LAST
        return names[number % len(names)] + (str(number // len(names)) if number >= len(names) else "")
    if kind == "date":
        return f"19{50 + number % 50}-01-{1 + number % 28:02d}"
    if kind == "street":
        return f"{number + 1} Example Street"
    digits = iter(f"{(number + 1) * 7_919:012d}"[::-1] * (len(value) // 12 + 1))
    return "".join(next(digits) if char.isdigit() else char for char in value)


def _changed(message: Message, change: Any) -> Message:
    if message["role"] == "system":
        return message
    made = {**message, "content": change(text_of(message))} if message.get("content") is not None else {**message}
    if isinstance(made.get("reasoning_content"), str):
        made["reasoning_content"] = change(made["reasoning_content"])
    if message.get("tool_calls"):
        made["tool_calls"] = [
            {**call, "function": {**call["function"], "arguments": _in(call["function"]["arguments"], change)}}
            for call in message["tool_calls"]
        ]
    return made


def _in(arguments: Any, change: Any) -> Any:
    """Arguments with all their texts changed."""
    if isinstance(arguments, str):
        return change(arguments)
    if isinstance(arguments, list):
        return [_in(item, change) for item in arguments]
    if isinstance(arguments, Mapping):
        return {key: _in(item, change) for key, item in arguments.items()}
    return arguments
