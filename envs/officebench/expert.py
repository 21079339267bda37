"""The scripted expert: reads the task's sentence, and follows the plan of its kind by what the apps show."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence

from simia_gym.envs.officebench.grammar import AnswerGrammar
from simia_gym.envs.officebench.work.plans import whole_plan
from simia_gym.envs.officebench.work.sentences import read_request
from simia_gym.policies import PolicyStart
from simia_gym.types import Calls, Message, ToolCall

_TASK = re.compile(r"^Task: (.+)\nAvailable apps: ", re.MULTILINE | re.DOTALL)


class OfficeExpert:
    """Does what the task asks for; one object plays episodes one after another. It uses only its messages."""

    whole_transcript = True
    mistakes = ("wrong-argument", "stops-early", "skipped-step", "first-option")

    def __init__(self) -> None:
        self._plan: Generator[ToolCall, str, None] | None = None
        self._start: PolicyStart | None = None

    def start(self, start: PolicyStart) -> None:
        """Begin an episode."""
        self._plan, self._start = None, start

    def act(self, messages: Sequence[Message]) -> str:
        """Return the next action."""
        call = self.step(messages)
        grammar = AnswerGrammar() if self._start is None else self._start.grammar
        return grammar.render(Calls((call,)))

    def step(self, messages: Sequence[Message]) -> ToolCall:
        """The next call."""
        shown = str(messages[-1]["content"])
        if self._plan is None or not any(message["role"] == "assistant" for message in messages):
            found = _TASK.search(shown)
            self._plan = whole_plan(*read_request("" if found is None else found[1]))
            return next(self._plan)
        return self._plan.send(shown)
