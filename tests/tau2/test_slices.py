"""A call's slice holds what the tool needs and little else; the rendering rules write what the world writes."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_folders
from simia_gym.envs._tau2.recorded import read_recordings
from simia_gym.evaluation.slice_check import call_problems, declaration_problems
from simia_gym.types import Feedback, ToolCall

from ..airline import own as airline
from ..domains import table
from ..retail import own as retail
from ..sweeps import sizes

FOLDERS = {folder.name: folder for folder in domain_folders().values()}
OWN: Any = {"retail": retail, "airline": airline}
"""What is each world's own."""
MOST = {name: table.OWN[f"simia/{name}-v0"].slice for name in OWN}
"""Bytes of a slice."""
MANY = 4_500
"""Calls that meet every error, and every tool often."""


@pytest.mark.parametrize("compat", [None, "tau2"])
@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("number", sizes(450, MANY))
@pytest.mark.slow
def test_any_run_of_calls(name: str, compat: str | None, number: int) -> None:
    """The world does the same on the slice, errors change nothing and say why, and the rules of the state are kept."""
    own, domain = OWN[name], load_domain(FOLDERS[name], {"compat": compat})
    world, schema = domain.world, domain.state_schema
    assert world is not None
    assert schema is not None
    rng, codes, done = random.Random(5), set[str](), Counter[str]()
    base = state = domain.base
    private = {text for _, user in base.rows("users") for text in (user["email"], *user["payment_methods"])}
    tools = [*domain.specs, *[tool for tool in domain.specs if any(part in tool for part in own.OFTEN)] * 6]
    for count in range(number):
        state = base if count % 225 == 0 else state
        tool = rng.choice(tools)
        call = ToolCall(tool, own.arguments_for(rng, domain, tool, state))
        answer, problems, _ = call_problems(domain, state, call)
        assert problems == [], call
        assert domain.slicers[tool](state, call).size < MOST[name]
        told = world.call(state, call, "explain")
        assert (answer.outcome, answer.error_code, answer.ops) == (told.outcome, told.error_code, told.ops)
        if answer.error_code is not None:
            codes.add(answer.error_code)
            assert (answer.ops, answer.state) == ((), None)
            what, _, why = told.observation.partition(". Why: ")
            assert what == answer.observation.rstrip(".")
            assert len(why) > 40
            assert not any(text in why for text in private)
            continue
        done[tool] += 1
        assert told.observation == answer.observation
        after = answer.state or state
        assert state.apply(answer.ops or ()).touched_since(after) == []
        if compat is None and answer.ops:
            assert list(schema.problems(after, after.touched_since(base))) == []
            assert own.kept(after) == own.kept(base)
        state = after
    assert codes
    if number == MANY:
        assert codes >= (own.CODES if compat is None else own.CODES_OF_BENCHMARK)
        assert min(done[tool] for tool in domain.specs) > 20


@pytest.mark.parametrize("compat", [None, "tau2"])
@pytest.mark.parametrize("name", OWN)
def test_a_refused_call_says_what_would_do(name: str, compat: Any) -> None:
    domain = load_domain(FOLDERS[name], {"compat": compat})
    assert domain.world is not None
    unknown, odd = ToolCall("cancel", {}), ToolCall("get_user_details", {"user": "x"})
    modes: tuple[Feedback, Feedback] = ("terse", "explain")
    for call, code, named in ((unknown, "unknown_tool", "get_user_"), (odd, "invalid_arguments", "(user_id: string)")):
        terse, told = (domain.world.call(domain.base, call, mode) for mode in modes)
        assert (terse.error_code, named in terse.observation, named in told.observation) == (code, False, True)


@pytest.mark.parametrize("odd", [None, 7, [], {}, ["#W1"], True])
@pytest.mark.parametrize("name", OWN)
def test_odd_arguments_of_the_benchmark_do_the_same_on_the_slice(name: str, odd: Any) -> None:
    domain, rng = load_domain(FOLDERS[name], {"compat": "tau2"}), random.Random(3)
    for tool, spec in domain.specs.items():
        for parameter in spec.parameters["properties"]:
            arguments = {**OWN[name].arguments_for(rng, domain, tool, domain.base), parameter: odd}
            assert call_problems(domain, domain.base, ToolCall(tool, arguments))[1] == []


@pytest.mark.parametrize("name", OWN)
def test_the_benchmarks_own_database(name: str, shared_data: Path) -> None:
    """Gold and recorded calls on large tables."""
    domain = load_domain(FOLDERS[name], data=shared_data / "tau2" / name)
    assert list(declaration_problems(domain)) == []
    recorded = read_recordings(shared_data / "rollouts" / f"{name}_tau2.jsonl", name)
    runs = [[call for call, _ in answered] for _, answered in recorded]
    runs += [[ToolCall(each["name"], each["arguments"]) for each in task.gold] for task in domain.tasks["train"]]
    for calls in runs:
        state = domain.base
        for call in calls:
            transition, problems, _ = call_problems(domain, state, call)
            assert problems == []
            assert call.name not in domain.specs or domain.slicers[call.name](state, call).size < MOST[name]
            state = transition.state or state


def test_every_search_of_a_day(shared_data: Path) -> None:
    domain = load_domain(FOLDERS["airline"], data=shared_data / "tau2" / "airline")
    routes = [*product(domain.base.keys("airports"), repeat=2)]
    for day in ("2024-05-16", "2024-05-20", "2024-05-29"):
        searches = [
            ToolCall(name, {"origin": origin, "destination": destination, "date": day})
            for origin, destination in routes
            for name in ("search_direct_flight", "search_onestop_flight")
        ]
        assert max(domain.slicers[call.name](domain.base, call).size for call in searches) < MOST["airline"]
        for call in random.Random(day).sample(searches, 60):
            assert call_problems(domain, domain.base, call)[1] == []


def test_a_slice_shows_nobody_elses_data() -> None:
    domain = load_domain(FOLDERS["retail"])
    order_id, order = next(iter(domain.base.rows("orders")))
    call = ToolCall("cancel_pending_order", {"order_id": order_id, "reason": "no longer needed"})
    tables = domain.slicers[call.name](domain.base, call).tables
    assert list(tables["orders"]) == [order_id]
    assert {key: list(row) for key, row in tables["users"].items()} == {order["user_id"]: ["payment_methods"]}
