from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simia_gym.errors import DomainError
from simia_gym.state import State
from simia_gym.state.schema import StateSchema, read_state_schema

SCHEMA: dict[str, Any] = {
    "tables": {
        "desks": {"open": True},
        "loans": {
            "key": "id",
            "row": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
            "foreign_keys": {"/desk": "desks", "/moves/*/to": "desks"},
        },
    },
    "invariants": [
        {"id": "order", "table": "loans", "left": "/n", "op": "<=", "right": "/most"},
        {"id": "small", "table": "loans", "left": "/n", "op": "<", "right": 100},
        {"id": "few", "check": "rules.py:few"},
    ],
}
RULES = """\
def few(state, touched):
    if state.count("loans") > 2 and touched:
        yield f"there are {state.count('loans')} loans, {len(touched)} touched"
"""
COMPARISON = {"id": "x", "table": "a", "left": "/x", "op": "<", "right": 1}
ROW = {"id": "a", "n": 1, "most": 3, "desk": "d", "moves": [{"to": "d"}, {"to": None}, {}]}


@pytest.fixture
def schema(tmp_path: Path) -> StateSchema:
    return _read(tmp_path, SCHEMA)


def _read(folder: Path, value: Any) -> StateSchema:
    (folder / "rules.py").write_text(RULES)
    path = folder / "state.schema.json"
    path.write_text(json.dumps(value))
    return read_state_schema(path)


def _state(**rows: Any) -> State:
    return State.from_tables({"desks": {"d": {}}, "loans": rows, "_clock": {"x": {"free": [1]}}})


def test_a_sound_state_and_an_unknown_table(schema: StateSchema) -> None:
    assert list(schema.problems(_state(a=ROW))) == []
    assert schema.open_tables == {"desks"}
    unknown = State.from_tables({"chairs": {"x": {}}})
    assert list(schema.problems(unknown)) == ["/chairs/x: the schema has no table 'chairs'"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n": "1"}, "/loans/a/n: "),
        ({"n": 1.5}, "/loans/a/n: "),
        ({"id": "b"}, "/loans/a/id: must be the row's key 'a'"),
        ({"desk": 4}, "/loans/a/desk: 4 is no key"),
        ({"n": 100, "most": 1000}, "invariant 'small' is broken"),
        ({"most": "x"}, "invariant 'order'"),
    ],
)
def test_each_mistake_is_named(schema: StateSchema, change: dict[str, Any], says: str) -> None:
    found = list(schema.problems(_state(a={**ROW, **change})))
    assert any(says in text for text in found), found


def test_every_mistake_of_a_row_is_named_where_it_stands(schema: StateSchema) -> None:
    moves = [{"to": "p"}, {"to": "d"}, {"to": None}, {"to": "q"}]
    assert list(schema.problems(_state(a={**ROW, "moves": moves, "desk": "e", "n": 7}))) == [
        "/loans/a/desk: 'e' is no key of table 'desks'",
        "/loans/a/moves/0/to: 'p' is no key of table 'desks'",
        "/loans/a/moves/3/to: 'q' is no key of table 'desks'",
        "/loans/a: invariant 'order' is broken: /n is 7, which is not <= 3",
    ]


def test_only_the_given_rows_are_looked_at(schema: StateSchema) -> None:
    state = _state(a=ROW, b={**ROW, "id": "b", "n": "no"})
    assert list(schema.problems(state, [("loans", "a"), ("loans", "gone"), ("_clock", "x")])) == []
    assert list(schema.problems(state, [("loans", "b")]))


def test_functions_see_the_state_and_the_touched_rows(schema: StateSchema) -> None:
    state = _state(**{key: {**ROW, "id": key} for key in "abc"})
    touched = [("loans", "a"), ("_clock", "x")]
    assert list(schema.problems(state, touched)) == ["invariant 'few' is broken: there are 3 loans, 1 touched"]
    assert list(schema.problems(state, [])) == []


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([], "state.schema.json:1: "),
        ({}, "'tables'"),
        ({"tables": []}, "tables: "),
        ({"tables": {"a": 1}}, "tables.a: "),
        ({"tables": {"a": {"rows": {}}}}, "tables.a.rows"),
        ({"tables": {"a": {"row": {"type": 4}}}}, "tables.a.row: "),
        ({"tables": {"a": {"row": {"$ref": "#/none"}}}}, "'/none'"),
        ({"tables": {"a": {"foreign_keys": [{"path": "/x"}]}}}, "tables.a.foreign_keys"),
        ({"tables": {"a": {"foreign_keys": {"/x": "b"}}}}, "tables.a.foreign_keys./x: there is no table 'b'"),
        ({"tables": {"a": {"foreign_keys": {"x": "a"}}}}, "tables.a.foreign_keys.x: this is no JSON Pointer"),
        ({"tables": {"a": {"key": 4}}}, "tables.a.key: "),
        ({"tables": {"a": {"key": "/~5"}}}, "tables.a.key"),
        ({"tables": {"a": {}}, "invariants": [{}]}, "invariants[0].id"),
        ({"tables": {"a": {}}, "invariants": [{"id": "x", "table": "b"}]}, "invariants[0]: lacks left"),
        ({"tables": {"a": {}}, "invariants": [{**COMPARISON, "table": "b"}]}, "invariants[0]: there is no table 'b'"),
        ({"tables": [1] * 200}, "tables: Input should be an object, got [1, 1"),
        ({"tables": {"a": {}}, "invariants": [{**COMPARISON, "op": "~"}]}, "invariants[0].op: "),
        ({"tables": {"a": {}}, "invariants": [{**COMPARISON, "op": ["<="]}]}, "invariants[0].op: "),
        ({"tables": {"a": {}}, "invariants": [{**COMPARISON, "table": None}]}, "invariants[0]: lacks table"),
        ({"tables": {"a": {}}, "invariants": [{"id": "x", "check": "rules.py:many"}]}, "rules.py has no 'many'"),
        ({"tables": {"a": {}}, "invariants": [{"id": "x", "check": "rules.py:RULES"}]}, "rules.py"),
    ],
)
def test_broken_schema_is_named(tmp_path: Path, value: Any, says: str) -> None:
    with pytest.raises(DomainError) as caught:
        _read(tmp_path, value)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(tmp_path)) + 200


def test_every_table_that_does_not_exist_is_named_by_its_place(tmp_path: Path) -> None:
    tables = {"a": {"foreign_keys": {"/y": "b", "/z/*/w": "c", "/u": "a"}}}
    with pytest.raises(DomainError) as caught:
        _read(tmp_path, {"tables": tables, "invariants": [COMPARISON, {**COMPARISON, "table": "d"}]})
    places = [problem.where.rpartition(": ")[2] for problem in caught.value.problems]
    assert places == ["tables.a.foreign_keys./y", "tables.a.foreign_keys./z/*/w", "invariants[1]"]
