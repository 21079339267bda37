"""What a step costs must not grow with the database or with the length of the episode."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simia_gym.common.json_encoding import encode
from simia_gym.state import State
from simia_gym.types import Op, Row

from ..work import bytes_in, calls_in

RETAIL = Path(__file__).resolve().parents[3] / "shared" / "data" / "tau2" / "retail" / "db.json"


def owner(key: str, row: Row) -> str | None:
    user = row.get("user_id")
    return user if isinstance(user, str) else None


def order(number: int) -> dict[str, Any]:
    item = {"name": "Lamp", "product_id": "1", "price": 9.5, "options": {"color": "red", "size": "small"}}
    return {
        "user_id": f"u{number % 700}",
        "status": "pending",
        "address": {"street": "Elm Street 1", "city": "Austin", "zip": "78701", "country": "USA"},
        "items": [{**item, "item_id": str(each)} for each in range(6)],
        "payments": [{"type": "payment", "amount": 57.0, "method": "card_1"}],
    }


def database(rows: int) -> State:
    return State.from_tables({"orders": {f"#{n}": order(n) for n in range(rows)}})


def step(state: State, key: str) -> State:
    draft = state.draft()
    draft.row("orders", key)
    draft.find("orders", "owner", owner, draft.row("orders", key)["user_id"])
    row = draft.edit("orders", key)
    row["status"] = f"{row['status'][:7]} x"
    row["payments"].append({"type": "refund", "amount": 57.0, "method": "card_1"})
    made, ops = draft.commit()
    assert len(ops) == 2
    assert made.touched_since(state) == [("orders", key)]
    return made


def test_a_step_costs_the_same_in_a_small_and_a_large_database() -> None:
    small, large = database(20), database(4_000)
    step(small, "#7"), step(large, "#7")
    for cost in (calls_in, bytes_in):
        assert cost(step, large, "#7")[0] < 2 * cost(step, small, "#7")[0]


def test_a_step_costs_the_same_after_two_thousand_touched_rows() -> None:
    state = database(2_500)
    calls, copied = [], 0
    for number in range(2_000):
        key = f"#{number}"
        count, made = calls_in(step, state, key)
        calls.append(count)
        before, after = state.table("orders"), made.table("orders")
        assert before is not None
        assert after is not None
        copied += len(after.delta) if after.main is before.main else len(after.main.entries)
        state = made
    assert copied / 2_000 < 100  # entries for each commit, the merges of layers included
    assert sum(calls[-300:]) < 1.5 * sum(calls[100:400])


def test_a_long_episode_on_few_rows_stays_small() -> None:
    state = database(10)
    for number in range(500):
        draft = state.draft()
        draft.edit("orders", f"#{number % 5}")["status"] = str(number)
        state, _ = draft.commit()
    table = state.table("orders")
    assert table is not None
    assert len(table.delta) + len(table.main.entries) <= 10


@pytest.mark.skipif(not RETAIL.exists(), reason="the public retail database is not there")
def test_a_real_database() -> None:
    data = json.loads(RETAIL.read_text(encoding="utf-8"))
    state = State.from_tables(data)
    assert encode(state.to_tables()) == encode(data)
    origin = state
    ops_so_far: list[Op] = []
    for key in list(data["orders"])[:200]:
        draft = state.draft()
        row = draft.edit("orders", key)
        row["status"] = "cancelled" if row["status"] != "cancelled" else "pending"
        row["payment_history"].append({"transaction_type": "refund", "amount": 1, "payment_method_id": "card"})
        mine = draft.find("orders", "owner", owner, row["user_id"])
        assert key in mine
        state, ops = draft.commit()
        assert len(ops) == 2
        ops_so_far.extend(ops)
    assert state.touched_since(origin) == sorted(("orders", key) for key in list(data["orders"])[:200])
    assert encode(origin.apply(ops_so_far).to_tables()) == encode(state.to_tables())
    assert encode(origin.to_tables()) == encode(data)
    for number, key in enumerate(data["users"]):
        found = state.draft().find("orders", "owner", owner, key)
        if number % 25 == 0:
            assert found == [each for each, row in data["orders"].items() if row["user_id"] == key]
