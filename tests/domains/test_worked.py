"""Each writing tool shows one worked call of a train task in the simulator's prompt."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from simia_gym.common.json_encoding import decode
from simia_gym.contracts import StepContext
from simia_gym.domain.tasks import gold_calls
from simia_gym.llm.blocks import read_blocks
from simia_gym.record.ledger import Ledger
from simia_gym.simulators.prefix import prompt_prefix
from simia_gym.simulators.worked import worked_calls
from simia_gym.state import thaw

from .table import World


def examples(world: World, index: int) -> Any:
    """The block of worked calls in the prompt of a task, and the whole prompt."""
    domain, task = world.domain, world.tasks()[index]
    context = StepContext(domain.prepare(task), domain.begun(task), Ledger(), 0, 0)
    text = decode(prompt_prefix(domain, context, "terse", "ledger").prompt.chunks[0])["content"]
    return next((item.value for item in read_blocks(text) if item.kind == "examples"), []), text


def test_worked_calls_are_those_of_train_tasks(world: World) -> None:
    domain, code = world.domain, world.domain.world
    shown, text = examples(world, 0)
    assert examples(world, -1)[1] == text  # all tasks share it
    fixed = domain.tasks.get("train", ())
    called = [(call.name, thaw(call.arguments)) for task in fixed for call in gold_calls(task)]
    if code is not None and fixed:
        first = [call.name for call in gold_calls(fixed[0])]
        made = takewhile(lambda name: name not in code.waiting, first)
        assert {name for name in made if domain.specs[name].always_changes} <= {each["call"]["name"] for each in shown}
    for each in shown:
        assert (each["call"]["name"], each["call"]["arguments"]) in called
        assert each["ops"]
        assert ("observation" in each) is (domain.specs[each["call"]["name"]].render is None)


def test_the_same_calls_are_drawn_again(world: World) -> None:
    assert worked_calls(world.domain) == worked_calls(world.domain)
