"""No customer agrees to a proposal that leaves open what will be done, or that denies itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle
from typing import ClassVar, cast

import pytest

from simia_gym.service import Bent, ServiceExpert
from simia_gym.service.bent import Moment, Turn
from simia_gym.types import Task, ToolCall, Verdict

from .table import World
from .test_policies import verdicts

_QUESTION = re.compile(r"(?:Shall I go ahead|Do you confirm that I should do this) \(yes/no\)\?")
Swap = Mapping[str, str]
"""Words for what the customer wants, in lower case, each with words for something else of that kind."""
Mix = Callable[[str, str], str]
"""Makes one text of a proposal and its rival; an empty one if it cannot."""


class Proposing(Bent):
    """Says something more in its proposals: what they would be with another value.

    Attributes:
        swaps: The details that may have another value.
        mix: Makes one text of a proposal and its rival.
        mixed: Whether it has done so.
    """

    swaps: ClassVar[Sequence[Swap]]
    mix: ClassVar[Mix]
    mixed: ClassVar[list[bool]]

    def bend(self, moment: Moment, step: str | ToolCall) -> Sequence[Turn]:
        question = _QUESTION.search(step) if isinstance(step, str) and moment == "propose" else None
        if question is None or not isinstance(step, str):
            return [step]
        proposal = step[: question.start()].strip()
        for swap in self.swaps:
            rival = swapped(proposal, swap)
            text = type(self).mix(proposal, rival) if rival != proposal else ""
            if text:
                self.mixed.append(True)
                return [f"{text} {question[0]}"]
        return [step]


def swaps(task: Task) -> list[Swap]:
    """The details of what the customer wants, if it is one thing that has to change."""
    asked = (task.user or {})["requests"]
    if len(asked) > 1 or asked[0].get("change") or not task.gold:
        return []
    expected = [item for item in asked[0].get("expect", ()) if item["avoid"]]
    return [dict(zip(map(str.lower, item["any"]), cycle(item["avoid"]), strict=False)) for item in expected]


def swapped(text: str, swap: Swap) -> str:
    """A text with other words for a detail."""
    words = "|".join(re.escape(one) for one in sorted(swap, key=len, reverse=True))
    return re.sub(rf"(?<![\w#])(?:{words})(?!\w)", lambda found: swap[found[0].lower()], text, flags=re.IGNORECASE)


def played(serving: World, mix: Mix) -> Iterator[Verdict]:
    """What an expert gets whose proposals are bent."""
    expert = cast(type[ServiceExpert], serving.suite(simulator="world").load_policy("expert"))
    for task in serving.tasks(240):
        mixed: list[bool] = []
        own = {"service": expert.service, "swaps": swaps(task), "mix": staticmethod(mix), "mixed": mixed}
        verdict = verdicts(serving, type("Proposing", (Proposing,), own), [task])[0][1]
        if mixed:
            yield verdict


def denied(proposal: str) -> str:
    return proposal.replace("I will", "I will not")


def other_denied(proposal: str, rival: str) -> str:
    """The first sentence of the rival denied, if it is another one."""
    mine, other = (text.partition(". ")[0].rstrip(".") for text in (proposal, rival))
    return "" if mine == other else f"{denied(other)}. {proposal}"


OPEN: dict[str, Mix] = {
    "both": lambda proposal, rival: f"{proposal} {rival}",
    "the other one first": lambda proposal, rival: f"{rival} {proposal}",
    "two items": lambda proposal, rival: f"I will do this:\n- {proposal}\n- {rival}\n\n",
    "denied": lambda proposal, rival: f"{proposal} {denied(proposal)}",
    "denied first": lambda proposal, rival: f"{denied(proposal)} {proposal}",
    "unwilling": lambda proposal, rival: proposal.replace("I will", "I would rather not"),
    "denied by nobody": lambda proposal, rival: proposal.replace("I will", "Nobody will"),
    "denied in general": lambda proposal, rival: f"{proposal} None of this will happen.",
    "untrue": lambda proposal, rival: f"It is not true that I will do this: {proposal}",
    "a joke": lambda proposal, rival: f"{proposal} I was joking.",
}
CLEAR: dict[str, Mix] = {
    "said twice": lambda proposal, rival: f"{proposal} Once more: {proposal}",
    "the other one denied": other_denied,
    "instead of what was asked": lambda proposal, rival: f"I cannot do that, but I can do this: {proposal}",
    "nothing done yet": lambda proposal, rival: f"I have not changed anything, and nothing will be lost. {proposal}",
}


@pytest.mark.parametrize("name", OPEN)
def test_no_customer_agrees_to_what_is_open(serving: World, name: str) -> None:
    found = list(played(serving, OPEN[name]))
    assert len(found) >= 5
    assert sum(verdict.success for verdict in found) <= 0.05 * len(found), len(found)


@pytest.mark.parametrize("name", CLEAR)
def test_customers_agree_to_what_is_clear(serving: World, name: str) -> None:
    found = list(played(serving, CLEAR[name]))
    assert len(found) >= 5
    assert sum(verdict.success for verdict in found) >= 0.97 * len(found), len(found)
