#!/usr/bin/env bash
# A tool call that a model did not finish, cut at its token limit, becomes a whole call with json-repair, also with
# strict=True, whose documentation says that structural problems raise ValueError: the last value keeps the part that had
# arrived. Strict also drops the first of two equal keys where the text is otherwise JSON, though duplicates are named there.
# Exit code 0: it still does.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet json-repair==0.64.6
"$scratch/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

from json_repair import loads

whole = '{"name": "refund", "arguments": {"order": "W1024", "items": ["11", "12"], "amount": 1250}}'
texts = {
    "cut in the amount": whole[: whole.index("50}}")],
    "cut in an item": whole[: whole.index('2"], ')],
    "an array that is not closed": whole.replace('"12"], ', '"12", ').replace(', "amount": 1250', ""),
    "the same key twice": '{"order": "W1024", "order": "W2048"}',
    "two commas": '{"order": "W1024",, "amount": 1250}',
}
print(f"json-repair {version('json-repair')}, strict=True")
seen = {}
for name, text in texts.items():
    try:
        seen[name] = loads(text, strict=True)
    except ValueError as error:
        seen[name] = f"ValueError: {error}"
    print(f"\n{name}: {text}\n  -> {seen[name]}")
cut = [seen[name].get("arguments") if isinstance(seen[name], dict) else None for name in list(texts)[:2]]
expected = [
    {"order": "W1024", "items": ["11", "12"], "amount": 12},
    {"order": "W1024", "items": ["11", "1"]},
]
raise SystemExit(cut != expected or seen["the same key twice"] != {"order": "W2048"})
PYTHON
