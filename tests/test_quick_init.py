"""Frozen dataclasses that are made fast are the same classes otherwise."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace
from typing import Any

import pytest

from simia_gym.common.quick_init import quick_init
from simia_gym.types import ToolCall, Transition


@quick_init
@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    marks: dict[str, Any] = field(default_factory=dict)


def test_takes_what_the_dataclass_takes() -> None:
    assert Point(1) == Point(x=1, y=2, marks={})
    assert Point(1, 3, {"a": 1}).marks == {"a": 1}
    assert Point(1).marks is not Point(1).marks
    assert repr(Point(1)).endswith("Point(x=1, y=2, marks={})")
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]


def test_stays_frozen() -> None:
    point = Point(1)
    with pytest.raises(FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    assert replace(point, x=5) == Point(5)


def test_travels() -> None:
    call = ToolCall("find", {"id": "1"}, "call_1")
    assert pickle.loads(pickle.dumps(call)) == call
    assert copy.deepcopy(Transition("done", meta={"route": "llm"})) == Transition("done", meta={"route": "llm"})


def test_refuses_what_it_cannot_fill() -> None:
    with pytest.raises(TypeError, match="only plain fields"):

        @quick_init
        @dataclass(frozen=True, slots=True)
        class Keyword:
            x: int = field(kw_only=True)
