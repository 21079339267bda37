#!/usr/bin/env bash
# Chat templates of well-known models leave a tool's result out of the prompt, without an error, where the call before it
# stands in the assistant's text. The templates are those that TRL ships.
# Exit code 0: they still do.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet jinja2==3.1.6
"$scratch/venv/bin/pip" install --quiet --no-deps trl==1.16.0
"$scratch/venv/bin/python" - <<'PYTHON'
import importlib.util
from importlib.metadata import version
from pathlib import Path

from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


def fail(message):
    raise ValueError(message)


folder = Path(importlib.util.find_spec("trl").origin).parent / "chat_templates"
call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>'
messages = [
    {"role": "system", "content": "Tools: get_weather(city)."},
    {"role": "user", "content": "Is it warm in Rome?"},
    {"role": "assistant", "content": call},
    {"role": "tool", "name": "get_weather", "content": "31 degrees"},
]
environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
environment.globals["raise_exception"] = fail
print(f"trl {version('trl')}, jinja2 {version('jinja2')}")
seen = {}
for name in ("qwen3", "llama3_1", "glm4moe", "cohere2", "gemma4", "phi3"):
    template = environment.from_string((folder / f"{name}.jinja").read_text())
    prompt = template.render(messages=messages, add_generation_prompt=True, bos_token="<bos>", eos_token="<eos>")
    seen[name] = "31 degrees" in prompt
    print(f"\n{name}: the tool's result is {'in the prompt' if seen[name] else 'LEFT OUT'}\n{prompt[-230:]}")
expected = {"qwen3": True, "llama3_1": True, "glm4moe": True, "cohere2": False, "gemma4": False, "phi3": False}
raise SystemExit(seen != expected)
PYTHON
