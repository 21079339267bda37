"""What the engine's own refusals explain."""

from __future__ import annotations

import pytest

from simia_gym.domain.tools import ToolSpec
from simia_gym.domain.world import refuse_call
from simia_gym.types import ToolCall

PARAMETERS = {
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
}
TOOLS = {"lend": ToolSpec("lend", "Lend.", PARAMETERS), "give": ToolSpec("give", "Give.", {"type": "object"})}
SIGNATURE = (
    'lend(book: string; days: integer, optional; how: one of ["post", "desk"]; note: string or null, optional; '
    "tags: array of string or number, optional; rest: any value, optional; all: any value, optional)"
)


@pytest.mark.parametrize(
    ("call", "why"),
    [(ToolCall("lent", {}), "The tools are: lend, give."), (ToolCall("lend", {"book": "B"}), SIGNATURE)],
)
def test_an_explained_refusal_adds_why_to_the_terse_one(call: ToolCall, why: str) -> None:
    terse, told = refuse_call(TOOLS, call), refuse_call(TOOLS, call, "explain")
    assert terse is not None
    assert told is not None
    assert told.error_code == terse.error_code
    text, _, reason = told.observation.partition(" Why: ")
    assert text.rstrip(".") == terse.observation.rstrip(".")
    assert why in reason
