from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia_gym.domain.goal import check_goal, first_difference, goal_of
from simia_gym.errors import InputError
from simia_gym.state import State, strict_equal

from .story import BASE, holds

KEYS = st.sampled_from(["a", "b", "a/b", "~", "0", ""])
LEAVES = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.5, 1.0]) | st.sampled_from(["", "x"])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
ROWS = st.dictionaries(KEYS, st.dictionaries(KEYS, VALUES, max_size=3), max_size=3)


def changed(base: State, rows: dict[str, Any]) -> State:
    draft = base.draft()
    for key in base.keys("t"):
        if key not in rows:
            draft.remove("t", key)
    for key, row in rows.items():
        draft.put("t", key, row)
    return draft.commit()[0]


def null_free(value: Any) -> Any:
    """A null and nothing are the same to a goal."""
    if isinstance(value, dict):
        return {key: null_free(item) for key, item in value.items() if item is not None}
    return [null_free(item) for item in value] if isinstance(value, list) else value


@given(ROWS, ROWS)
def test_a_goal_is_met_by_the_state_it_was_made_of(before: dict[str, Any], after: dict[str, Any]) -> None:
    initial = State.from_tables({"t": before})
    final = changed(initial, after)
    goal = goal_of(initial, final)
    check_goal(goal)
    assert first_difference(goal, initial, final) is None


@given(ROWS, ROWS, ROWS)
@pytest.mark.slow
def test_a_goal_is_met_by_no_other_state(before: dict[str, Any], after: dict[str, Any], other: dict[str, Any]) -> None:
    initial = State.from_tables({"t": before})
    goal = goal_of(initial, changed(initial, after))
    difference = first_difference(goal, initial, changed(initial, other))
    if strict_equal(after, other):
        assert difference is None
    elif not strict_equal(null_free(after), null_free(other)):
        assert difference is not None
        assert difference.describe().startswith(difference.path)


def test_what_a_goal_looks_like() -> None:
    final = BASE.apply(
        [
            {"op": "replace", "path": "/orders/#W1/status", "value": "cancelled"},
            {"op": "add", "path": "/orders/#W1/items/-", "value": "z"},
            {"op": "remove", "path": "/orders/#W2"},
            {"op": "replace", "path": "/_clock/now/tick", "value": 3},
        ]
    )
    assert goal_of(BASE, final) == (
        holds("/orders/#W1/status", "cancelled"),
        holds("/orders/#W1/items", ["a", "b", "z"]),
        holds("/orders/#W2", None),
    )
    assert goal_of(BASE, BASE) == ()


@pytest.mark.parametrize(
    "bad",
    [
        "no operation",
        {"op": "replace", "path": "/a/b", "value": 1},
        {"op": "test", "path": "/a/b"},
        {"op": "test", "path": "/a", "value": {}},
        {"op": "test", "path": "", "value": {}},
        {"op": "test", "path": "/_clock/now", "value": {}},
    ],
)
def test_what_is_no_goal(bad: Any) -> None:
    with pytest.raises(InputError, match="goal"):
        check_goal([holds("/a/b", 1), bad])
