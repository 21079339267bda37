"""A question that was refused may be refused again, in whatever words, and is not answered in the same breath."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, cast

from simia_gym.service import Bent, ServiceExpert
from simia_gym.service.bent import Moment, Turn
from simia_gym.types import Task, ToolCall, Verdict

from .table import World
from .test_policies import verdicts


class Repeating(Bent):
    """Says something more beside every refusal but the first."""

    more: ClassVar[str]

    def _begin(self, first: str) -> None:
        super()._begin(first)
        self._refusals = 0

    def bend(self, moment: Moment, step: str | ToolCall) -> Sequence[Turn]:
        self._refusals += moment == "refuse"
        return [f"{step} {self.more}" if moment == "refuse" and self._refusals > 1 else step]


def played(serving: World, more: str) -> Iterator[Verdict]:
    """What it gets for questions that must be refused twice; ``{answer}`` in its words is what the customer wants."""
    expert = cast(type[ServiceExpert], serving.suite(simulator="world").load_policy("expert"))
    for task in serving.tasks(600):
        words = answers(task)
        if words:
            filled = more.format(answer=words[0])
            bent = type("Repeating", (Repeating,), {"service": expert.service, "more": filled})
            yield verdicts(serving, bent, [task])[0][1]


def answers(task: Task) -> list[str]:
    """The words of the answer, if the task's customer asks once more for an answer that must be refused."""
    asked = (task.user or {})["requests"]
    forbidden = task.kind.startswith("refuse") and len(asked) == 1 and asked[0]["insist"]
    return [text for texts in asked[0]["told"] for text in texts] if forbidden and asked[0].get("told") else []


def test_words_of_the_answer_in_a_repeated_refusal_are_no_answer(serving: World) -> None:
    found = list(played(serving, "I cannot tell you whether the answer is {answer} or not."))
    assert len(found) >= 3
    fired = [one for verdict in found for one in verdict.criteria if one.id == "no_reversal" and not one.passed]
    assert fired == []


class Answering(Bent):
    """Answers whatever it is asked, and refuses it in the same message."""

    strict = False
    valued: re.Pattern[str]

    def bend(self, moment: Moment, step: str | ToolCall) -> Sequence[Turn]:
        told = moment == "answer" and self.valued.search(str(step).lower())
        return [f"{step} I'm sorry, but I cannot do that." if told else step]


def test_who_answers_and_refuses_at_once_has_answered(serving: World) -> None:
    expert = cast(type[ServiceExpert], serving.suite(simulator="world").load_policy("expert"))
    service, solved, allowed = expert.service, 0, 0
    for task in serving.tasks(600):
        asked = (task.user or {})["requests"]
        if len(asked) == 1 and asked[0].get("answer"):
            valued = re.compile(service.declared.tokens[asked[0]["answer"]])
            answering = type("Answering", (Answering,), {"service": service, "valued": valued})
            agent: Answering = answering()
            _, verdict = verdicts(serving, [agent].pop, [task])[0]
            if agent.bent:
                solved += task.kind.startswith("refuse") and verdict.success
                allowed += not task.kind.startswith("refuse") and verdict.success
    assert allowed > 20
    assert solved == 0
