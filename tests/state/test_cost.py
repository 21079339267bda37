"""What a step costs must not grow with the database or with the length of the episode."""

from __future__ import annotations

import pytest

from simia_gym.state import State
from simia_gym.state.table import IndexFn
from simia_gym.types import Row

from ..work import bytes_in, calls_in


def owner(key: str, row: Row) -> str | None:
    user = row.get("user_id")
    return user if isinstance(user, str) else None


def database(rows: int) -> State:
    items = [{"name": "Lamp", "item_id": str(each), "options": {"color": "red"}} for each in range(6)]
    orders = {f"#{n}": {"user_id": f"u{n % 700}", "status": "pending", "items": items} for n in range(rows)}
    return State.from_tables({"orders": orders})


def step(state: State, key: str, fn: IndexFn = owner) -> State:
    draft = state.draft()
    draft.row("orders", key)
    draft.find("orders", "owner", fn, draft.row("orders", key)["user_id"])
    row = draft.edit("orders", key)
    row["status"] = "cancelled" if row["status"] == "pending" else "pending"
    made, ops = draft.commit()
    assert len(ops) == 1
    assert made.touched_since(state) == [("orders", key)]
    return made


def test_a_step_costs_the_same_in_a_small_and_a_large_database() -> None:
    small, large = database(20), database(4_000)
    step(small, "#7"), step(large, "#7")
    for cost in (calls_in, bytes_in):
        assert cost(step, large, "#7")[0] < 2 * cost(step, small, "#7")[0]


def test_a_hash_after_a_step_costs_as_much_as_the_changed_rows() -> None:
    costs = []
    for state in (database(20), database(4_000)):
        state.hash(["orders"])
        for number in range(15):
            state = step(state, f"#{number}")
        costs.append(calls_in(lambda each: step(each, "#7").hash(["orders"]), state)[0])
    assert costs[1] < 2 * costs[0]


def test_a_long_episode_on_few_rows_stays_small() -> None:
    state = database(10)
    for number in range(500):
        state = step(state, f"#{number % 5}")
    table = state.table("orders")
    assert table is not None
    assert sum(len(layer.entries) for layer in table.layers) <= 10


@pytest.mark.slow
def test_a_step_late_in_an_episode_that_changes_many_rows_costs_as_much_as_an_early_one() -> None:
    state = database(2_000)
    asked = 0

    def counted(key: str, row: Row) -> str | None:
        nonlocal asked
        asked += 1
        return owner(key, row)

    state.draft().find("orders", "owner", counted, "")
    work, copied = list[int](), list[int]()
    for number in range(1_500):
        asked = 0
        before = state.table("orders")
        state = step(state, f"#{number}", counted)
        after = state.table("orders")
        assert before is not None
        assert after is not None
        work.append(asked)
        copied.append(sum(len(layer.entries) for layer in after.layers if layer not in before.layers))
    for cost in (work, copied):
        assert sum(cost[-500:]) < 500 * 25  # of up to 1,500 changed rows


def test_a_row_that_was_added_and_removed_leaves_nothing() -> None:
    state = database(10)
    for number in range(200):
        state = state.apply([{"op": "add", "path": f"/orders/new{number}", "value": {"user_id": "u1"}}])
        state = state.apply([{"op": "remove", "path": f"/orders/new{number}"}])
    table = state.table("orders")
    assert table is not None
    assert sum(len(layer.entries) for layer in table.layers) <= 10
    assert state.count("orders") == len(list(state.rows("orders"))) == 10
