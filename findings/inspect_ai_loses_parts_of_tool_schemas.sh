#!/usr/bin/env bash
# inspect_ai's description of a tool's parameters takes a JSON schema and forgets parts of it without a word: what stands
# behind a $ref becomes {}, and the bounds of lists go. A tool whose schema has $defs, as pydantic writes them, reaches the
# model without the fields of its objects. Who adapts tools has to write references out first.
# Exit code 0: it still does.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet inspect_ai==0.3.285
"$scratch/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

from inspect_ai.tool import ToolParams

schema = {
    "type": "object",
    "properties": {
        "passengers": {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"$ref": "#/$defs/person"}},
        "cabin": {"type": "string", "enum": ["basic", "business"]},
    },
    "required": ["passengers", "cabin"],
    "$defs": {"person": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
}
seen = ToolParams.model_validate(schema).model_dump(exclude_none=True, by_alias=True)
print(f"inspect_ai {version('inspect_ai')}\ngiven: {schema}\nkept:  {seen}")
kept = seen["properties"]["passengers"] == {"type": "array", "items": {}} and "$defs" not in seen
whole = seen["properties"]["cabin"]["enum"] == ["basic", "business"]
raise SystemExit(not (kept and whole))
PYTHON
