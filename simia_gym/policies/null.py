"""The policy that does nothing: the floor that every reward must tell from work."""

from __future__ import annotations

from collections.abc import Sequence

from simia_gym.types import Message


class NullPolicy:
    """Replies with nothing at all."""

    def act(self, messages: Sequence[Message]) -> str:
        """Give the empty text."""
        return ""
