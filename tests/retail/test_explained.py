"""With feedback="explain" every error says why, after the very words that it says anyway."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from simia_gym.domain.loading import load_domain
from simia_gym.domain.world import World
from simia_gym.state import State
from simia_gym.types import ToolCall

from .test_slices import FOLDER, arguments_for

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


def secrets(state: State) -> Iterator[str]:
    """What a profile holds and nobody else should be told."""
    for _, user in state.rows("users"):
        yield user["email"]
        yield from user["payment_methods"]


def both(world: World, state: State, call: ToolCall) -> tuple[str, str, str | None]:
    """What the world says tersely and with reasons."""
    terse, told = world.call(state, call), world.call(state, call, "explain")
    assert (terse.outcome, terse.error_code, terse.ops) == (told.outcome, told.error_code, told.ops)
    return terse.observation, told.observation, terse.error_code


@pytest.mark.parametrize("compat", [None, "tau2"])
def test_every_error_says_why(compat: str | None) -> None:
    domain = load_domain(FOLDER, {"compat": compat})
    world = domain.world
    assert world is not None
    rng, codes, state = random.Random(11), set(), domain.base
    private = set(secrets(state))
    for _ in range(3_000):
        name = rng.choice(list(domain.specs))
        call = ToolCall(name, arguments_for(rng, domain, name, state))
        terse, told, code = both(world, state, call)
        if code is None:
            assert told == terse
            state = world.call(state, call).state or state
            continue
        codes.add(code)
        assert told.startswith(f"{terse.rstrip('.')}. Why: ")
        why = told.partition(" Why: ")[2]
        assert len(why) > 40
        assert why.endswith(".")
        assert not any(text in why for text in private)
    assert codes >= KNOWN[compat]


@pytest.mark.parametrize("compat", [None, "tau2"])
@pytest.mark.parametrize(
    ("call", "code", "named"),
    [
        (ToolCall("cancel", {}), "unknown_tool", "cancel_pending_order, modify_pending_order_address"),
        (ToolCall("get_order_details", {"order": "#W1"}), "invalid_arguments", "get_order_details(order_id: string)"),
        (
            ToolCall("return_delivered_order_items", {"order_id": "#W1"}),
            "invalid_arguments",
            "(order_id: string, item_ids: array of string, payment_method_id: string)",
        ),
    ],
)
def test_a_refused_call_says_what_would_do(compat: Any, call: ToolCall, code: str, named: str) -> None:
    domain = load_domain(FOLDER, {"compat": compat})
    assert domain.world is not None
    terse, told, given = both(domain.world, domain.base, call)
    assert given == code
    assert told.startswith(terse)
    assert named in told
    assert named not in terse


def test_odd_arguments_of_the_benchmark_are_explained() -> None:
    domain = load_domain(FOLDER, {"compat": "tau2"})
    assert domain.world is not None
    call = ToolCall("find_user_id_by_email", {"email": 7})
    terse, told, _ = both(domain.world, domain.base, call)
    assert terse == "Error: 'int' object has no attribute 'lower'"
    assert "find_user_id_by_email(email: string)" in told
