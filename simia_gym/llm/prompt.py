"""A prompt as bytes that only grow: what was encoded once is never encoded again.

The messages of an episode are sent again and again, each time with a few more. Encoding them anew each time would cost
the square of their number; here every message is encoded when it comes and the body is the pieces in a row. A fork
shares what came before, so that the static beginning of a prompt is one object for all the calls that begin with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from simia_gym.common.json_encoding import encode

_NOTHING = sha256()


class Prompt:
    """Chat messages in the OpenAI layout, encoded, in order.

    Attributes:
        size: Bytes of all messages.
        static: Bytes of the beginning that other requests have, too: what a server's prefix cache can hold at best.
    """

    __slots__ = ("_chunks", "_count", "_hash", "_hashed", "size", "static")

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._count = 0
        self._hash, self._hashed = _NOTHING, 0  # of the first messages, as many as it was ever asked for
        self.size = 0
        self.static = 0

    def add(self, role: str, content: str | None, **fields: Any) -> None:
        """Append a message.

        Args:
            role: ``system``, ``user``, ``assistant`` or ``tool``.
            content: Its text.
            **fields: Further fields, such as ``tool_calls``.
        """
        self.add_encoded(encode({"role": role, "content": content, **fields}))

    def add_encoded(self, message: bytes) -> None:
        """Append a message that is encoded already."""
        if self._count:
            message = b"," + message
        self._chunks.append(message)
        self._count += 1
        self.size += len(message)

    def add_chunks(self, pieces: Sequence[bytes]) -> None:
        """Append messages as they stand in the `chunks` of another prompt, with as many messages before them there."""
        self._chunks += pieces
        self._count += len(pieces)
        self.size += sum(map(len, pieces))

    def mark_static(self) -> None:
        """Say that everything so far stands in other requests, too."""
        self.static = self.size

    def fork(self) -> Prompt:
        """A prompt that begins like this one and goes its own way."""
        other = Prompt.__new__(Prompt)
        other._chunks = self._chunks.copy()
        other._hash, other._hashed = self._hash, self._hashed
        other._count, other.size, other.static = self._count, self.size, self.static
        return other

    @property
    def chunks(self) -> list[bytes]:
        """The encoded messages with the commas between them, ready to stand inside ``[...]``; not to be changed."""
        return self._chunks

    def messages_json(self) -> bytes:
        """The JSON array of all messages."""
        return b"[" + b"".join(self._chunks) + b"]"

    @property
    def digest(self) -> str:
        """Hash of all messages, 16 hex digits; each message is hashed once, also for the forks made after that."""
        if self._hashed < len(self._chunks):
            grown = self._hash.copy()  # forks share it, so it is never changed
            for chunk in self._chunks[self._hashed :]:
                grown.update(chunk)
            self._hash, self._hashed = grown, len(self._chunks)
        return self._hash.hexdigest()[:16]

    def __len__(self) -> int:
        return self._count
