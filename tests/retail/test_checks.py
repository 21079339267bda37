"""Checks that know what belongs to whom."""

from __future__ import annotations

from typing import Any

import pytest

from simia_gym.envs.retail.checks import OwnDataArgs, own_data
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.state import State
from simia_gym.types import JsonObject, Task

BASE = State.from_tables(
    {
        "users": {"ada_1": {"user_id": "ada_1"}, "bob_2": {"user_id": "bob_2"}},
        "orders": {"#W1": {"order_id": "#W1", "user_id": "ada_1"}, "#W2": {"order_id": "#W2", "user_id": "bob_2"}},
    }
)
TOOLS = {
    name: {"x-simia": {"effect": effect}}
    for name, effect in (
        ("find_user_id_by_email", "read"),
        ("get_user_details", "read"),
        ("get_order_details", "read"),
        ("cancel_pending_order", "write"),
    )
}
ADA: tuple[str, JsonObject, str] = ("find_user_id_by_email", {"email": "a"}, "ada_1")
BOB: tuple[str, JsonObject, str] = ("find_user_id_by_email", {"email": "b"}, "bob_2")


def _trace(*calls: tuple[str, JsonObject, str]) -> FinishedEpisode:
    events: list[dict[str, Any]] = []
    for i, (name, arguments, observation) in enumerate(calls):
        outcome = "error" if observation.startswith("Error") else "ok"
        events.append(
            {
                "i": i,
                "type": "transition",
                "turn": i,
                "speaker": "tool",
                "call": {"name": name, "arguments": arguments, "id": "c"},
                "observation": observation,
                "outcome": outcome,
                "ops": [],
            }
        )
    task = Task(id="t", split="train", kind="k")
    return FinishedEpisode(task=task, events=events, initial=BASE, final=BASE, ended="user_stop", turns=9, tools=TOOLS)


@pytest.mark.parametrize(
    ("calls", "holds"),
    [
        ((), True),
        ((ADA, ("get_user_details", {"user_id": "ada_1"}, "{}")), True),
        ((ADA, ("cancel_pending_order", {"order_id": "#W1"}, "{}")), True),
        ((ADA, ("get_order_details", {"order_id": "#W1"}, "{}")), True),
        ((ADA, ("get_order_details", {"order_id": "#W2"}, "{}")), False),
        ((ADA, ("get_order_details", {"order_id": "#W2"}, "Error: no")), False),
        ((("get_order_details", {"order_id": "#W1"}, "{}"),), False),
        ((ADA, ADA), True),
        ((ADA, ("cancel_pending_order", {"order_id": "#W2"}, "{}")), False),
        ((ADA, ("cancel_pending_order", {"order_id": "#W2"}, "Error: no")), False),
        ((ADA, ("get_user_details", {"user_id": "bob_2"}, "{}")), False),
        ((("cancel_pending_order", {"order_id": "#W1"}, "{}"),), False),
        ((ADA, BOB), False),
        ((("find_user_id_by_email", {"email": "x"}, "Error: User not found"), ADA), True),
        ((ADA, ("cancel_pending_order", {"order_id": "#W9"}, "Error: Order not found")), True),
    ],
)
def test_own_data(calls: tuple[tuple[str, JsonObject, str], ...], holds: bool) -> None:
    finding = own_data(_trace(*calls), OwnDataArgs())
    assert finding.met is holds
    assert holds or finding.evidence


READ_OTHER: tuple[str, JsonObject, str] = ("get_order_details", {"order_id": "#W2"}, "{}")
NOBODY: tuple[str, JsonObject, str] = ("find_user_id_by_email", {"email": "x"}, "Error: User not found")


@pytest.mark.parametrize(
    ("given", "calls", "holds"),
    [
        ({"customer": "ada_1"}, (ADA,), True),
        ({"customer": "ada_1"}, (BOB,), False),
        ({"customer": "ada_1"}, (), True),
        ({"customer": None}, (NOBODY,), True),
        ({"customer": None}, (BOB,), False),
        ({"readable": ["#W2"]}, (ADA, READ_OTHER), True),
        ({"readable": ["#W2"]}, (ADA, ("cancel_pending_order", {"order_id": "#W2"}, "{}")), False),
    ],
)
def test_own_data_of_a_known_customer(
    given: JsonObject, calls: tuple[tuple[str, JsonObject, str], ...], holds: bool
) -> None:
    assert own_data(_trace(*calls), OwnDataArgs(**given)).met is holds
