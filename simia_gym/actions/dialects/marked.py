"""Dialects whose calls are JSON arguments between marks: DeepSeek, Kimi K2, harmony, Cohere and ReAct."""

from __future__ import annotations

import re

from simia_gym.actions.calls import broken
from simia_gym.actions.dialects.tagged import DSML, read_tags
from simia_gym.actions.dialects.values import Tools, expect, json_arguments, made
from simia_gym.actions.strict_json import JsonProblem, decode_at, skip_space
from simia_gym.types import ToolCall

_NAME = r"([\w.-]+)"
_SECTION = re.compile(r"<[｜|]tool▁calls▁begin[｜|]>")
_SECTION_END = re.compile(r"<[｜|]tool▁calls▁end[｜|]>")
_DEEPSEEK = re.compile(rf"<[｜|]tool▁call▁begin[｜|]>\s*{_NAME}\s*<[｜|]tool▁sep[｜|]>")
_DEEPSEEK_END = re.compile(r"<[｜|]tool▁call▁end[｜|]>")
_NAMED = re.compile(rf"[ ]*{_NAME}[ ]*\n```(?:json)?[ ]*\n")
_KIMI_SECTION, _KIMI_SECTION_END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
_KIMI = re.compile(rf"<\|tool_call_begin\|>\s*(?:functions\.)?{_NAME}:\d+\s*<\|tool_call_argument_begin\|>")
_KIMI_END = "<|tool_call_end|>"
_TO = rf"[ ]*to=(?:functions\.)?{_NAME}"
_HARMONY = re.compile(
    rf"(?:<\|start\|>assistant)?(?:{_TO})?(?:[ ]*<\|channel\|>(?:commentary|analysis)(?:{_TO})?)?"
    r"[ ]*(?:<\|constrain\|>[ ]*)?(?:json|code)?[ ]*<\|message\|>"
)
_CALL = "<|call|>"
_COHERE, _COHERE_END = "<|START_ACTION|>", "<|END_ACTION|>"
_REACT = re.compile(rf"Action:[ \t]*{_NAME}[ \t]*\n\s*Action Input:")


def read_deepseek(text: str, position: int, tools: Tools) -> tuple[list[ToolCall], int]:
    """DeepSeek's three forms: V3, with a fence around the arguments; V3.1; and the tags of V3.2."""
    if text.startswith(f"<{DSML}", position):
        return read_tags(text, position, tools, DSML)
    section = _SECTION.match(text, position)
    position = section.end() if section else position
    calls: list[ToolCall] = []
    while True:
        position = skip_space(text, position)
        call = _DEEPSEEK.match(text, position)
        if call is None:
            if not calls:
                raise JsonProblem("Expecting <｜tool▁call▁begin｜>, a name and <｜tool▁sep｜>", position)
            return calls, expect(text, position, _SECTION_END, "<｜tool▁calls▁end｜>") if section else position
        name, position = call[1], call.end()
        fenced = _NAMED.match(text, position) if name == "function" else None
        if fenced:
            name, position = fenced[1], fenced.end()
        arguments, position = json_arguments(text, position, "```" if fenced else "<｜tool▁call▁end｜>")
        if fenced:
            position = expect(text, position, "```", "the end of the fence")
        position = expect(text, position, _DEEPSEEK_END, "<｜tool▁call▁end｜>")
        calls.append(made(name, arguments))


def read_kimi(text: str, position: int, tools: Tools) -> tuple[list[ToolCall], int]:
    """Kimi K2: an id with the tool's name, and the arguments."""
    section = text.startswith(_KIMI_SECTION, position)
    position += len(_KIMI_SECTION) if section else 0
    calls: list[ToolCall] = []
    while True:
        position = skip_space(text, position)
        call = _KIMI.match(text, position)
        if call is None:
            if not calls or text.startswith("<|tool_call_begin|>", position):
                raise JsonProblem(
                    "Expecting <|tool_call_begin|>, functions.NAME:0 and <|tool_call_argument_begin|>", position
                )
            return calls, expect(text, position, _KIMI_SECTION_END, _KIMI_SECTION_END) if section else position
        arguments, position = json_arguments(text, call.end(), _KIMI_END)
        position = expect(text, position, _KIMI_END, _KIMI_END)
        calls.append(made(call[1], arguments))


def read_harmony(text: str, position: int, tools: Tools) -> tuple[list[ToolCall], int]:
    """harmony: a message to a function. Its last mark ends the reply, so that servers often leave it out."""
    calls: list[ToolCall] = []
    while call := _HARMONY.match(text, skip_space(text, position)):
        names = [name for name in call.groups() if name]
        if len(names) != 1:
            raise JsonProblem("Expecting one to=functions.NAME", position)
        arguments, position = json_arguments(text, call.end(), _CALL)
        calls.append(made(names[0], arguments))
        end = skip_space(text, position)
        if end == len(text):
            break
        position = expect(text, end, _CALL, _CALL)
    if not calls:
        raise JsonProblem("Expecting to=functions.NAME and <|message|>", position)
    return calls, position


def read_cohere(text: str, position: int, tools: Tools) -> tuple[list[ToolCall], int]:
    """Cohere: a list of objects with ``tool_name`` and ``parameters``."""
    value, position = decode_at(text, skip_space(text, position + len(_COHERE)))
    calls: list[ToolCall] = []
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, dict) or not isinstance(item.get("tool_name"), str):
            raise broken("missing_name", 'The tool call has no "tool_name", or it is not a text.')
        others = item.keys() - {"tool_call_id", "tool_name", "parameters"}
        if others or "parameters" not in item:
            keys = ", ".join(map(repr, sorted(others))) or 'no "parameters"'
            raise broken("bad_arguments", f"The call of {item['tool_name']!r} has {keys}.")
        calls.append(made(item["tool_name"], item["parameters"]))
    if not calls:
        raise broken("malformed_call", "The list of tool calls is empty.")
    return calls, expect(text, position, _COHERE_END, _COHERE_END)


def read_react(text: str, position: int, tools: Tools) -> tuple[list[ToolCall], int]:
    """ReAct: a tool's name after ``Action:``, and its arguments after ``Action Input:``."""
    call = _REACT.match(text, position)
    if call is None:
        raise JsonProblem("Expecting Action Input:", len(text))
    arguments, position = decode_at(text, skip_space(text, call.end()))
    return [made(call[1], arguments)], position
