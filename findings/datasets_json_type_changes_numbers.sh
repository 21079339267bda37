#!/usr/bin/env bash
# Hugging Face datasets reads JSON lines whose tool calls have different arguments with its type Json, and gives back other
# numbers than were written: 0.35 becomes 0.35000000000000003, and 1e-12 becomes 0. Whoever compares amounts in training
# data, or hashes rows, has to keep arguments as text.
# Exit code 0: it still does.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet datasets==5.2.0 pandas==3.1.1 pyarrow==26.0.1
HF_HOME="$scratch/home" HF_HUB_OFFLINE=1 "$scratch/venv/bin/python" - <<'PYTHON'
import json
import tempfile
from importlib.metadata import version
from pathlib import Path

from datasets import load_dataset


def row(name, arguments):
    return {"messages": [{"role": "assistant", "tool_calls": [{"name": name, "arguments": arguments}]}]}


def numbers(rows):
    calls = [one["messages"][0]["tool_calls"][0]["arguments"] for one in rows]
    return calls[0]["amount"], calls[1]["rate"]


stored = [row("pay", {"amount": 0.35}), row("set_rate", {"rate": 1e-12, "unit": "day"})]
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "rows.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in stored))
    print("\n".join(f"{name} {version(name)}" for name in ("datasets", "pandas", "pyarrow")))
    print(f"stored: {numbers(stored)}")
    print(f"by the standard library: {numbers(map(json.loads, path.read_text().splitlines()))}")
    data = load_dataset("json", data_files=str(path), split="train", cache_dir=folder)
    print(f"type of messages: {data.features['messages']}")
    found = numbers(data)
    print(f"by datasets: {found}")
raise SystemExit(found != (0.35000000000000003, 0.0))
PYTHON
