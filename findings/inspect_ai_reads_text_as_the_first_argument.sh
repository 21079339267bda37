#!/usr/bin/env bash
# inspect_ai reads the arguments of a tool call as YAML where they are no JSON object, and gives the value to the tool's
# first parameter: an unquoted text, a bare list, and an empty text (None) become valid calls. So an evaluation counts calls
# as well formed that the model's own server, or another harness, would refuse; an object that is cut off stays an error.
# Exit code 0: it still does.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet inspect_ai==0.3.285 openai==3.57.0
"$scratch/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

from inspect_ai.model._openai import chat_choices_from_openai
from inspect_ai.tool import ToolInfo, ToolParams
from openai.types.chat import ChatCompletion

tool = ToolInfo(
    name="search",
    description="Search the shop.",
    parameters=ToolParams.model_validate(
        {"type": "object", "properties": {"keywords": {"type": "string"}}, "required": ["keywords"]}
    ),
)
expected = {
    '{"keywords": "green tea"}': {"keywords": "green tea"},
    "green tea": {"keywords": "green tea"},
    '["green", "tea"]': {"keywords": ["green", "tea"]},
    "": {"keywords": None},
    '{"keywords": "green': "an error",
}
print(f"inspect_ai {version('inspect_ai')}: what a server sends as arguments, and what the call becomes")
seen = {}
for sent in expected:
    call = {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": sent}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    reply = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    read = chat_choices_from_openai(ChatCompletion.model_validate(reply), [tool])[0].message.tool_calls[0]
    seen[sent] = "an error" if read.parse_error else read.arguments
    print(f"{sent!r}: {seen[sent]}")
raise SystemExit(seen != expected)
PYTHON
