from __future__ import annotations

import copy
import enum
import pickle
from types import MappingProxyType
from typing import Any

import pytest

from simia_gym.errors import InputError
from simia_gym.state import FrozenDict, FrozenList, freeze, thaw

VALUE: dict[str, Any] = {"a": [1, {"b": [None, True]}], "c": {"d": 1.5}, "e": "text"}

READING = {"copy", "get", "items", "keys", "values", "fromkeys", "count", "index"}
CHANGING = {"__setitem__", "__delitem__", "__ior__", "__iadd__", "__imul__"}


@pytest.mark.parametrize("plain", [dict, list])
def test_every_method_that_changes_is_refused(plain: type) -> None:
    frozen = freeze(VALUE)
    targets = [frozen, frozen["c"], frozen["a"][1]] if plain is dict else [frozen["a"], frozen["a"][1]["b"]]
    names = {name for name in dir(plain) if not name.startswith("__") or name in CHANGING} - READING
    assert len(names) >= 8
    for target in targets:
        for name in names:
            with pytest.raises(TypeError, match=r"read-only .*draft\.edit\(\)"):
                getattr(target, name)(0, 1)
    assert frozen == VALUE


def test_calling_init_again_changes_nothing() -> None:
    frozen = freeze(VALUE)
    frozen.__init__({"z": 1})
    frozen["a"].__init__([9])
    assert frozen == VALUE


def test_containers_are_frozen_deeply_and_share_nothing() -> None:
    inner: dict[str, Any] = {"b": []}
    made = [freeze({"a": inner}), FrozenDict({"a": inner}), FrozenDict(), *FrozenList([inner]), FrozenList()]
    inner["b"].append(1)
    for values in (made, pickle.loads(pickle.dumps(made))):
        assert values == [{"a": {"b": []}}, {"a": {"b": []}}, {}, {"b": []}, []]
        assert {type(value) for value in (*values, values[1]["a"])} == {FrozenDict, FrozenList}


def test_copies_are_plain() -> None:
    frozen = freeze(VALUE)
    for made in (copy.deepcopy(frozen), thaw(frozen)):
        assert made == VALUE
        made["a"][1]["b"].append(0)
        made["c"]["x"] = 1
    assert type(copy.copy(frozen)) is dict
    assert type(frozen.copy()) is dict
    assert type(copy.copy(frozen["a"])) is list
    assert type(copy.deepcopy(frozen["a"])) is list
    assert type(frozen | {"z": 1}) is dict
    assert type(frozen["a"] + [1]) is list
    assert frozen == VALUE


class Colour(enum.StrEnum):
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


def test_relatives_of_json_types_become_json_types() -> None:
    frozen = freeze({Colour.RED: (Colour.RED, Number.ONE, MappingProxyType({"a": ()}))})
    assert frozen == {"red": ["red", 1, {"a": []}]}
    assert [type(item) for item in frozen["red"]] == [str, int, FrozenDict]
    assert type(next(iter(frozen))) is str
    assert thaw((1, MappingProxyType({"a": (2,)}))) == [1, {"a": [2]}]


@pytest.mark.parametrize(
    ("value", "where", "what"),
    [
        ({"a": [1, {"b/c": {1, 2}}]}, "/a/1/b~1c", "set"),
        ({"a": float("nan")}, "/a", "nan"),
        ([float("inf")], "/0", "inf"),
        ({"a": {1: 2}}, "/a", "key 1 is a int"),
        ({"a": b"bytes"}, "/a", "bytes"),
        (object(), "", "object"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(value: Any, where: str, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        freeze(value)
    assert caught.value.where == where


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(InputError, match="nested too deeply"):
        freeze(loop)
