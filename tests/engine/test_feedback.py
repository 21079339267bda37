"""What the engine's own refusals say, tersely and with reasons."""

from __future__ import annotations

import pytest

from simia_gym.domain.tools import ToolSpec
from simia_gym.domain.world import refuse_call
from simia_gym.types import ToolCall

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
