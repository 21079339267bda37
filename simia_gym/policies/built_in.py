"""Policies without a model. `simia check` plays those that do no work to find tasks that can be passed without work."""

from __future__ import annotations

import random
from collections.abc import Sequence

from simia_gym.actions.signatures import function_of
from simia_gym.errors import InputError
from simia_gym.policies.base import PolicyStart
from simia_gym.types import Calls, End, Message, ToolCall

_NO_ANSWER = "-"
"""The final answer of the policy that says nothing; an empty reply would be an invalid action."""


class NullPolicy:
    """Replies with the empty text, or ends the episode with it if nobody reads replies."""

    text = ""

    def __init__(self) -> None:
        self._action = self.text

    def start(self, start: PolicyStart) -> None:
        """Begin an episode: find the action that gives the text as the final one."""
        if start.replies == "error":
            self._action = ending(start, self.text)
        elif start.replies == "end":
            self._action = self.text or _NO_ANSWER

    def act(self, messages: Sequence[Message]) -> str:
        """Return the same action every turn."""
        return self._action


def ending(start: PolicyStart, text: str) -> str:
    """The action that ends an episode with a text: the grammar's, or a call of a terminal tool, or the text itself.

    A terminal tool whose arguments are more than text is not called: to choose an outcome is work.
    """
    try:
        return start.grammar.render(End(text))
    except InputError:
        for function in map(function_of, start.tools):
            properties = (function.get("parameters") or {}).get("properties", {})
            plain = all(schema.get("type") == "string" and "enum" not in schema for schema in properties.values())
            if function["name"] in start.terminal and plain:
                return start.grammar.render(Calls((ToolCall(function["name"], dict.fromkeys(properties, text)),)))
        return text


class ClaimerPolicy(NullPolicy):
    """Claims that the task is done."""

    text = "I have taken care of everything you asked for. It is all done."


class RefuserPolicy(NullPolicy):
    """Refuses whatever it is asked."""

    text = "I'm sorry, but I cannot do that for you."


class RandomPolicy:
    """Draws each action from the grammar, with arguments that fit the tools' schemas.

    The same seed and transcript give the same action.
    """

    def __init__(self) -> None:
        self._start: PolicyStart | None = None
        self._rng = random.Random(0)

    def start(self, start: PolicyStart) -> None:
        """Begin an episode: seed the random generator with the episode's seed and the environment's id."""
        self._start = start
        self._rng = random.Random(f"random-policy/{start.env}/{start.seed}")

    def act(self, messages: Sequence[Message]) -> str:
        """Draw an action, using values that occur in the transcript."""
        if self._start is None:
            raise InputError("the random policy has not been started", fix="Call start(PolicyStart(...)) first.")
        start = self._start
        return start.grammar.sample(self._rng, start.tools, start.samples, messages)
