"""What a domain declares of its tools is all that a model needs to play them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from simia_gym.common.event_loop import run_sync
from simia_gym.domain.domain import Domain
from simia_gym.domain.goal import first_difference
from simia_gym.domain.loading import load_domain
from simia_gym.domain.tasks import gold_calls
from simia_gym.evaluation.slice_check import call_problems
from simia_gym.state import State
from simia_gym.types import Task, ToolCall

from ..proof.stage import played
from ..worldless import copy_without_world
from .table import World


def walk(domain: Domain, task: Task, calls: Sequence[ToolCall]) -> Iterator[tuple[State, ToolCall]]:
    """Run calls one after another: each does the same on its slice, errors say why, and the state keeps its rules."""
    state, schema = domain.begun(task), domain.state_schema
    assert domain.world is not None
    for call in calls:
        transition, problems, *_ = call_problems(domain, state, call)
        assert problems == [], call
        if call.name in domain.specs:
            yield state, call
        told = domain.world.call(state, call, "explain")
        assert (transition.outcome, transition.error_code, transition.ops) == (told.outcome, told.error_code, told.ops)
        if transition.outcome == "ok":
            assert told.observation == transition.observation
        else:
            assert (transition.ops, transition.state) == ((), None)
            assert len(told.observation) >= len(transition.observation)
        after = state.apply(transition.ops or ())
        assert after.touched_since(transition.state or state) == []
        if schema is not None:
            assert list(schema.problems(after, after.touched_since(state))) == []
        state = after


@pytest.mark.parametrize("policy", ["gold", "expert", "random"])
@pytest.mark.slow
def test_the_world_does_the_same_on_a_small_slice(world: World, policy: str) -> None:
    suite = world.suite(simulator="world")
    domain, seen = suite.domain, set[str]()
    for seed, task in enumerate(world.some):
        calls = gold_calls(task)
        if policy != "gold":
            events = played(suite, task, policy, seed=seed).ledger.events
            made = [event["call"] for event in events if event.get("call") is not None]
            calls = [ToolCall(call["name"], call["arguments"]) for call in made]
        for state, call in walk(domain, task, calls):
            assert domain.slicers[call.name](state, call).size < world.own.slice
            seen.add(call.name)
    assert seen


@pytest.mark.slow
def test_without_its_world_a_domain_has_the_same_tools_slices_and_pages(bare: World, tmp_path: Path) -> None:
    folder = copy_without_world(bare.folder, tmp_path / "bare")
    whole, copy = load_domain(bare.folder), load_domain(folder)
    assert whole.world is not None
    assert copy.world is None
    assert copy.specs == dict(whole.specs)
    assert copy.tool_entries == whole.tool_entries
    assert copy.hash != whole.hash
    for split, tasks in copy.tasks.items():
        for task, original in zip(tasks, whole.tasks[split], strict=True):
            initial = state = copy.prepare(task).initial
            assert copy.extras(state) == whole.world.info(state)
            if not copy.user:
                first = [run_sync(one.opening(state, task), inline=True).observation for one in (copy, whole)]
                assert first[0] == first[1]
            for call in gold_calls(task):
                answer = whole.world.call(state, call)
                assert copy.slicers[call.name](state, call).value == whole.slicers[call.name](state, call).value
                state = answer.state or state
                render = copy.renderers[call.name]
                assert render is None or render(state, call) == answer.observation
                assert copy.extras(state) == answer.info
            assert (task.goal is None) is (original.goal is None)
            if task.goal is not None:
                assert first_difference(task.goal, initial, state, ignore=copy.outside_goal(task)) is None
