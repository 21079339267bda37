"""What the engine's own refusals say, tersely and with reasons."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from simia_gym.domain.tools import ToolSpec
from simia_gym.domain.world import error_text, refuse_call
from simia_gym.errors import ToolError
from simia_gym.types import Feedback, ToolCall

SPEC = ToolSpec(
    "lend",
    "Lend.",
    {
        "type": "object",
        "properties": {
            "book": {"type": "string"},
            "days": {"type": "integer"},
            "how": {"enum": ["post", "desk"]},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "tags": {"type": "array", "items": {"type": ["string", "number"]}},
            "rest": {},
            "all": True,
        },
        "required": ["book", "how"],
    },
)
SIGNATURE = (
    'lend(book: string; days: integer, optional; how: one of ["post", "desk"]; note: string or null, optional; '
    "tags: array of string or number, optional; rest: any value, optional; all: any value, optional)"
)
TOOLS = {"lend": SPEC, "give": ToolSpec("give", "Give.", {"type": "object", "properties": {}})}


@pytest.mark.parametrize(
    ("message", "why", "feedback", "text"),
    [
        ("Not found", "No such book.", "terse", "Error: Not found"),
        ("Not found", "No such book.", "explain", "Error: Not found. Why: No such book."),
        ("Is it?", "No.", "explain", "Error: Is it? Why: No."),
        ("Not found.", "", "explain", "Error: Not found."),
    ],
)
def test_error_text(message: str, why: str, feedback: Feedback, text: str) -> None:
    assert error_text(message, why, feedback) == text


@pytest.mark.parametrize(
    ("call", "terse", "why"),
    [
        (ToolCall("lent", {}), "Error: Tool 'lent' not found.", "The tools are: lend, give."),
        (
            ToolCall("lend", {"book": 1, "how": "desk"}),
            'Error: Invalid arguments for lend: book: 1 is not of type "string"',
            f"The call is {SIGNATURE}, with these arguments and no others.",
        ),
        (
            ToolCall("lend", {"book": "B"}),
            'Error: Invalid arguments for lend: "how" is a required property',
            f"The call is {SIGNATURE}, with these arguments and no others.",
        ),
    ],
)
def test_refusals(call: ToolCall, terse: str, why: str) -> None:
    plain, told = refuse_call(TOOLS, call), refuse_call(TOOLS, call, "explain")
    assert plain is not None
    assert told is not None
    assert plain.observation == terse
    stop = "" if terse.endswith(".") else "."
    assert told.observation == f"{terse}{stop} Why: {why}"
    assert plain.error_code == told.error_code


def test_a_call_that_fits_is_not_refused() -> None:
    assert refuse_call(TOOLS, ToolCall("give", {}), "explain") is None
    assert TOOLS["give"].signature == "give()"


def test_the_reason_travels_with_the_error() -> None:
    again: Any = pickle.loads(pickle.dumps(ToolError("No", "no", "Because.")))
    assert (again.message, again.code, again.why) == ("No", "no", "Because.")
