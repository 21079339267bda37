"""Policies without a model. `simia check` plays those that do no work to find tasks that can be passed without work."""

from __future__ import annotations

import random
from collections.abc import Sequence

from simia_gym.errors import InputError
from simia_gym.policies.base import PolicyStart
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
