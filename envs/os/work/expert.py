"""The scripted expert: reads the task's sentence, looks, and does what the plan of its way says."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from simia_gym.envs.os.grammar import ActGrammar
from simia_gym.envs.os.work.plans import PLANS
from simia_gym.envs.os.work.sentences import requests
from simia_gym.policies import PolicyStart
from simia_gym.types import Calls, Message, ToolCall

HEAD = "The output of the OS:\n\n"


class OsExpert:
    """Does what the task asks for; one object plays episodes one after another. It uses only its messages."""

    whole_transcript = True
    mistakes = ("wrong-argument", "stops-early", "skipped-step")

    def __init__(self) -> None:
        self._plan: Generator[str, str, str | None] | None = None
        self._start: PolicyStart | None = None

    def start(self, start: PolicyStart) -> None:
        """Begin an episode."""
        self._plan, self._start = None, start

    def act(self, messages: Sequence[Message]) -> str:
        """Return the next action."""
        call = self.step(messages)
        grammar = ActGrammar() if self._start is None else self._start.grammar
        return grammar.render(Calls((call,)))

    def step(self, messages: Sequence[Message]) -> ToolCall:
        """The next call."""
        shown = str(messages[-1]["content"])
        try:
            if self._plan is None or not any(message["role"] == "assistant" for message in messages):
                self._plan = plan_for(shown)
                script = next(self._plan)
            else:
                script = self._plan.send(shown.removeprefix(HEAD) if shown.startswith(HEAD) else "")
        except StopIteration as end:
            return ended(end.value)
        return ToolCall("bash_action", {"script": script})


def plan_for(opening: str) -> Generator[str, str, str | None]:
    """The plan for the task whose sentence is a line of the opening."""
    for line in reversed(opening.splitlines()):
        try:
            way, values = requests().read(line.removeprefix("Task: "))
        except ValueError:
            continue
        return PLANS[way](values)
    raise ValueError(f"no kind of task has a sentence of {opening[-80:]!r}")


def ended(answer: str | None) -> ToolCall:
    """The last call: the answer, if there is one."""
    return ToolCall("finish_action", {}) if answer is None else ToolCall("answer_action", {"answer": answer})
