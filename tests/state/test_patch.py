from __future__ import annotations

from typing import Any

import pytest

from simia_gym.common.json_encoding import encode
from simia_gym.errors import PatchError
from simia_gym.state import freeze, make_pointer, pointer_parts, strict_equal

from .documents import PLACE, below, difference, patched, state_of


@pytest.mark.parametrize(
    ("pointer", "parts"),
    [
        ("", ()),
        ("/", ("",)),
        ("/a/b", ("a", "b")),
        ("/a~1b/m~0n", ("a/b", "m~n")),
        ("/~01", ("~1",)),
        ("//x/", ("", "x", "")),
        ("/ü/.", ("ü", ".")),
    ],
)
def test_pointers(pointer: str, parts: tuple[str, ...]) -> None:
    assert pointer_parts(pointer) == parts
    assert make_pointer(*parts) == pointer


@pytest.mark.parametrize("pointer", ["a", "a/b", "/~", "/a~2b", "/x/~~0", "/~~01", " /a"])
def test_bad_pointers(pointer: str) -> None:
    with pytest.raises(PatchError) as caught:
        pointer_parts(pointer)
    assert caught.value.path == pointer


def op(name: str, path: str, *value: Any) -> dict[str, Any]:
    return {"op": name, "path": path, "value": value[0]} if value else {"op": name, "path": path}


@pytest.mark.parametrize(
    ("doc", "ops", "result"),
    [
        ({"foo": "bar"}, [op("add", "/baz", "qux")], {"foo": "bar", "baz": "qux"}),
        ({"foo": ["bar", "baz"]}, [op("add", "/foo/1", "qux")], {"foo": ["bar", "qux", "baz"]}),
        ({"foo": ["bar"]}, [op("add", "/foo/1", "qux")], {"foo": ["bar", "qux"]}),
        ({"foo": ["bar"]}, [op("add", "/foo/-", ["abc"])], {"foo": ["bar", ["abc"]]}),
        ({"foo": "bar"}, [op("add", "/foo", None)], {"foo": None}),
        ({"baz": "qux", "foo": "bar"}, [op("remove", "/baz")], {"foo": "bar"}),
        ({"foo": [1, 2, 3]}, [op("remove", "/foo/1")], {"foo": [1, 3]}),
        ({"baz": "qux"}, [op("replace", "/baz", "boo")], {"baz": "boo"}),
        ({"a": [{"b": [1]}]}, [op("replace", "/a/0/b/0", 2)], {"a": [{"b": [2]}]}),
        ({"a": 1}, [op("replace", "", [1])], [1]),
        ({"a": 1}, [op("add", "", None)], None),
        ([], [op("add", "/0", 1), op("add", "/0", 0), op("add", "/-", 2)], [0, 1, 2]),
        ({"": {"": 1}}, [op("replace", "//", 2)], {"": {"": 2}}),
        ({"a/b": 1, "m~n": 2}, [op("replace", "/a~1b", 3), op("remove", "/m~0n")], {"a/b": 3}),
        ({"a": {"0": 1}}, [op("replace", "/a/0", 2), op("add", "/a/-", 3)], {"a": {"0": 2, "-": 3}}),
        ({"a": 1}, [op("test", "/a", 1.0), op("test", "", {"a": 1})], {"a": 1}),
        ({"a": {"x": 1, "y": [2]}}, [op("test", "/a", {"y": [2.0], "x": 1})], {"a": {"x": 1, "y": [2]}}),
        ({"a": 1}, [{"op": "add", "path": "/b", "value": 2, "from": "/a", "note": "ignored"}], {"a": 1, "b": 2}),
    ],
)
def test_operations(doc: Any, ops: list[dict[str, Any]], result: Any) -> None:
    assert repr(patched(doc, ops)) == repr(result)


@pytest.mark.parametrize(
    ("doc", "bad", "words"),
    [
        ({}, op("remove", "/a"), "no member 'a'"),
        ({}, op("replace", "/a", 1), "no member 'a'"),
        ({}, op("add", "/a/b", 1), "no member 'a'"),
        ({"a": 1}, op("add", "/a/b", 1), "a int has no member 'b'"),
        ({"a": [1]}, op("add", "/a/2", 1), "outside a list of 1"),
        ({"a": [1]}, op("replace", "/a/1", 1), "outside a list of 1"),
        ({"a": [1]}, op("replace", "/a/-", 1), "outside a list of 1"),
        ({"a": [1]}, op("remove", "/a/-"), "outside a list of 1"),
        ({"a": [1]}, op("test", "/a/-", 1), "outside a list of 1"),
        ({"a": [1, 2]}, op("remove", "/a/01"), "leading zeros"),
        ({"a": [1, 2]}, op("remove", "/a/-1"), "no list index"),
        ({"a": [1, 2]}, op("remove", "/a/"), "no list index"),
        ({"a": [1, 2]}, op("remove", "/a/²"), "no list index"),
        ({"a": [1, 2]}, op("remove", "/a/" + "9" * 5_000), "outside a list of 2"),
        ({"a": 1}, op("test", "/a", True), "test failed: expected True, found 1"),
        ({"a": None}, op("test", "/b", None), "no member 'b'"),
        ({"a": 1}, {"op": "move", "from": "/a", "path": "/b"}, "'move' is not supported"),
        ({"a": 1}, op("merge", "/a", 1), "unknown operation 'merge'"),
        ({"a": 1}, {"op": "add", "value": 1}, "'path' must be"),
        ({"a": 1}, {"op": "add", "path": 5, "value": 1}, "'path' must be"),
        ({"a": 1}, op("add", "/a"), "needs a 'value'"),
        ({"a": 1}, op("add", "/a", {1}), "bad value"),
        ({"a": 1}, ["add"], "an operation is an object"),
    ],
)
def test_what_cannot_be_applied_names_operation_and_path(doc: Any, bad: Any, words: str) -> None:
    state = state_of(doc)
    with pytest.raises(PatchError) as caught:
        state.apply([below(op("test", "", doc)), below(bad)])
    assert words in caught.value.message
    assert caught.value.op_index == 1
    path = bad.get("path") if isinstance(bad, dict) else None
    assert caught.value.path == (f"{PLACE}{path}" if isinstance(path, str) else "")
    assert state.at(PLACE) == doc


@pytest.mark.parametrize(
    ("before", "after", "ops"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 1.0}, [op("replace", "/a", 1.0)]),
        ({"a": 1}, {"a": True}, [op("replace", "/a", True)]),
        ({"a": 0.0}, {"a": -0.0}, [op("replace", "/a", -0.0)]),
        ({"a": [1, {"b": 1}]}, {"a": [1, {"b": True}]}, [op("replace", "/a/1/b", True)]),
        ({"a": None}, {}, [op("remove", "/a")]),
        ({}, {"a": None}, [op("add", "/a", None)]),
        ({"a": {"x": 1, "y": 2}}, {"a": {"x": 1, "y": 3}}, [op("replace", "/a/y", 3)]),
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, [op("replace", "/b", 3), op("remove", "/a"), op("add", "/c", 4)]),
        ([1, 2], [1, 2, 3, 4], [op("add", "/-", 3), op("add", "/-", 4)]),
        ([1, 2, 3], [2, 3], [op("remove", "/0")]),
        ([1, 2, 3, 4], [2, 3, 4, 1], [op("remove", "/0"), op("add", "/-", 1)]),
        ([2, 3], [1, 2, 3], [op("add", "/0", 1)]),
        ([{"x": 1}, {"x": 2}], [{"x": 1}, {"x": 3}], [op("replace", "/1/x", 3)]),
        ([], {}, [op("replace", "", {})]),
        ({"a": [1, [2]]}, {"a": (1, (2,))}, []),
        ({"a": [1, [2]]}, {"a": (1, (3,))}, [op("replace", "/a/1/0", 3)]),
        ({"a/b": [1]}, {"a/b": [1, 2]}, [op("add", "/a~1b/-", 2)]),
        # Another order of keys is another text, so it is kept: one key that moved to the end, or all of them.
        ({"a": 1, "b": 2, "c": 3}, {"a": 1, "c": 3, "b": 2}, [op("remove", "/b"), op("add", "/b", 2)]),
        (
            {"k": {"a": 1, "b": 2, "c": 3}},
            {"k": {"c": 3, "b": 2, "a": 1}},
            [op("replace", "/k", {"c": 3, "b": 2, "a": 1})],
        ),
    ],
)
def test_differences_are_small(before: Any, after: Any, ops: list[dict[str, Any]]) -> None:
    found = difference(before, after)
    assert repr(found) == repr(ops)
    assert encode(patched(before, found)) == encode(after)


def test_long_lists_are_compared_in_bounded_time() -> None:
    before = [{"n": n} for n in range(3_000)]
    after = [{"n": n + 1} for n in range(3_000)]
    assert patched(before, difference(before, after)) == after
    assert len(difference(before, [*before, {"n": -1}])) == 1


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (None, False, False),
        ("1", 1, False),
        (0.0, -0.0, True),
        (2**53 + 1, float(2**53), False),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}, True),
        ({"a": None}, {}, False),
        ([1, 2], [2, 1], False),
        ([1], (1.0,), True),
        ([], {}, False),
        ("", [], False),
        (freeze({"a": [1]}), {"a": [1]}, True),
    ],
)
def test_equality_of_json_values(a: Any, b: Any, equal: bool) -> None:
    assert strict_equal(a, b) is equal
    assert strict_equal(b, a) is equal


@pytest.mark.parametrize(("a", "b", "equal"), [(1.0, 1.05, True), (1, 1.2, False), ([{"p": 1}], [{"p": 1.1}], True)])
def test_numbers_may_differ_by_a_tolerance(a: Any, b: Any, equal: bool) -> None:
    assert strict_equal(a, b, tolerance=0.1000001) is equal
    assert strict_equal(a, True, tolerance=1.0) is strict_equal("1", 1, tolerance=1.0) is False
