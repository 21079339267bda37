"""The policy that only says it is done: a reward that believes it is broken."""

from __future__ import annotations

from collections.abc import Sequence

from simia_gym.types import Message

CLAIM = "I have taken care of everything you asked for. It is all done."


class ClaimerPolicy:
    """Says that it is done, every turn, whatever the grammar makes of it, and does nothing."""

    def act(self, messages: Sequence[Message]) -> str:
        """Give the claim."""
        return CLAIM
