"""Policies that do no work. `simia check` plays them to find tasks that can be passed without work."""

from __future__ import annotations

from collections.abc import Sequence

from simia_gym.types import Message


class NullPolicy:
    """Replies with the empty text."""

    text = ""

    def act(self, messages: Sequence[Message]) -> str:
        """Return the same text every turn."""
        return self.text


class ClaimerPolicy(NullPolicy):
    """Claims that the task is done."""

    text = "I have taken care of everything you asked for. It is all done."


class RefuserPolicy(NullPolicy):
    """Refuses whatever it is asked."""

    text = "I'm sorry, but I cannot do that for you."
