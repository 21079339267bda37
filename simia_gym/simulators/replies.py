"""The JSON Schemas of a model's answers to tool calls."""

from __future__ import annotations

from simia_gym.llm.types import ReplySchema
from simia_gym.types import JsonObject

_OUTCOME: JsonObject = {
    "outcome": {"type": "string", "enum": ["ok", "error"]},
    "error_code": {"type": ["string", "null"]},
}
_OPS: JsonObject = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "op": {"type": "string", "enum": ["add", "replace", "remove", "test"]},
            "path": {"type": "string"},
            "value": {},
        },
        "required": ["op", "path"],
        "additionalProperties": False,
    },
}


def _form(properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


LEDGER_REPLY = ReplySchema(
    "transition", _form({**_OUTCOME, "reveals": _OPS, "ops": _OPS, "observation": {"type": "string"}})
)
"""The answer of the ledger strategy: operations on the state, and the observation."""

REFERENCE_REPLY = ReplySchema(
    "answer", _form({**_OUTCOME, "observation": {"type": "string"}, "done": {"type": "boolean"}})
)
"""The answer of the reference strategy, which keeps no state."""
