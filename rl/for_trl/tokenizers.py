"""Prepares tokenizers for tool calls in TRL.

TRL needs two things: a chat template that shows the tools, and a way to parse calls from the model's text. TRL
recognises the templates of well-known models by their exact text. For other templates that write calls in
``<tool_call>`` tags, such as those of `simia new-policy`, this module adds what is missing.
"""

from __future__ import annotations

import copy
from typing import Any

from simia_gym.errors import InputError
from simia_gym.rl.extras import require

_SHOW_TOOLS = """\
{%- if tools %}
    {%- set shown = namespace(text='') %}
    {%- for tool in tools %}
        {%- set shown.text = shown.text + '\\n' + (tool | tojson) %}
    {%- endfor %}
    {%- set told = '# Tools\\n\\nThese are your tools, one JSON Schema a line:\\n<tools>'
        + shown.text + '\\n</tools>\\n\\n'
        + 'To call one, write a JSON object with its name and its arguments between tags:\\n'
        + '<tool_call>\\n{"name": "<tool name>", "arguments": {"<argument>": <value>}}\\n</tool_call>' %}
    {%- if messages[0].role == 'system' %}
        {%- set messages = [{'role': 'system', 'content': messages[0].content + '\\n\\n' + told}] + messages[1:] %}
    {%- else %}
        {%- set messages = [{'role': 'system', 'content': told}] + messages %}
    {%- endif %}
{%- endif %}
"""
_PROBE = "tool_probe_5d1c"


def tool_calling(tokenizer: Any) -> Any:
    """Prepare a tokenizer for TRL's ``environment_factory``; give it to the trainer as ``processing_class``.

    Args:
        tokenizer: A Hugging Face tokenizer with a chat template.

    Returns:
        A copy of it, with the missing parts added.

    Raises:
        InputError: It has no chat template, or neither TRL nor this function can parse its tool calls.
    """
    require("trl", "trl", "transformers")
    from trl import chat_template_utils as known

    template = tokenizer.chat_template
    if not template:
        fix = "Give a chat model's tokenizer, or one made by `simia new-policy`."
        raise InputError("the tokenizer has no chat template", where="processing_class", fix=fix)
    made = copy.deepcopy(tokenizer)
    if any(getattr(made, name, None) is not None for name in ("response_template", "response_schema")):
        return made
    try:
        return known.add_response_schema(made)
    except ValueError:
        pass
    tags = made.apply_chat_template(_conversation(), tokenize=False)
    if f'<tool_call>\n{{"name": "{_PROBE}"' not in tags:
        fix = "Set tokenizer.response_template (or response_schema), so that TRL can read the calls."
        raise InputError("the chat template writes tool calls in a form of its own", where="processing_class", fix=fix)
    # The calls look like those of Qwen3. The version of transformers decides which of the two attributes is used.
    made.response_template = known.qwen3_template if known._SUPPORTS_RESPONSE_TEMPLATE else None
    made.response_schema = None if known._SUPPORTS_RESPONSE_TEMPLATE else known.qwen3_schema
    if _PROBE not in made.apply_chat_template(_conversation()[:1], tools=[_tool()], tokenize=False):
        made.chat_template = _SHOW_TOOLS + template
    return made


def _tool() -> dict[str, Any]:
    return {"type": "function", "function": {"name": _PROBE, "description": "", "parameters": {"type": "object"}}}


def _conversation() -> list[dict[str, Any]]:
    call = {"type": "function", "function": {"name": _PROBE, "arguments": {}}}
    return [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "", "tool_calls": [call]}]
