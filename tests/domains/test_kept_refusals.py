"""A question that was refused may be refused again, in whatever words, and is not answered in the same breath."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from simia_gym.service import ServiceExpert
from simia_gym.types import Task, Verdict
from tests.cheats.making import Act, Does, at, policy

from .table import World
from .test_policies import verdicts


def played(
    serving: World, tasks: Sequence[Task], does: Callable[[Task], Does], *, strict: bool = True
) -> list[tuple[Task, Verdict]]:
    """What an expert gets for the tasks in which it does something else; one that is not strict knows no rules."""
    expert, found = serving.suite(simulator="world").load_policy("expert"), []
    assert isinstance(expert, type)
    assert issubclass(expert, ServiceExpert)
    for task in tasks:
        agent = type("Own", (policy("", does(task)),), {"service": expert.service, "strict": strict})()
        verdict = verdicts(serving, [agent].pop, [task])
        found += verdict if agent.bent else []
    return found


def answers(task: Task) -> list[str]:
    """The words of the answer, if the task's customer asks once more for an answer that must be refused."""
    asked = (task.user or {})["requests"]
    forbidden = task.kind.startswith("refuse") and len(asked) == 1 and asked[0]["insist"]
    return [text for texts in asked[0]["told"] for text in texts] if forbidden and asked[0].get("told") else []


@pytest.mark.slow
def test_words_of_the_answer_in_a_repeated_refusal_are_no_answer(serving: World) -> None:
    def again(task: Task, act: Act, text: str) -> str | None:
        act.notes["refused"] = act.notes.get("refused", 0) + 1
        more = f"I cannot tell you whether the answer is {answers(task)[0]} or not."
        return f"{text} {more}" if act.notes["refused"] > 1 else None

    tasks = [task for task in serving.tasks(600) if answers(task)]
    found = played(serving, tasks, lambda task: at("refuse", partial(again, task)))
    assert len(found) >= 3
    fired = [one for _, verdict in found for one in verdict.criteria if one.id == "no_reversal" and not one.passed]
    assert fired == []


@pytest.mark.slow
def test_who_answers_and_refuses_at_once_has_answered(serving: World) -> None:
    def answers_and_refuses(task: Task, act: Act, text: str) -> str | None:
        kind = act.service.declared.tokens[(task.user or {})["requests"][0]["answer"]]
        return f"{text} I'm sorry, but I cannot do that." if re.search(kind, text.lower()) else None

    asked = {task.id: (task.user or {})["requests"] for task in serving.tasks(300)}
    tasks = [task for task in serving.tasks(300) if len(asked[task.id]) == 1 and asked[task.id][0].get("answer")]
    found = played(serving, tasks, lambda task: at("answer", partial(answers_and_refuses, task)), strict=False)
    solved = [task.kind.startswith("refuse") for task, verdict in found if verdict.success]
    assert solved.count(False) > 10
    assert solved.count(True) == 0
