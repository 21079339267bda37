"""The expert with something bent: for policies that cheat, and for their harmless twins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from simia_gym.actions.calls import call_message
from simia_gym.common.formatting import one_line
from simia_gym.errors import InputError
from simia_gym.service.expert import ServiceExpert
from simia_gym.types import Message, PolicyAction, Say, ToolCall

Moment: TypeAlias = Literal[
    "ask", "find", "invite", "look", "propose", "write", "report", "answer", "refuse", "handover", "close"
]
"""What the expert does: it asks for a detail, finds the customer, asks for the wish, looks at rows, proposes, makes the
change that was agreed, reports it, answers, refuses, hands over, or asks for anything else."""
Turn: TypeAlias = str | ToolCall | Sequence[ToolCall] | Message
"""An action: words, a call, calls at once, or an assistant message in OpenAI's format."""


class Bent(ServiceExpert):
    """The expert with something bent. A subclass overrides `bend`, and needs no ``service`` in a list of cheats.

    Attributes:
        bent: Whether it has done anything else than the expert in this episode.
    """

    bent = False

    def _begin(self, first: str) -> None:
        super()._begin(first)
        self.bent = False
        self._turns: list[Turn] = []
        self._own: Turn | None = None

    def bend(self, moment: Moment, step: str | ToolCall) -> Sequence[Turn]:
        """Say what to do instead of the expert's next step.

        Args:
            moment: What the expert does.
            step: The words that it would say, or the call that it would make.

        Returns:
            A list of one turn or several. The expert does not notice what happens before its own step.
        """
        return [step]

    def act(self, messages: Sequence[Message]) -> PolicyAction:
        """Give the next action."""
        if not self._turns or len(messages) <= 2:
            step = self._own = self._decide(messages)
            moment = self._moment(step)
            turns: object = self.bend(moment, step)
            if not isinstance(turns, Sequence) or isinstance(turns, str) or not turns:  # a text is a sequence, too
                what = f"bend({moment!r}, ...) gave {one_line(repr(turns), 60)}, which is no list of turns"
                raise InputError(what, where=type(self).__name__, fix="Return a list, such as [step].")
            self._turns = list(turns)
            self.bent = self.bent or self._turns != [step]
        elif self._own is not None:
            self._read = len(messages)
        turn = self._turns.pop(0)
        if turn == self._own:
            self._own = None
        if isinstance(turn, str):
            return self._grammar.render(Say(turn))
        if isinstance(turn, ToolCall):
            return call_message(turn)
        return turn if isinstance(turn, dict) else call_message(*turn)

    def _next(self) -> str | ToolCall:
        self._was_closed = self._closed
        return super()._next()

    def _moment(self, step: str | ToolCall) -> Moment:
        if isinstance(step, ToolCall):
            if self._who is None:
                return "find"
            return "write" if self._agreed else "handover" if self._outcome == "refused" else "look"
        if self._who is None:
            return "refuse" if self.service.declared.stranger in step else "ask"
        if self._wish is None:
            return "invite"
        if not self._closed:
            return "propose" if self._proposed is not None else "ask"
        if self._was_closed:
            return "close"
        if self._present.call is None and not self._outcome:
            return "answer"
        return "report" if self._outcome == "done" else "refuse"
