"""A prompt as an append-only list of encoded messages; each message is encoded once.

Every request of an episode repeats all earlier messages and adds a few. Encoding all of them for each request would
take quadratic time; here a message is encoded when it is added, and a request body joins the pieces. Forks share the
encoded messages, so the static beginning of a prompt exists once for all requests that begin with it.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from simia_gym.common.json_encoding import encode

_NOTHING = sha256()


class Prompt:
    """Encoded chat messages in the OpenAI layout, in order.

    Attributes:
        size: Size of all messages in bytes.
        static: Size in bytes of the beginning shared with other requests; a server's prefix cache can save at most
            this.
    """

    __slots__ = ("_chunks", "_count", "_hash", "_hashed", "size", "static")

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._count = 0
        self._hash, self._hashed = _NOTHING, 0  # hash of the first `_hashed` messages
        self.size = 0
        self.static = 0

    def add(self, role: str, content: str | None, **fields: Any) -> None:
        """Append a message.

        Args:
            role: ``system``, ``user``, ``assistant`` or ``tool``.
            content: The message's text; ``None`` if it has none.
            **fields: Further fields, such as ``tool_calls``.
        """
        self.add_encoded(encode({"role": role, "content": content, **fields}))

    def add_encoded(self, message: bytes) -> None:
        """Append a message that is already encoded as JSON."""
        if self._count:
            message = b"," + message
        self._chunks.append(message)
        self._count += 1
        self.size += len(message)

    def mark_static(self) -> None:
        """Mark all messages so far as shared with other requests."""
        self.static = self.size

    def fork(self) -> Prompt:
        """A copy of this prompt; messages added to one are not added to the other."""
        other = Prompt.__new__(Prompt)
        other._chunks = self._chunks.copy()
        other._hash, other._hashed = self._hash, self._hashed
        other._count, other.size, other.static = self._count, self.size, self.static
        return other

    @property
    def chunks(self) -> list[bytes]:
        """The encoded messages, separated by commas, without the enclosing brackets; do not modify the list."""
        return self._chunks

    def messages_json(self) -> bytes:
        """The JSON array of all messages."""
        return b"[" + b"".join(self._chunks) + b"]"

    @property
    def digest(self) -> str:
        """SHA-256 of all messages, first 16 hex digits; each message is hashed once, also for later forks."""
        if self._hashed < len(self._chunks):
            grown = self._hash.copy()  # forks share it, so it is never changed
            for chunk in self._chunks[self._hashed :]:
                grown.update(chunk)
            self._hash, self._hashed = grown, len(self._chunks)
        return self._hash.hexdigest()[:16]

    def __len__(self) -> int:
        return self._count
