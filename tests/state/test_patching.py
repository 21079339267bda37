"""A patch at work gives what its operations give one after the other, and a failing operation leaves no trace."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from simia_gym.errors import PatchError
from simia_gym.state import State
from simia_gym.state.patch import parse_op
from simia_gym.state.state import Patching

TABLES: dict[str, dict[str, dict[str, Any]]] = {
    "a": {"x": {"n": 1, "in": {"k": [1, 2]}}, "y": {}, "z": {"n": 0}},
    "b": {},
}

PATHS = st.sampled_from(
    [f"/{table}/{key}" for table in "abc" for key in "xyzuv"]
    + ["/a/x/n", "/a/x/in/k/0", "/a/x/in/k/-", "/a/y/n", "/b/u/n", "/c/v/n", "/a", ""]
)
VALUES = st.sampled_from([{}, {"n": 1}, {"n": 2, "in": {"k": []}}, 1, None, "t", [1]])
OPS = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "add", "replace", "remove", "test"]), "path": PATHS, "value": VALUES}
    ),
    max_size=12,
)


def written(state: State) -> str:
    """All of a state with the order of its tables, rows and members."""
    return json.dumps(state.to_tables())


def refused(work: Patching, op: dict[str, Any]) -> str | None:
    """Run an operation; what it was refused with."""
    try:
        work.run(parse_op(op))
    except PatchError as error:
        return error.message
    return None


@given(ops=OPS)
@settings(deadline=None, database=None, max_examples=150)
def test_operations_at_once_are_operations_one_by_one(ops: list[dict[str, Any]]) -> None:
    start = State.from_tables(TABLES)
    work, one_by_one = Patching(start), start
    for op in ops:
        try:
            one_by_one, refusal = one_by_one.apply((op,)), None
        except PatchError as error:
            refusal = error.message
        assert refused(work, op) == refusal
        for table in "abc":
            for key in "xyzuv":
                assert work.get(table, key) == one_by_one.get(table, key)
    assert written(work.done()) == written(one_by_one)
    assert written(start) == json.dumps(TABLES)


def test_a_patch_without_effect_gives_the_state_itself() -> None:
    start = State.from_tables(TABLES)
    work = Patching(start)
    assert work.done() is start
    work.run(parse_op({"op": "add", "path": "/b/u", "value": {}}))
    work.run(parse_op({"op": "remove", "path": "/b/u"}))
    assert work.done() is start
