"""The thinker: the expert, with a note before every action on the customer's wish and the progress so far.

The note is training data for small policies. Without it they forget the wish while they read rows, and do what most
customers want. The note is between ``<think>`` and ``</think>``; neither the customer nor the tools see it.
"""

from __future__ import annotations

from collections.abc import Sequence

from simia_gym.actions.thinking import CLOSE, OPEN
from simia_gym.service.expert import ServiceExpert
from simia_gym.types import Calls, Message, Say, ToolCall


class Thinker(ServiceExpert):
    """The expert with a note in front of each action."""

    def act(self, messages: Sequence[Message]) -> str:
        """Write the next action behind a note of what it is for."""
        step = self._decide(messages)
        action = self._grammar.render(Calls((step,)) if isinstance(step, ToolCall) else Say(step))
        return f"{OPEN}{self._note()}{CLOSE}\n{action}"

    def _note(self) -> str:
        """What the customer wants, what has been told, and what this turn does about it."""
        if self._wish is None:
            return "no wish yet"
        parts = [self._wish.replace("_", " ")]
        told = [name for name in self.service.declared.wishes[self._wish].slots if name in self._slots]
        parts.extend(f"{name} {self._slots[name]}" for name in told if isinstance(self._slots[name], str))
        other = [name for name in told if not isinstance(self._slots[name], str)]
        if other:
            parts.append(f"told {' and '.join(other)}")
        if self._outcome == "refused":
            parts.append("refuse")
        elif self._who is None:
            parts.append("identify")
        elif self._closed:
            parts.append("done")
        elif self._proposed is not None:
            parts.append("confirmed" if self._agreed else "propose")
        elif self._listener.asked:
            parts.append(f"ask {self._listener.asked}")
        return ", ".join(parts)
