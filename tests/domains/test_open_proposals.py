"""No customer agrees to a proposal that leaves open what will be done, or that denies itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from itertools import cycle

import pytest

from simia_gym.types import Task
from tests.cheats.making import Act, Does, at
from tests.cheats.proposals import asks, what

from ..sweeps import sweep
from .table import World
from .test_kept_refusals import played

Swap = Mapping[str, str]
"""Words for what the customer wants, in lower case, each with words for something else of that kind."""
Mix = Callable[[str, str], str]
"""Makes one text of a proposal and its rival; an empty one if it cannot."""


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


def bending(mix: Mix) -> Callable[[Task], Does]:
    """Say in a proposal what it would be with another value of a detail, too."""

    def words(task: Task, act: Act, text: str) -> str | None:
        for rival in (swapped(what(text), swap) for swap in swaps(task)):
            mixed = mix(what(text), rival) if rival != what(text) else ""
            if mixed:
                return f"{mixed} {asks(text)}"
        return None

    return lambda task: at("propose", partial(words, task))


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


@pytest.mark.parametrize("name", sweep(OPEN, 1))
@pytest.mark.slow
def test_no_customer_agrees_to_what_is_open(serving: World, name: str) -> None:
    found = played(serving, serving.tasks(60), bending(OPEN[name]))
    assert len(found) >= 5
    assert sum(verdict.success for _, verdict in found) <= 0.05 * len(found), len(found)


@pytest.mark.parametrize("name", sweep(CLEAR, 1))
@pytest.mark.slow
def test_customers_agree_to_what_is_clear(serving: World, name: str) -> None:
    found = played(serving, serving.tasks(60), bending(CLEAR[name]))
    assert len(found) >= 5
    assert sum(verdict.success for _, verdict in found) >= 0.97 * len(found), len(found)
