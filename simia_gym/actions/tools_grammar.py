"""The grammar ``tools``: messages to the user, and tool calls in the formats that models write.

It accepts Hermes ``<tool_call>`` blocks, function-call JSON (alone, as a list, or in a code fence) and an OpenAI
assistant message as JSON. Any other text is a message to the user, except text that is clearly an attempted call: that
is an error, so that a malformed call is not sent to the user.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, cast

from simia_gym.actions.base import Grammar, Replies
from simia_gym.actions.calls import (
    broken,
    broken_json,
    call_from,
    call_message,
    is_message,
    is_speech,
    looks_like_call,
    message_parts,
)
from simia_gym.actions.dialects.names import NAMES, dialect_of
from simia_gym.actions.sampling import sample_call, seen_values
from simia_gym.actions.signatures import compact_block, hermes_block
from simia_gym.actions.strict_json import JsonProblem, decode_at, skip_space
from simia_gym.actions.thinking import (
    CLOSINGS,
    MARK_PATTERN,
    THINKING,
    after_thinking,
    may_think,
    strip_thinking,
    thinking_end,
)
from simia_gym.common.dotted_names import load_object
from simia_gym.errors import ActionError, InputError
from simia_gym.types import Action, Calls, End, JsonObject, Message, Say, ToolCall

_TAG, _END_TAG = "<tool_call>", "</tool_call>"
_RESPONSE, _OBSERVATION = "<tool_response>", "Observation:"
_MARKS = rf"(<tool_call>)[ \t\n\r]*+|</tool_call>|```|{_RESPONSE}|{_OBSERVATION}|{MARK_PATTERN}"
_MARK = re.compile(rf"(?=[<`\[O])(?:{_MARKS})")  # the set of first characters makes the search a third faster
_CLOSED = re.compile(r"[ \t\n\r]*+</tool_call>")
_MAY_BE_JSON = re.compile(r"[ \t\n\r]*+[{\[`]")
_FENCE = re.compile(r"```[ \t]*+(?:json|tool_calls?)?+\s*+(?=[{\[])", re.IGNORECASE)
_JSON_START = re.compile(r"\{|\[\s*+[{\]]")
# Signs of an attempted call: call syntax of other models, truncated tags, and call JSON inside prose.
_DIALECT = re.compile(
    r"""(?<![`"'\u201c])(?:</?\|?(?:tool_?calls?|function_?calls?)\b|<function=|\[TOOL_CALLS\])""", re.IGNORECASE
)  # not in quotes
_MARKUP = re.compile(r"[<`{\[]")
_CUT = re.compile(r"<to(?:o(?:l(?:_(?:c(?:al?)?)?)?)?)?\s*\Z")
_INLINE = re.compile(
    r"""(?<!`)\{\s*+["']name["']\s*+:\s*+["'][^"'{}]*+["']\s*+,\s*+["'](?:arguments|parameters)["']\s*+:"""
)
_NAME_KEY = re.compile(r"""["']?(?:name|function)["']?\s*+:""")
_ARGUMENTS_KEY = re.compile(r"""["']?(?:arguments|parameters)["']?\s*+:""")

_REPLIES: Mapping[Replies, tuple[str, str, str]] = {
    "user": (
        "Every reply of yours is one action: either a message to the user, or tool calls. A reply without a tool call "
        "is sent to the user as it stands.",
        "Text next to a tool call does not reach the user, so talk and call in separate replies.",
        ", not to the user",
    ),
    "end": (
        "Every reply of yours is one action: either tool calls, or your final answer when the task is done. A reply "
        "without a tool call is your final answer and ends the episode.",
        "Text next to a tool call is read by nobody.",
        "",
    ),
    "error": (
        "Every reply of yours is one action: tool calls. There is no user to talk to, and a reply without a tool call "
        "is an error.",
        "Text next to a tool call is read by nobody.",
        "",
    ),
}
"""Instructions about a reply without calls, about text next to calls, and about tool results."""

_MOST_TRIES = 100
"""How many code fences are looked into, and how often thinking may end: each costs a look at the rest of the text."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_ID = attrgetter("id")


class ToolsGrammar:
    """The grammar ``tools``; see the module. It is stateless."""

    name = "tools"
    observation_role: Literal["tool", "user"] = "tool"

    def parse(self, text: str) -> Action:
        """Parse one action; see `Grammar.parse`.

        Error codes: ``empty_action``, ``malformed_call``, ``unclosed_call``, ``missing_name``, ``bad_arguments``.
        """
        start = tries = 0
        opened = may_think(text)
        while tries < _MOST_TRIES:
            if opened:
                start = after_thinking(text, start)
            if _MAY_BE_JSON.match(text, start) and (whole := _whole_json(text, start)) is not None:
                return Say(text[start:].strip()) if is_speech(whole[0]) else self._from_json(whole[0])
            parts: list[str] = []
            calls: list[ToolCall] = []
            again = _scan(text, start, parts, calls)
            tries += 1
            if again is None:
                rest = "".join(parts).strip()
                return Calls(tuple(calls)) if calls and not rest else _conclude(text, rest, calls)
            start = again
        raise broken("malformed_call", f"The reply ends its thinking more than {_MOST_TRIES} times.")

    def _from_json(self, value: Any) -> Action:
        if isinstance(value, list):
            if not value:
                raise broken("malformed_call", "The list of tool calls is empty.")
            return Calls(tuple(call_from(item) for item in value))
        if not is_message(value):
            return Calls((call_from(value),))
        content, calls = message_parts(value)
        return self.parse(content) if calls is None else Calls(calls.calls, strip_thinking(content).strip())

    def invents(self, text: str) -> bool:
        """Whether a reply goes on behind its calls with an observation that the policy has invented."""
        if _RESPONSE not in text and f"\n{_OBSERVATION}" not in text:
            return False
        cuts: list[int] = []
        start: int | None = 0
        try:
            while start is not None and not cuts:
                start = _scan(text, start, [], [], cuts)
        except ActionError:
            pass
        return bool(cuts)

    def instructions(
        self, tools: Sequence[JsonObject], compact: bool = False, parallel: bool = True, replies: Replies = "user"
    ) -> str:
        """Explain how to act; see `Grammar.instructions`."""
        several = (
            "You may put several tool calls into one reply, each in its own tags; they run in the order in which you "
            "wrote them."
            if parallel
            else "Put one tool call into a reply, never more."
        )
        actions, beside, answers = _REPLIES[replies]
        head = (
            f"# How to act\n\n{actions} To call a tool, write a JSON object with its name and its "
            "arguments between <tool_call> and </tool_call>:\n\n"
            '<tool_call>\n{"name": "<tool name>", "arguments": {"<argument>": <value>}}\n</tool_call>\n\n'
            f"{several} {beside} The answers of the tools come back to you{answers}."
        )
        if not tools:
            return head
        if compact:
            note = "These are the tools (a question mark means that the argument may be left out):"
            return f"{head}\n\n{note}\n\n{compact_block(tools)}"
        return f"{head}\n\nThese are the tools, one JSON Schema a line:\n\n{hermes_block(tools)}"

    def render(self, action: Action) -> str:
        """Write an action as Hermes blocks; as an OpenAI message if calls have ids or the text would be ambiguous."""
        if isinstance(action, Say):
            return self._say(action)
        if isinstance(action, End):
            raise InputError("the grammar 'tools' has no end action", fix="Call a tool that ends the episode.")
        text = action.text
        plain = bool(action.calls) and (not text or (text == text.strip() and _MARKUP.search(text) is None))
        if not plain or any(map(_ID, action.calls)):
            return _ENCODER.encode(call_message(*action.calls, content=text or None, as_text=True))
        blocks = [text] if text else []
        return "\n".join(blocks + [call_block(call.name, call.arguments) for call in action.calls])

    def _say(self, action: Say) -> str:
        text = action.text
        if text != text.strip() or not text or _MARKUP.search(text) or "(" in text:
            try:
                same = self.parse(text) == action
            except ActionError:
                same = False
            if not same:
                raise InputError(
                    f"this message would not be read as a message: {text[:60]!r}",
                    fix="Give a text that is not empty, has no call syntax and no white space around it.",
                )
        return text

    def sample(
        self,
        rng: random.Random,
        tools: Sequence[JsonObject],
        pool: Sequence[str] = (),
        messages: Sequence[Message] = (),
    ) -> str:
        """Draw from the pool, or generate a random call; see `Grammar.sample`."""
        if pool and (not tools or rng.random() < 0.3):
            return rng.choice(pool)
        if not tools:
            return "Could you tell me more about that?"
        name, arguments = sample_call(rng, tools, seen_values(messages))
        return self.render(Calls((ToolCall(name, arguments),)))


def call_block(name: str, arguments: JsonObject) -> str:
    """A call as a Hermes block."""
    line = _ENCODER.encode({"name": name, "arguments": arguments})
    # "<" occurs inside strings only; it is escaped so that no parser takes a tag in an argument for a real tag.
    return _TAG + "\n" + line.replace("<", "\\u003c") + "\n" + _END_TAG


def native_instructions(parallel: bool, replies: Replies) -> str:
    """Explain how to act to a policy whose model is given the tools beside the messages.

    It knows the tools and how a call is written, in any grammar; the rest is as in `ToolsGrammar.instructions`.
    """
    several = (
        "One reply may hold several tool calls; they run in their order."
        if parallel
        else "Put one tool call into a reply, never more."
    )
    actions, beside, answers = _REPLIES[replies]
    return f"# How to act\n\n{actions} {several} {beside} The answers of the tools come back to you{answers}."


def get_grammar(name: str, *, folder: Path | None = None, where: str = "grammar") -> Grammar:
    """Make a grammar.

    Args:
        name: ``tools``, or a class as ``module:Class`` or ``file.py:Class``.
        folder: The folder of ``file.py``.
        where: Source of the name, for error messages.

    Returns:
        The grammar.

    Raises:
        InputError: There is no such class, or it is not a grammar.
    """
    if name == ToolsGrammar.name:
        return ToolsGrammar()
    if ":" not in name:
        fix = "Use tools, or name a class as module:Class or file.py:Class."
        raise InputError(f"there is no grammar {name!r}", where=where, fix=fix)
    made = load_object(name, folder=folder, where=where)
    methods = ("parse", "instructions", "render", "sample")
    if not isinstance(made, type) or not all(callable(getattr(made, method, None)) for method in methods):
        fix = f"Give it the methods {', '.join(methods)}; see simia_gym.actions.Grammar."
        raise InputError(f"{name!r} is no grammar class", where=where, fix=fix)
    return cast(Grammar, made())


def _whole_json(text: str, start: int) -> tuple[Any] | None:
    """The rest of the text as a JSON object or list of objects; ``None`` if it is anything else.

    This check comes before the search for tags, because tags inside JSON strings are plain text.
    """
    start = skip_space(text, start)
    fence = _FENCE.match(text, start)
    begin = fence.end() if fence else start
    if not _JSON_START.match(text, begin):
        return None
    try:
        value, end = decode_at(text, begin)
    except JsonProblem:
        return None
    end = skip_space(text, end)
    if fence and text.startswith("```", end):
        end = skip_space(text, end + 3)
    elif fence:
        return None
    return (value,) if end == len(text) else None


def _scan(text: str, start: int, parts: list[str], calls: list[ToolCall], cuts: list[int] | None = None) -> int | None:
    """Collect calls and the text around them; into ``cuts`` where an invented observation begins.

    Returns the index after a closing mark of thinking without an opening one, if there is one: all text before it is
    thinking.
    """
    position, fences = start, 0
    while True:
        mark = _MARK.search(text, position)
        if mark is None:
            parts.append(text[position:])
            return None
        at, end = mark.span()
        kind = mark.group()
        if kind in CLOSINGS:
            return end
        begins = at == 0 or text[at - 1] == "\n"
        # Words of a message or of a final answer: an observation that follows no call.
        if (kind == _OBSERVATION and not (calls and begins)) or (kind == _RESPONSE and not (calls or begins)):
            parts.append(text[position:end])
            position = end
            continue
        parts.append(text[position:at])
        if kind in (_RESPONSE, _OBSERVATION):  # invented by the policy: nothing behind it counts
            if cuts is not None:
                cuts.append(at)
            return thinking_end(text, end)
        if kind in THINKING:
            close = text.find(THINKING[kind], end)
            if close < 0:
                return None
            position = close + len(THINKING[kind])
            continue
        try:
            if mark.lastindex:  # <tool_call>
                if not text.startswith("{", end):
                    raise JsonProblem("Expecting a JSON object", end)
                value, after = decode_at(text, end)
                closed = _CLOSED.match(text, after)
                if closed is None:
                    raise JsonProblem("Expecting </tool_call>", skip_space(text, after))
                calls.append(call_from(value))
                position = closed.end()
            elif kind == _END_TAG:
                raise broken("malformed_call", f"There is a </tool_call> at character {at} that nothing opened.")
            elif (fences := fences + 1) > _MOST_TRIES:
                parts.append(kind)
                position = end
            else:
                position = _fenced(text, at, parts, calls)
        except (ActionError, JsonProblem) as error:
            again = thinking_end(text, end)
            if again is not None:
                return again
            if isinstance(error, JsonProblem):
                raise _broken_tag(text, end, error) from None
            raise


def _broken_tag(text: str, begin: int, problem: JsonProblem) -> ActionError:
    """The error for a call that is truncated (``unclosed_call``) or closed but invalid (``malformed_call``)."""
    closing, following = text.find(_END_TAG, begin), text.find(_TAG, begin)
    if closing < 0 or 0 <= following < closing:
        return broken_json("unclosed_call", "The tool call is not closed by </tool_call>", problem, text)
    return broken_json("malformed_call", "The tool call is not valid JSON", problem, text)


def _fenced(text: str, at: int, parts: list[str], calls: list[ToolCall]) -> int:
    """Parse a call in a code fence; a fence with any other content is part of the text."""
    fence = _FENCE.match(text, at)
    if fence is None:
        parts.append("```")
        return at + 3
    begin = fence.end()
    try:
        value, end = decode_at(text, begin)
    except JsonProblem as problem:
        block = text[begin:] if (close := text.find("```", begin)) < 0 else text[begin:close]
        if _NAME_KEY.search(block) and _ARGUMENTS_KEY.search(block):
            lead = "The tool call in the code fence is not valid JSON"
            raise broken_json("malformed_call", lead, problem, text) from None
        parts.append(text[at:begin])
        return begin
    if not looks_like_call(value):
        parts.append(text[at:end])
        return end
    end = skip_space(text, end)
    if not text.startswith("```", end):
        raise broken("unclosed_call", f"The code fence around the tool call is not closed at character {end}.")
    listed = value if isinstance(value, list) else [value]
    if any(is_message(item) for item in listed):
        raise broken("malformed_call", "An assistant message as JSON must be the whole reply.")
    calls.extend(call_from(item) for item in listed)
    return end + 3


def _conclude(text: str, rest: str, calls: list[ToolCall]) -> Action:
    """Make the action from the scanned text and calls, after a last check for attempted calls in the text."""
    if not rest:
        thought = " after its thinking is taken out" if text.strip() else ""
        raise broken("empty_action", f"The reply is empty{thought}. Write a message to the user or call a tool.")
    if not calls:
        if (dialect := dialect_of(rest)) is not None:
            what = f"The reply is a tool call in the dialect {NAMES[dialect]}, not one of this format."
            raise broken("malformed_call", what)
        _refuse_broken_json(text, rest)
    if "<" in rest or "{" in rest or "[" in rest:
        if _CUT.search(rest):
            raise broken("unclosed_call", "The reply breaks off inside a <tool_call> tag.")
        attempt = _DIALECT.search(rest) or _INLINE.search(rest)
        if attempt:
            near = attempt.group()[:30]
            raise broken("malformed_call", f"The reply holds a tool call outside of <tool_call> tags, near {near!r}.")
    return Calls(tuple(calls), rest) if calls else Say(rest)


def _refuse_broken_json(text: str, rest: str) -> None:
    """Raise if the text begins like JSON; a valid call as the whole reply was already parsed before."""
    fence = _FENCE.match(rest)
    begin = fence.end() if fence else 0
    if not _JSON_START.match(rest, begin):
        return
    offset = max(text.find(rest), 0)
    try:
        value, end = decode_at(rest, begin)
    except JsonProblem as problem:
        raise broken_json("malformed_call", "The reply is not valid JSON", problem, rest, offset) from None
    if fence and not looks_like_call(value) and "```" in rest[end:]:
        return
    end = skip_space(rest, end)
    if fence and end == len(rest):
        raise broken("unclosed_call", f"The code fence is not closed at character {end + offset}.")
    more = JsonProblem("there is more after the JSON value", end)
    raise broken_json("malformed_call", "A call as plain JSON must be the whole reply", more, rest, offset)
