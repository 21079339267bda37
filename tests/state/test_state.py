from __future__ import annotations

import pickle
from typing import Any

import pytest

from simia_gym.errors import InputError, PatchError
from simia_gym.state import FrozenDict, State
from simia_gym.types import Op

TABLES: dict[str, dict[str, Any]] = {
    "orders": {"#1": {"status": "pending", "items": [{"id": 1}, {"id": 2}]}, "#2": {"status": "done", "items": []}},
    "users": {"ann": {"name": "Ann"}},
    "empty": {},
}


@pytest.fixture
def state() -> State:
    return State.from_tables(TABLES)


def test_reading(state: State) -> None:
    assert state.tables == ("orders", "users", "empty")
    assert state.get("orders", "#1") == TABLES["orders"]["#1"]
    assert state.get("orders", "#9") is None
    assert state.get("absent", "#1") is None
    assert state.has("users", "ann")
    assert not state.has("users", "bob")
    assert list(state.keys("orders")) == ["#1", "#2"]
    assert list(state.rows("absent")) == []
    assert (state.count("orders"), state.count("empty"), state.count("absent")) == (2, 0, 0)
    assert state.to_tables() == TABLES
    assert repr(state) == "State(orders: 2 rows, users: 1 rows, empty: 0 rows)"


def test_pointers_into_a_state(state: State) -> None:
    assert state.at("/orders/#1/items/1/id") == 2
    assert state.at("/orders/#1") is state.get("orders", "#1")
    assert state.at("/users") == TABLES["users"]
    assert state.at("") == TABLES
    for pointer in ("/orders/#9", "/absent", "/absent/x", "/orders/#1/items/2", "/orders/#1/items/-", "bad"):
        with pytest.raises(PatchError) as caught:
            state.at(pointer)
        assert caught.value.path == pointer


@pytest.mark.parametrize(
    ("tables", "where", "what"),
    [
        ({"t": []}, "", "table 't' is a list"),
        ({"t": {"k": 5}}, "table 't'", "row 'k' is a int"),
        ({"t": {"k": {"v": {1}}}}, "table 't', /k/v", "is not a JSON value"),
        ({"t": {5: {}}}, "table 't', ", "key 5"),
        ({5: {}}, "", "table name 5"),
    ],
)
def test_broken_tables_are_refused(tables: Any, where: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        State.from_tables(tables)
    assert what in str(caught.value)
    assert caught.value.where == where


def test_applying_shares_what_is_not_written(state: State) -> None:
    made = state.apply(
        [
            {"op": "test", "path": "/orders/#1/status", "value": "pending"},
            {"op": "replace", "path": "/orders/#1/status", "value": "done"},
            {"op": "add", "path": "/orders/#1/items/-", "value": {"id": 3}},
            {"op": "add", "path": "/orders/#3", "value": {"status": "new"}},
            {"op": "remove", "path": "/users/ann"},
            {"op": "add", "path": "/log/1", "value": {"text": "a new table"}},
        ]
    )
    assert state.to_tables() == TABLES
    assert made.get("orders", "#2") is state.get("orders", "#2")
    assert made.at("/orders/#1/items/0") is state.at("/orders/#1/items/0")
    assert made.tables == ("orders", "users", "empty", "log")
    assert list(made.keys("orders")) == ["#1", "#2", "#3"]
    assert made.count("users") == 0
    assert made.touched_since(state) == [("log", "1"), ("orders", "#1"), ("orders", "#3"), ("users", "ann")]
    assert state.touched_since(made) == made.touched_since(state)


def test_operations_on_rows_of_the_same_patch(state: State) -> None:
    made = state.apply(
        [
            {"op": "add", "path": "/users/bob", "value": {"n": 1}},
            {"op": "replace", "path": "/users/bob/n", "value": 2},
            {"op": "test", "path": "/users", "value": {"bob": {"n": 2}, "ann": {"name": "Ann"}}},
            {"op": "remove", "path": "/users/ann"},
            {"op": "add", "path": "/users/ann", "value": {"name": "another"}},
            {"op": "add", "path": "/users/gone", "value": {}},
            {"op": "remove", "path": "/users/gone"},
        ]
    )
    assert list(made.rows("users")) == [("bob", {"n": 2}), ("ann", {"name": "another"})]
    assert made.touched_since(state) == [("users", "ann"), ("users", "bob")]


@pytest.mark.parametrize(
    ("op", "words"),
    [
        ({"op": "add", "path": "/users", "value": {}}, "must address a row"),
        ({"op": "remove", "path": ""}, "must address a row"),
        ({"op": "add", "path": "/users/bob", "value": 5}, "a row is an object, not a int"),
        ({"op": "replace", "path": "/users/ann", "value": []}, "a row is an object"),
        ({"op": "replace", "path": "/users/bob", "value": {}}, "no row 'bob' in table 'users'"),
        ({"op": "add", "path": "/users/bob/name", "value": "Bob"}, "no row 'bob'"),
        ({"op": "remove", "path": "/users/bob"}, "no row 'bob'"),
        ({"op": "test", "path": "/users/bob", "value": None}, "no row 'bob'"),
        ({"op": "test", "path": "/absent", "value": {}}, "no table 'absent'"),
    ],
)
def test_a_patch_is_applied_whole_or_not_at_all(state: State, op: Op, words: str) -> None:
    with pytest.raises(PatchError) as caught:
        state.apply([{"op": "replace", "path": "/users/ann/name", "value": "changed"}, op])
    assert words in caught.value.message
    assert (caught.value.op_index, caught.value.path) == (1, op["path"])
    assert state.to_tables() == TABLES


def test_nothing_written_is_the_same_state(state: State) -> None:
    new = {"op": "add", "path": "/log/1", "value": {}}
    assert state.apply([]) is state
    assert state.apply([{"op": "test", "path": "/users/ann/name", "value": "Ann"}]) is state
    assert state.apply([new, {"op": "remove", "path": "/log/1"}]) is state


def test_states_are_compared_with_others_of_their_origin(state: State) -> None:
    there = state.apply([{"op": "replace", "path": "/users/ann/name", "value": "x"}])
    back = there.apply([{"op": "replace", "path": "/users/ann/name", "value": "Ann"}])
    gone = state.apply([{"op": "remove", "path": "/users/ann"}])
    for one, other in ((there, state), (back, there), (there, gone)):
        assert one.touched_since(other) == [("users", "ann")]
    assert back.touched_since(state) == []
    with pytest.raises(InputError, match="no common origin"):
        state.touched_since(State.from_tables(TABLES))


def test_states_travel_between_processes(state: State) -> None:
    made = state.apply([{"op": "add", "path": "/users/bob", "value": {"status": "x"}}])
    made.draft().find("users", "status", lambda key, row: row.get("status"), "x")
    origin, copied = pickle.loads(pickle.dumps((state, made)))
    assert copied.to_tables() == made.to_tables()
    assert copied.touched_since(origin) == [("users", "bob")]
    assert type(copied.get("users", "bob")) is FrozenDict
    assert copied.draft().find("users", "status", lambda key, row: row.get("status"), "x") == ["bob"]
