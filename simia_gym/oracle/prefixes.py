"""What was seen before: how much of a prompt a prefix cache would hold, and conversations worked out so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from simia_gym.oracle.reading import Said

T = TypeVar("T")

_PIECE = 512
_MOST_PIECES = 400_000
_MOST_NODES = 50_000


class PrefixCache:
    """Counts the bytes of a prompt that an earlier one began with, in whole pieces, as prefix caches of servers do."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def cached(self, text: bytes) -> int:
        """How many bytes were there before; from now on all of them are."""
        seen = self._seen
        if len(seen) > _MOST_PIECES:
            seen.clear()
        key, hits, hitting = 0, 0, True
        for start in range(0, len(text) - _PIECE + 1, _PIECE):
            key = hash((key, text[start : start + _PIECE]))
            if hitting and key in seen:
                hits += _PIECE
            else:
                hitting = False
                seen.add(key)
        return hits


class Conversations(Generic[T]):
    """Works conversations out message by message, each beginning once, however often it comes back longer.

    A value of ``T`` stands for all that follows from the messages so far; it must not be changed.
    """

    def __init__(self) -> None:
        self._nodes: dict[tuple[object, str], tuple[int, T]] = {}
        self._count = 0

    def fold(self, root: object, first: Callable[[], T], turns: Sequence[Said], step: Callable[[T, Said], T]) -> T:
        """Work a conversation out.

        Args:
            root: What the conversation is about; hashable.
            first: Gives the value before any message.
            turns: The messages; those of the model itself are passed over.
            step: Gives the value after one more message.
        """
        if len(self._nodes) > _MOST_NODES:
            self._nodes.clear()
        key: tuple[object, str] = (root, "")
        node = self._nodes.get(key)
        if node is None:
            node = self._keep(key, first())
        for said in turns:
            if said.role == "assistant":
                continue
            key = (node[0], said.text)
            after = self._nodes.get(key)
            node = self._keep(key, step(node[1], said)) if after is None else after
        return node[1]

    def _keep(self, key: tuple[object, str], value: T) -> tuple[int, T]:
        self._count += 1
        self._nodes[key] = (self._count, value)
        return self._nodes[key]
