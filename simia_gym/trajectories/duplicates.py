"""Finds trajectories that were there before: the same to the letter, or nearly so by MinHash."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simia_gym.common.json_encoding import encode, hash_of
from simia_gym.errors import InputError
from simia_gym.trajectories.findings import text_of
from simia_gym.types import Message

if TYPE_CHECKING:
    from datasketch import MinHashLSH

_WORD = re.compile(r"\w+")
_SHINGLE = 4
_PERMUTATIONS = 64


class Duplicates:
    """Remembers trajectories and finds those that came before, exactly or nearly.

    Args:
        near: Share of common word sequences above which two trajectories count as one, 0 to 1; ``None`` compares only
            to the letter, which needs no library.

    Raises:
        InputError: ``near`` is given and datasketch is not installed.
    """

    def __init__(self, near: float | None = None) -> None:
        self._exact: dict[str, str] = {}
        self._near = None if near is None else _index(near)

    def find(self, name: str, messages: Sequence[Message]) -> tuple[str, str] | None:
        """Look a trajectory up, and remember it if it is new.

        Args:
            name: Its id.
            messages: Its messages; system messages do not count.

        Returns:
            ``duplicate`` or ``near_duplicate``, and the id of the other one; ``None`` if there is none.
        """
        key = hash_of(encode([_bare(message) for message in messages if message["role"] != "system"]))
        if key in self._exact:
            return "duplicate", self._exact[key]
        if self._near is not None:
            sketch = _sketch(messages)
            found = self._near.query(sketch)
            if found:
                return "near_duplicate", min(map(str, found))
            self._near.insert(name, sketch)
        self._exact[key] = name
        return None


def _bare(message: Message) -> Any:
    calls = [[call["function"]["name"], call["function"]["arguments"]] for call in message.get("tool_calls") or ()]
    return [message["role"], text_of(message), calls]


def _index(near: float) -> MinHashLSH:
    if not 0 < near <= 1:
        raise InputError(f"near is {near}", where="near", fix="Give a share above 0 and at most 1, such as 0.8.")
    try:
        from datasketch import MinHashLSH
    except ImportError:
        fix = "pip install 'simia-gym[synth]' (or: pip install datasketch), or give --near 0."
        raise InputError("near duplicates need datasketch", where="near", fix=fix) from None
    return MinHashLSH(threshold=near, num_perm=_PERMUTATIONS)


def _sketch(messages: Sequence[Message]) -> Any:
    """The MinHash of the word sequences that user and agent say, and of the agent's calls."""
    from datasketch import MinHash

    words: list[str] = []
    for message in messages:
        if message["role"] in ("user", "assistant"):
            words += _WORD.findall(text_of(message).lower())
            for call in message.get("tool_calls") or ():
                words += _WORD.findall(
                    encode([call["function"]["name"], call["function"]["arguments"]]).decode().lower()
                )
    shingles = {" ".join(words[at : at + _SHINGLE]).encode() for at in range(max(1, len(words) - _SHINGLE + 1))}
    sketch = MinHash(num_perm=_PERMUTATIONS)
    sketch.update_batch(sorted(shingles))
    return sketch
