"""Laws that hold for every JSON value and every history of changes."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia_gym.common.json_encoding import decode, encode
from simia_gym.errors import PatchError
from simia_gym.state import (
    Draft,
    State,
    freeze,
    identical,
    strict_equal,
    thaw,
)
from simia_gym.types import Op, Row

from .documents import difference, patched

settings.register_profile("state", deadline=None, database=None, max_examples=150)
PROFILE = settings.get_profile("state")

KEYS = st.sampled_from(["", "a", "b", "/", "~", "~1", "~0", ".", "a/b", "0", "-", "ü", "日本", "\x00", '"']) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=4
)
ATOMS = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, 2, -1, 0.0, -0.0, 1.0, 2.5, True, False, 2**70, 10**16, 1e16, "", "a", "1", "null"])
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
)
VALUES = st.recursive(
    ATOMS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=20
)
ROWS = st.dictionaries(KEYS, VALUES, max_size=5)


@st.composite
def changed(draw: st.DrawFn, value: Any, depth: int = 0) -> Any:
    """A value that is like another one except in a few places, as a tool leaves it."""
    choice = draw(st.integers(0, 6 if depth else 5))
    if isinstance(value, dict) and value and choice < 5:
        result = dict(value)
        key = draw(st.sampled_from(list(result)))
        if choice == 0:
            del result[key]
        elif choice == 1:
            result[draw(KEYS)] = draw(VALUES)
        elif choice == 2:
            result[key] = result.pop(key)
        else:
            result[key] = draw(changed(result[key], depth + 1))
        return result
    if isinstance(value, list) and value and choice < 5:
        items = list(value)
        index = draw(st.integers(0, len(items) - 1))
        if choice == 0:
            del items[index]
        elif choice == 1:
            items.insert(index, draw(VALUES))
        elif choice == 2:
            items.append(draw(VALUES))
        else:
            items[index] = draw(changed(items[index], depth + 1))
        return items
    if choice < 5:
        return draw(st.sampled_from([1, 1.0, True, 0, 0.0, -0.0, False, None, "", [], {}]))
    return draw(VALUES)


PAIRS = VALUES.flatmap(lambda value: st.tuples(st.just(value), changed(value) | VALUES))


@PROFILE
@given(PAIRS)
@pytest.mark.slow
def test_the_operations_of_an_edit_lead_to_its_value_to_the_byte(pair: tuple[Any, Any]) -> None:
    before, after = pair
    kept = encode(before), encode(after)
    ops = difference(before, after)
    assert encode(patched(before, ops)) == encode(patched(before, decode(encode(ops)))) == encode(after)
    assert (encode(before), encode(after)) == kept
    assert bool(ops) == (encode(before) != encode(after))


@PROFILE
@given(PAIRS)
def test_equalities(pair: tuple[Any, Any]) -> None:
    a, b = pair
    assert identical(a, b) == (encode(a) == encode(b))
    assert identical(a, copy.deepcopy(a))
    assert identical(freeze(a), a)
    assert strict_equal(a, copy.deepcopy(a))
    assert strict_equal(a, b) == strict_equal(b, a)
    if identical(a, b):
        assert strict_equal(a, b)
    if not strict_equal(a, b):
        with pytest.raises(PatchError):
            patched(a, [{"op": "test", "path": "", "value": b}])


@PROFILE
@given(VALUES)
def test_freezing_keeps_the_value_and_thawing_unshares_it(value: Any) -> None:
    frozen = freeze(value)
    assert encode(frozen) == encode(value)
    assert json.dumps(frozen) == json.dumps(value)
    assert frozen == value
    assert freeze(frozen) is frozen
    plain = thaw(frozen)
    assert encode(plain) == encode(value)
    assert type(plain) is type(value)


PLACES = [f"/{table}/{key}" for table in "abc" for key in "xyzu"]
OPS = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "add", "replace", "remove", "test"]),
            "path": st.sampled_from([*PLACES, "/a/x/n", "/a/x/in/k/0", "/a/x/in/k/-", "/b/u/n", "/a", ""]),
            "value": st.sampled_from([{}, {"n": 1}, {"n": 2, "in": {"k": []}}, 1, None, [1]]),
        }
    ),
    max_size=12,
)


@PROFILE
@given(OPS)
def test_operations_at_once_are_operations_one_by_one(ops: list[Op]) -> None:
    start = State.from_tables({"a": {"x": {"n": 1, "in": {"k": [1, 2]}}, "y": {}}, "b": {}})
    accepted: list[Op] = []
    one_by_one = start
    for op in ops:
        try:
            one_by_one = one_by_one.apply([op])
        except PatchError as error:
            with pytest.raises(PatchError, match=re.escape(error.message)):
                start.apply([*accepted, op])
        else:
            accepted.append(op)
    assert encode(start.apply(accepted).to_tables()) == encode(one_by_one.to_tables())


# A history is a list of commands that a draft and a plain document obey alike.
COMMANDS = st.lists(
    st.tuples(
        st.sampled_from(["edit", "edit", "put", "remove", "find", "commit"]),
        st.sampled_from(["t", "u", "new/~"]),
        st.sampled_from(["a", "b", "c", "d/", "~e", ""]),
        st.sampled_from(["x", "y"]),
        ATOMS,
    ),
    max_size=40,
)


def _value(key: str, row: Row) -> Any:
    found = row.get("x")
    return found if isinstance(found, str | int) else None


def _found(tables: dict[str, dict[str, Any]], table: str, value: Any) -> list[str]:
    return [key for key, row in tables.get(table, {}).items() if _value(key, row) == value]


@PROFILE
@given(
    st.dictionaries(st.sampled_from(["t", "u"]), st.dictionaries(st.sampled_from("abc"), ROWS, max_size=3), max_size=2),
    COMMANDS,
)
@pytest.mark.slow
def test_drafts_and_patches_agree_with_a_plain_document(
    start: dict[str, Any], commands: list[tuple[str, str, str, str, Any]]
) -> None:
    origin = State.from_tables(start)
    kept = encode(origin.to_tables())
    model: dict[str, Any] = copy.deepcopy(start)
    state, replayed = origin, origin
    ops_so_far: list[Op] = []
    draft = state.draft()
    for name, table, key, field, value in [*commands, ("commit", "t", "a", "x", None)]:
        rows = model.get(table, {})
        if name == "edit":
            if key in rows:
                draft.edit(table, key)[field] = value
                rows[key][field] = value
            else:
                with pytest.raises(KeyError):
                    draft.edit(table, key)
        elif name == "put":
            row = {field: value, "put": [value]}
            draft.put(table, key, row)
            model.setdefault(table, {})[key] = copy.deepcopy(row)
            row["put"].append("a change that comes too late")
        elif name == "remove":
            if key in rows:
                draft.remove(table, key)
                del rows[key]
            else:
                with pytest.raises(KeyError):
                    draft.remove(table, key)
        elif name == "find":
            _check_draft(draft, model, table, value)
        else:
            before = encode(state.to_tables())
            after, ops = draft.commit()
            assert encode(state.to_tables()) == before
            assert (after is state) == (not ops)
            # The same operations, read back from a record, lead to the same bytes.
            assert encode(state.apply(decode(encode(ops))).to_tables()) == encode(after.to_tables())
            ops_so_far.extend(ops)
            state, replayed = after, replayed.apply(ops)
            draft = state.draft()
            _check_state(state, origin, model, start)
    assert encode(origin.to_tables()) == kept
    assert encode(origin.apply(ops_so_far).to_tables()) == encode(replayed.to_tables()) == encode(state.to_tables())


def _check_draft(draft: Draft, model: dict[str, Any], table: str, value: Any) -> None:
    rows = model.get(table, {})
    assert encode(list(draft.rows(table))) == encode(list(rows.items()))
    assert draft.count(table) == len(rows)
    wanted = value if isinstance(value, str | int) else "a"
    assert draft.find(table, "x", _value, wanted) == _found(model, table, wanted)


def _check_state(state: State, origin: State, model: dict[str, Any], start: dict[str, Any]) -> None:
    tables = state.to_tables()
    assert state.tables == tuple(tables)
    filled = {name: rows for name, rows in tables.items() if rows}
    assert encode(sorted(filled)) == encode(sorted(name for name, rows in model.items() if rows))
    touched = []
    for name in {*model, *start}:
        now, then = model.get(name, {}), start.get(name, {})
        assert encode(tables.get(name, {})) == encode(now)
        assert state.count(name) == len(now)
        assert list(state.keys(name)) == list(now)
        touched += [(name, key) for key in {*now, *then} if not strict_equal(now.get(key), then.get(key))]
    assert state.touched_since(origin) == sorted(touched)
    assert origin.touched_since(state) == sorted(touched)
    backwards = {name: dict(reversed(rows.items())) for name, rows in reversed(model.items())}
    names = [*model, *start]
    assert state.hash(names) == State.from_tables(backwards).hash(names)
    texts = [json.dumps({name: rows for name, rows in each.items() if rows}, sort_keys=True) for each in (model, start)]
    assert (state.hash(names) == origin.hash(names)) == (texts[0] == texts[1])
