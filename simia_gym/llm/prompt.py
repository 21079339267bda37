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
        chunks: The encoded messages, separated by commas, without the enclosing brackets; not to be modified.
        size: Size of all messages in bytes.
        static: Size in bytes of the beginning shared with other requests; a server's prefix cache can save at most
            this.
    """

    __slots__ = ("_hash", "_hashed", "chunks", "size", "static")

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
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
        if self.chunks:
            message = b"," + message
        self.chunks.append(message)
        self.size += len(message)

    def mark_static(self) -> None:
        """Mark all messages so far as shared with other requests."""
        self.static = self.size

    def fork(self) -> Prompt:
        """A copy of this prompt; messages added to one are not added to the other."""
        other = Prompt.__new__(Prompt)
        other.chunks = self.chunks.copy()
        other._hash, other._hashed = self._hash, self._hashed
        other.size, other.static = self.size, self.static
        return other

    def messages_json(self) -> bytes:
        """The JSON array of all messages."""
        return b"[" + b"".join(self.chunks) + b"]"

    @property
    def digest(self) -> str:
        """SHA-256 of all messages, first 16 hex digits; each message is hashed once, also for later forks."""
        if self._hashed < len(self.chunks):
            grown = self._hash.copy()  # forks share it, so it is never changed
            for chunk in self.chunks[self._hashed :]:
                grown.update(chunk)
            self._hash, self._hashed = grown, len(self.chunks)
        return self._hash.hexdigest()[:16]
