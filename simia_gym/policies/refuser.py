"""The policy that only refuses: a task that it solves asks for nothing but a refusal in general."""

from __future__ import annotations

from collections.abc import Sequence

from simia_gym.types import Message

REFUSAL = "I'm sorry, but I cannot do that for you."


class RefuserPolicy:
    """Refuses, every turn, whatever it is asked, and does nothing."""

    def act(self, messages: Sequence[Message]) -> str:
        """Give the refusal."""
        return REFUSAL
