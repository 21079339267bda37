"""Other ids in every trajectory, so that a policy learns to copy them.

A domain has a few hundred products and customers. A policy that reads thousands of trajectories about them remembers
their ids, and writes down remembered ones when it meets others. Here each trajectory gets ids of its own: the same
everywhere in it, alike in length and in the kinds of their characters, and met nowhere else.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from random import Random

from simia_gym.types import Message

_MIXED = "(?=[{0}0-9]*[{0}])(?=[{0}0-9]*[0-9])[{0}0-9]{{6,}}"
_ALONE = "(?<![A-Za-z0-9])(?![A-Za-z]{{3}}){0}(?![A-Za-z0-9])"
_NUMBER = r"(?<![0-9])(?<![0-9][.,])(?<![$€£])(?!(?:19|20)[0-9]{2}(?![0-9]))[0-9]{4,}(?![0-9])(?![.,][0-9])"
_ID = re.compile("|".join([_ALONE.format(_MIXED.format("A-Z")), _ALONE.format(_MIXED.format("a-z")), _NUMBER]))
"""Ids of capital or small letters with digits, and numbers of four digits or more that are no year and no amount."""
_KEPT = 2
"""Characters at the beginning of an id of letters and digits that say what it is an id of."""


def with_fresh_ids(messages: Sequence[Message], random: Random) -> list[Message]:
    """Give the ids of a conversation other values.

    Args:
        messages: The conversation. Ids of its system messages stay: they are rules, not facts of a task.
        random: Where the values come from.

    Returns:
        The same conversation about other ids: two places that held the same id, in capital or small letters, hold the
        same one again, and two that held different ones hold different ones.
    """
    rules = "\n".join(str(message["content"]) for message in messages if message["role"] == "system")
    known = {found.group().upper(): found.group().upper() for found in _ID.finditer(rules)}
    taken = set(known.values())

    def other(found: re.Match[str]) -> str:
        text = found.group()
        key = text.upper()
        while key not in known:
            fresh = _alike(key, random)
            if fresh not in taken:
                known[key] = fresh
                taken.add(fresh)
        return known[key].lower() if text == text.lower() else known[key]

    return [
        message if message["role"] == "system" else {**message, "content": _ID.sub(other, str(message["content"]))}
        for message in messages
    ]


def _alike(text: str, random: Random) -> str:
    kept = 0 if text.isdigit() else _KEPT
    return text[:kept] + "".join(
        random.choice(string.digits if character.isdigit() else string.ascii_uppercase) for character in text[kept:]
    )
