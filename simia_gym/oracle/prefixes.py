"""Caches over earlier requests: prompt prefixes, as an inference server caches them, and states of conversations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from simia_gym.oracle.reading import Message

T = TypeVar("T")

_PIECE = 512
_MOST_PIECES = 400_000
_MOST_NODES = 50_000


class PrefixCache:
    """Counts how many bytes of a prompt's prefix occurred in earlier prompts, in blocks of 512 bytes."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def cached(self, text: bytes) -> int:
        """The number of bytes of the text's prefix that are cached; then adds the whole text to the cache."""
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
    """Folds conversations message by message and caches the value after each prefix.

    Each request of an episode repeats the whole history; with the cache, only the new messages are processed. Values of
    type ``T`` must be immutable.
    """

    def __init__(self) -> None:
        self._nodes: dict[tuple[object, str], tuple[int, T]] = {}

    def fold(
        self, root: object, first: Callable[[], T], turns: Sequence[Message], step: Callable[[T, Message], T]
    ) -> T:
        """The value after a conversation: ``step`` of each message but the model's own, from ``first`` on.

        The key ``root`` separates conversations on different subjects.
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
        node = self._nodes[key] = (len(self._nodes), value)
        return node
