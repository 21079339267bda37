from __future__ import annotations

import copy
import enum
import json
import pickle
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import orjson
import pytest

from simia_gym.errors import InputError
from simia_gym.state import FrozenDict, FrozenList, freeze, thaw
from simia_gym.state.frozen import freeze_members

VALUE: dict[str, Any] = {"a": [1, {"b": [None, True]}], "c": {"d": 1.5}, "e": "text"}

DICT_CHANGES: list[Callable[[Any], object]] = [
    lambda d: d.__setitem__("a", 1),
    lambda d: d.__delitem__("a"),
    lambda d: d.clear(),
    lambda d: d.pop("a"),
    lambda d: d.pop("absent", None),
    lambda d: d.popitem(),
    lambda d: d.setdefault("z", 1),
    lambda d: d.update(z=1),
    lambda d: d.__ior__({"z": 1}),
]
LIST_CHANGES: list[Callable[[Any], object]] = [
    lambda items: items.__setitem__(0, 1),
    lambda items: items.__setitem__(slice(None), []),
    lambda items: items.__delitem__(0),
    lambda items: items.__iadd__([1]),
    lambda items: items.__imul__(2),
    lambda items: items.append(1),
    lambda items: items.extend([1]),
    lambda items: items.insert(0, 1),
    lambda items: items.pop(),
    lambda items: items.remove(1),
    lambda items: items.clear(),
    lambda items: items.sort(),
    lambda items: items.reverse(),
]


@pytest.mark.parametrize("change", DICT_CHANGES)
def test_objects_refuse_every_change(change: Callable[[Any], object]) -> None:
    frozen = freeze(VALUE)
    for target in (frozen, frozen["c"], frozen["a"][1]):
        with pytest.raises(TypeError, match=r"read-only .*draft\.edit\(\)"):
            change(target)
    assert frozen == VALUE


@pytest.mark.parametrize("change", LIST_CHANGES)
def test_lists_refuse_every_change(change: Callable[[Any], object]) -> None:
    frozen = freeze(VALUE)
    for target in (frozen["a"], frozen["a"][1]["b"]):
        with pytest.raises(TypeError, match=r"read-only list"):
            change(target)
    assert frozen == VALUE


def test_every_mutating_method_of_the_builtin_types_is_covered() -> None:
    reading = {"copy", "get", "items", "keys", "values", "fromkeys", "count", "index"}
    for frozen, plain in ((FrozenDict, dict), (FrozenList, list)):
        names = {name for name in dir(plain) if not name.startswith("__")} - reading
        names |= {
            name for name in ("__setitem__", "__delitem__", "__ior__", "__iadd__", "__imul__") if name in dir(plain)
        }
        assert {name for name in names if getattr(frozen, name) is getattr(plain, name)} == set()


def test_calling_init_again_changes_nothing() -> None:
    frozen = freeze(VALUE)
    frozen.__init__({"z": 1})
    frozen["a"].__init__([9])
    assert frozen == VALUE


def test_the_source_can_change_without_effect() -> None:
    source = copy.deepcopy(VALUE)
    frozen = freeze(source)
    source["a"][1]["b"].append(1)
    source["c"]["d"] = 2
    assert frozen == VALUE


def test_constructors_freeze_deeply() -> None:
    inner: dict[str, Any] = {"b": []}
    frozen = FrozenDict({"a": inner})
    items = FrozenList([inner])
    inner["b"].append(1)
    assert frozen == {"a": {"b": []}}
    assert items == [{"b": []}]
    assert type(frozen["a"]) is type(items[0]) is FrozenDict
    assert FrozenDict() == {}
    assert FrozenList() == []


def test_writers_take_frozen_values() -> None:
    frozen = freeze(VALUE)
    assert json.dumps(frozen) == json.dumps(VALUE)
    assert json.dumps(frozen, indent=2) == json.dumps(VALUE, indent=2)
    assert orjson.dumps(frozen) == orjson.dumps(VALUE)
    assert isinstance(frozen, dict)
    assert isinstance(frozen["a"], list)


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


def test_pickling_keeps_values_frozen() -> None:
    frozen = pickle.loads(pickle.dumps(freeze(VALUE)))
    assert frozen == VALUE
    assert type(frozen) is FrozenDict
    assert type(frozen["a"]) is FrozenList
    assert type(frozen["a"][1]["b"]) is FrozenList


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


def test_freeze_members_is_freeze_of_both() -> None:
    first = {"i": 1, "type": "x"}
    made = freeze_members(first, VALUE)
    assert made == freeze({**first, **VALUE})
    assert list(made) == [*first, *VALUE]
    assert type(made) is type(made["c"]) is FrozenDict
    assert type(made["a"]) is FrozenList
    with pytest.raises(InputError) as info:
        freeze_members(first, {"a": {"b": {1}}})
    assert "/a/b" in str(info.value)
