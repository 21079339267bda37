"""Replaces the ids in every trajectory, so that a policy learns to copy ids instead of memorising them.

A domain has a few hundred products and customers. A policy that is trained on thousands of trajectories memorises their
ids and writes memorised ids for unknown products. Here each trajectory gets ids of other trajectories, consistently and
with the same length and prefix.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence, Set
from random import Random

from simia_gym.rl.chat.trajectories import rewritten
from simia_gym.types import Message

_MIXED = "(?=[{0}0-9]*[{0}])(?=[{0}0-9]*[0-9])[{0}0-9]{{6,}}"
_ALONE = "(?<![A-Za-z0-9])(?![A-Za-z]{{3}}){0}(?![A-Za-z0-9])"
_NUMBER = r"(?<![0-9])(?<![0-9][.,])(?<![$€£])(?!(?:19|20)[0-9]{2}(?![0-9]))[0-9]{4,}(?![0-9])(?![.,][0-9])"
_ID = re.compile("|".join([_ALONE.format(_MIXED.format("A-Z")), _ALONE.format(_MIXED.format("a-z")), _NUMBER]))
"""Ids of capital or small letters with digits, and numbers of four digits or more that are no year and no amount."""
_TRIES = 20
_KEPT = 2
"""Length of the prefix of an alphanumeric id, which says what kind of id it is."""


class FreshIds:
    """Replaces ids of conversations by ids of other conversations."""

    def __init__(self, conversations: Iterable[Sequence[Message]], random: Random) -> None:
        self._random = random
        found: dict[tuple[str, int], dict[str, None]] = {}
        for messages in conversations:
            for message in messages:
                for match in _ID.finditer(str(message["content"])):
                    key = match.group().upper()
                    found.setdefault(_shape(key), {})[key] = None
        self._pools = {shape: list(ids) for shape, ids in found.items()}

    def of(self, messages: Sequence[Message]) -> list[Message]:
        """Replace the ids of a conversation, except those in its system messages.

        Equal ids stay equal, regardless of case, and different ids stay different.
        """
        rules = "\n".join(str(message["content"]) for message in messages if message["role"] == "system")
        known = {found.group().upper(): found.group().upper() for found in _ID.finditer(rules)}
        taken = set(known.values())

        def other(found: re.Match[str]) -> str:
            text = found.group()
            key = text.upper()
            if key not in known:
                known[key] = self._draw(key, taken)
                taken.add(known[key])
            return known[key].lower() if text == text.lower() else known[key]

        return rewritten(messages, lambda text: _ID.sub(other, text))

    def _draw(self, key: str, taken: Set[str]) -> str:
        """Another id of the same form from the pool; a random one if none in the pool is unused."""
        pool = self._pools.get(_shape(key), [])
        for _ in range(_TRIES if len(pool) > 1 else 0):
            fresh = self._random.choice(pool)
            if fresh not in taken:
                return fresh
        while True:
            fresh = _alike(key, self._random)
            if fresh not in taken:
                return fresh


def _shape(key: str) -> tuple[str, int]:
    """Prefix and length of an id; ids with the same shape may replace one another."""
    return ("" if key.isdigit() else key[:_KEPT], len(key))


def _alike(text: str, random: Random) -> str:
    kept = 0 if text.isdigit() else _KEPT
    return text[:kept] + "".join(
        random.choice(string.digits if character.isdigit() else string.ascii_uppercase) for character in text[kept:]
    )
