"""Dialects whose calls are tags ``invoke`` and ``parameter``: MiniMax, DeepSeek V3.2, and plain ``<invoke>``."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import Any, NamedTuple

from simia_gym.actions.calls import broken
from simia_gym.actions.dialects.values import Tools, expect, made
from simia_gym.actions.strict_json import JsonProblem, decode_all, decode_at, skip_space
from simia_gym.types import JsonObject, ToolCall

DSML = "｜DSML｜"


class _Tags(NamedTuple):
    around: re.Pattern[str]
    invoke: re.Pattern[str]
    parameter: re.Pattern[str]
    invoke_end: str
    parameter_end: str
    inside: re.Pattern[str]


@cache
def _tags(prefix: str) -> _Tags:
    name = r"""name=(?:"([^"<>]+)"|'([^'<>]+)')"""
    return _Tags(
        re.compile(rf"<((?:{prefix}function_calls|{prefix}tool_calls|minimax:tool_call))>"),
        re.compile(rf"<{prefix}invoke\s+{name}\s*>"),
        re.compile(rf"""<{prefix}parameter\s+{name}(?:\s+string="(true|false)")?\s*>"""),
        f"</{prefix}invoke>",
        f"</{prefix}parameter>",
        re.compile(rf"<{prefix}parameter\s+name=|</?{prefix}invoke\b"),
    )


def read_tags(text: str, position: int, tools: Tools, prefix: str = "") -> tuple[list[ToolCall], int]:
    """The calls in tags. ``string`` says whether a value is a text or JSON; without it, the tool's schema does."""
    tags = _tags(prefix)
    around = tags.around.match(text, position)
    position = around.end() if around else position
    calls: list[ToolCall] = []
    while True:
        position = skip_space(text, position)
        call = tags.invoke.match(text, position)
        if call is None:
            if not calls or text.startswith(f"<{prefix}invoke", position):
                raise JsonProblem(f'Expecting <{prefix}invoke name="...">', position)
            closing = f"</{around[1]}>" if around else ""
            return calls, expect(text, position, closing, closing) if around else position
        name = call[1] or call[2]
        arguments, position = _arguments(text, skip_space(text, call.end()), tags, partial(tools.value, name), name)
        calls.append(made(name, arguments))


def _arguments(text: str, position: int, tags: _Tags, value_of: Any, name: str) -> tuple[JsonObject, int]:
    if text.startswith("{", position):
        value, position = decode_at(text, position)
        assert isinstance(value, dict)  # it begins with a brace
        return value, expect(text, position, tags.invoke_end, tags.invoke_end)
    found: JsonObject = {}
    while begin := tags.parameter.match(text, position):
        key = begin[1] or begin[2]
        end = text.find(tags.parameter_end, begin.end())
        if end < 0:
            raise JsonProblem(f"Expecting {tags.parameter_end}", len(text))
        if inside := tags.inside.search(text, begin.end(), end):
            raise JsonProblem(f"Expecting {tags.parameter_end}", inside.start())
        if key in found:
            raise broken("bad_arguments", f"The call of {name!r} has the argument {key!r} twice.")
        value = text[begin.end() : end]
        kind = begin[3]
        if kind is None and DSML in tags.invoke_end:
            raise JsonProblem('Expecting string="true" or string="false"', begin.start())
        if kind == "false":
            try:
                value = decode_all(value)
            except JsonProblem as problem:
                what = f"The argument {key!r} of {name!r} is not valid JSON: {problem.message}."
                raise broken("bad_arguments", what) from None
        found[key] = value if kind else value_of(key, value)
        position = skip_space(text, end + len(tags.parameter_end))
    return found, expect(text, position, tags.invoke_end, tags.invoke_end)
