"""A call's slice holds what the tool needs and little else; the rendering rules write what the world writes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.domain.world import World
from simia_gym.envs.retail.build import STATE_FILE
from simia_gym.evaluation.slice_check import call_problems, declaration_problems
from simia_gym.state import State
from simia_gym.types import JsonObject, ToolCall, Transition

from .play import suite

FOLDER = STATE_FILE.parent


def walk(domain: Domain, initial: State, calls: list[ToolCall]) -> Iterator[tuple[State, ToolCall]]:
    """Run calls one after another, each on the state that the one before left; gold calls run on their own."""
    state = initial
    for call in calls:
        transition, problems, _ = call_problems(domain, state, call)
        assert problems == [], call
        yield state, call
        state = transition.state or state


def arguments_for(rng: random.Random, domain: Domain, name: str, state: State) -> JsonObject:
    """Arguments that fit the schema, often of things that exist and mostly do not fit together."""
    users, orders = list(state.keys("users")), list(state.keys("orders"))
    products = [row for _, row in state.rows("products")]
    order = state.get("orders", rng.choice(orders))
    assert order is not None
    user = state.get("users", order["user_id"] if rng.random() < 0.7 else rng.choice(users))
    assert user is not None
    own = [item["item_id"] for item in order["items"]]
    wanted = [
        rng.choice([*next(p for p in products if p["product_id"] == item["product_id"])["variants"], "7"])
        for item in order["items"]
    ]
    n = rng.randint(0, len(own))
    pool: dict[str, Any] = {
        "email": rng.choice([user["email"].upper(), "nobody@example.com"]),
        "first_name": user["name"]["first_name"].lower(),
        "last_name": rng.choice([user["name"]["last_name"], "X"]),
        "zip": rng.choice([user["address"]["zip"], "00000"]),
        "user_id": rng.choice([user["user_id"], "nobody"]),
        "order_id": rng.choice([order["order_id"]] * 5 + ["#W/~0"]),
        "product_id": rng.choice([rng.choice(products)["product_id"], "1"]),
        "item_id": rng.choice([*own, *wanted]),
        "item_ids": own[:n],
        "new_item_ids": wanted[: rng.choice([n, n, n, 1])],
        "payment_method_id": rng.choice([*user["payment_methods"], "none"]),
        "reason": rng.choice(["no longer needed", "because"]),
        "expression": rng.choice(["2 * 3", "2 *", "1 / 0"]),
    }
    names = domain.specs[name].parameters["properties"]
    return {each: pool.get(each, "Somewhere") for each in names}


KNOWN = {
    None: {
        "not_found",
        "wrong_status",
        "invalid_reason",
        "bad_expression",
        "mismatch",
        "unavailable",
        "insufficient_balance",
        "not_original_payment",
        "same_payment_method",
        "already_modified",
        "nothing_to_do",
    },
    "tau2": {"not_found", "wrong_status", "invalid_reason", "tool_error", "mismatch", "not_original_payment"},
}


def explained(world: World, state: State, call: ToolCall, terse: Transition) -> str:
    """The same answer with its reason: nothing but the words differs from the terse one."""
    told = world.call(state, call, "explain")
    assert (terse.outcome, terse.error_code, terse.ops) == (told.outcome, told.error_code, told.ops)
    return told.observation


def wealth(state: State) -> dict[str, float]:
    """Per gift card: its balance plus what it has paid for orders; no call may change the sum."""
    sums: dict[str, float] = {}
    for _, user in state.rows("users"):
        for method in user["payment_methods"].values():
            if method["source"] == "gift_card":
                sums[method["id"]] = method["balance"]
        for order_id in user["orders"]:
            order = state.get("orders", order_id)
            assert order is not None
            for line in order["payment_history"]:
                if line["payment_method_id"] in sums:
                    sign = 1 if line["transaction_type"] == "payment" else -1
                    sums[line["payment_method_id"]] += sign * line["amount"]
    return {key: round(value, 2) for key, value in sums.items()}


@pytest.mark.parametrize("compat", [None, "tau2"])
def test_any_run_of_calls(compat: str | None) -> None:
    """The world does the same on the slice, errors change nothing and say why, money and invariants are kept."""
    domain = load_domain(FOLDER, {"compat": compat})
    schema = domain.state_schema
    assert domain.world is not None
    assert schema is not None
    rng, codes, done = random.Random(5), set(), Counter[str]()
    base = state = domain.base
    private = {text for _, user in base.rows("users") for text in (user["email"], *user["payment_methods"])}
    names = list(domain.specs)
    names += [name for name in names if "items" in name or "payment" in name or name.startswith("cancel")] * 6
    for number in range(6_000):
        if number % 300 == 0:
            state = base
        name = rng.choice(names)
        call = ToolCall(name, arguments_for(rng, domain, name, state))
        transition, problems, _ = call_problems(domain, state, call)
        assert problems == [], call
        told = explained(domain.world, state, call, transition)
        if transition.error_code is not None:
            codes.add(transition.error_code)
            assert (transition.ops, transition.state) == ((), None)
            assert told.startswith(f"{transition.observation.rstrip('.')}. Why: ")
            why = told.partition(" Why: ")[2]
            assert len(why) > 40
            assert not any(text in why for text in private)
            continue
        done[name] += 1
        assert told == transition.observation
        after = transition.state or state
        assert state.apply(transition.ops or ()).touched_since(after) == []
        if compat is None:
            assert list(schema.problems(after, after.touched_since(base))) == []
            assert wealth(after) == wealth(base)
        state = after
    assert codes >= KNOWN[compat]
    assert min(done.values()) > 30


@pytest.mark.parametrize("compat", [None, "tau2"])
@pytest.mark.parametrize(
    ("call", "code", "named"),
    [
        (ToolCall("cancel", {}), "unknown_tool", "cancel_pending_order, modify_pending_order_address"),
        (ToolCall("get_order_details", {"order": "#W1"}), "invalid_arguments", "get_order_details(order_id: string)"),
    ],
)
def test_a_refused_call_says_what_would_do(compat: Any, call: ToolCall, code: str, named: str) -> None:
    domain = load_domain(FOLDER, {"compat": compat})
    assert domain.world is not None
    terse = domain.world.call(domain.base, call)
    assert terse.error_code == code
    assert named in explained(domain.world, domain.base, call, terse)
    assert named not in terse.observation


@pytest.mark.parametrize("odd", [None, 7, [], {}, ["#W1"], True])
def test_odd_arguments_of_the_benchmark_do_the_same_on_the_slice(odd: Any) -> None:
    domain = load_domain(FOLDER, {"compat": "tau2"})
    rng = random.Random(3)
    for name, spec in domain.specs.items():
        for parameter in spec.parameters["properties"]:
            arguments = {**arguments_for(rng, domain, name, domain.base), parameter: odd}
            assert call_problems(domain, domain.base, ToolCall(name, arguments))[1] == []


def test_the_benchmarks_own_database(shared_data: Path) -> None:
    data = str(shared_data / "tau2" / "retail")
    theirs = load_suite(EnvConfig("simia/retail-v0", split="all", data=data))
    sizes = []
    for task in theirs.tasks:
        state = theirs.domain.prepare(task).initial
        calls = [ToolCall(item["name"], item["arguments"]) for item in task.gold]
        sizes += [theirs.domain.slicer(call.name)(s, call).size for s, call in walk(theirs.domain, state, calls)]
    assert max(sizes) < 20_000


def test_a_slice_shows_nobody_elses_data() -> None:
    domain = suite().domain
    assert list(declaration_problems(domain)) == []
    order_id = next(iter(domain.base.keys("orders")))
    order = domain.base.get("orders", order_id)
    assert order is not None
    call = ToolCall("cancel_pending_order", {"order_id": order_id, "reason": "no longer needed"})
    tables = domain.slicer(call.name)(domain.base, call).tables
    assert list(tables["orders"]) == [order_id]
    assert {key: list(row) for key, row in tables["users"].items()} == {order["user_id"]: ["payment_methods"]}
