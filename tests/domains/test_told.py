"""What a model that plays the customer is told: all that it may need to say, and nothing that it never says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from simia_gym.users.scripted_script import Answer, Request, script_from_json
from simia_gym.users.told import told

from .table import World

_LINE = "\u2028"
_CHANGES: list[dict[str, Any]] = [{"withdraw": True}, {"slots": {"slot": {"say": [_LINE]}}}, {}, {}, {}]
NAMED: dict[str, Any] = {"any": ["any"], "avoid": ["avoid"]}
EVERY = told(
    {
        "type": "scripted",
        "persona": _LINE,
        "opening": [_LINE],
        "vague": True,
        "facts": {"fact": {"say": [_LINE]}},
        "requests": [
            {
                "say": [_LINE],
                "slots": {"slot": {"say": [_LINE]}},
                "expect": [{"slot": "slot", **NAMED}],
                "insist": number,
                "insist_say": [_LINE],
                "accept": [_LINE],
                "confirm": [_LINE],
                "change": {"say": [_LINE], **change},
                "otherwise": bool(number),
            }
            for number, change in enumerate(_CHANGES)
        ],
        "close": [_LINE],
    },
    "every",
)
"""All that `told` can say of itself."""


def words(text: str) -> set[str]:
    return set(re.findall(r"[^\s,.:;!?]+", text))


def first(lines: Mapping[str, Answer]) -> Iterator[str]:
    """What is said of details, and their names."""
    return chain.from_iterable((name.replace("_", " "), *answer.say[:1]) for name, answer in lines.items())


def said_of(request: Request) -> Iterator[str]:
    for lines in (request.say, request.insist_say if request.insist else (), request.accept, request.confirm):
        yield from lines[:1]
    yield from first(request.slots)
    if request.change is not None:
        yield from request.change.say[:1]
        yield from first(request.change.slots)


def test_a_customer_is_told_what_it_can_say_and_nothing_else(talking: World) -> None:
    own = words(str(EVERY))
    for task in talking.tasks(100):
        assert task.user is not None
        text, script = told(task.user, task.id), script_from_json(task.user, task.id)
        assert isinstance(text, str)
        lines = [*script.opening[:1], *script.close[:1], *first(script.facts), script.persona]
        lines += [line for request in script.requests for line in said_of(request)]
        assert not words(text) - own - words(" ".join(lines)), task.id
        assert not [line for line in lines if line not in text], task.id
        assert len(text) < 2_500, task.id
