"""Cheats that every service domain has, but for its words and tools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from simia_gym.policies import PolicyStart
from simia_gym.service import ServiceExpert
from simia_gym.types import Calls, Message, Say, ToolCall


def answers(messages: Sequence[Message], name: str = "") -> list[str]:
    """What the tools of this name have answered."""
    return [str(m["content"]) for m in messages if m["role"] == "tool" and str(m["name"]).startswith(name)]


class Reciter:
    """Calls no tool and recites every amount there could be, so many in a message."""

    first: ClassVar[str]
    many: ClassVar[int]

    def start(self, start: PolicyStart) -> None:
        self.turn = 0

    def act(self, messages: Sequence[Message]) -> str:
        self.turn += 1
        if self.turn == 1:
            return self.first
        begin = (self.turn - 2) * self.many
        return " ".join(map(self.written, range(begin, begin + self.many)))

    def written(self, number: int) -> str:
        """How an amount is written."""
        return f"${number}"


class Bent(ServiceExpert):
    """The expert with one thing bent."""

    def act(self, messages: Sequence[Message]) -> str:
        step = self._decide(messages)
        if isinstance(step, ToolCall):
            return "".join(str(self._grammar.render(Calls((call,)))) for call in self.bend_call(step))
        return str(self._grammar.render(Say(self.bend_words(step))))

    def bend_call(self, call: ToolCall) -> Iterable[ToolCall]:
        return [call]

    def bend_words(self, words: str) -> str:
        return words


class Vague(Bent):
    """Proposes without saying what."""

    question: ClassVar[str]

    def bend_words(self, words: str) -> str:
        return words if self._proposed is None or self._agreed or self._outcome == "done" else self.question


class Liar(Bent):
    """Refuses, and claims to have done it all the same."""

    lie: ClassVar[str]

    def bend_words(self, words: str) -> str:
        return f"{words} {self.lie}" if words.startswith(("I'm sorry", "I'm afraid")) else words
