"""The grammar ``webshop``: ``search[keywords]`` and ``click[value]``, optionally after a thought.

    Thought:
    The user wants a red lamp.

    Action:
    search[red lamp]

An action begins a line. If there are lines that begin with ``Action:``, only the text after the last one counts.
Values may contain brackets. There is no user, so a text without an action is an error.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any, Literal

from simia_gym.actions.base import Replies
from simia_gym.actions.strict_json import JsonProblem, decode_at
from simia_gym.actions.thinking import strip_thinking
from simia_gym.errors import ActionError, InputError
from simia_gym.types import Action, Calls, JsonObject, Message, ToolCall

EXAMPLE = "Thought:\nI look for a lamp first.\n\nAction:\nsearch[red desk lamp]"
_ARGUMENT = {"search": "keywords", "click": "value"}
_MARK = re.compile(r"^[ \t*]*+action[ \t*]*+:[ \t*]*+", re.IGNORECASE | re.MULTILINE)
_VERB = re.compile(r"[ \t,;`*]*+(search|click)[ \t]*+\[", re.IGNORECASE)
_ANYWHERE = re.compile(r"\b(?:search|click)[ \t]*+\[", re.IGNORECASE)
_AVAILABLE = re.compile(r"Available Actions:\s*+(?=\{)")
_WORD = re.compile(r"[A-Za-z][a-z]{3,}")
_COMMON = frozenset(("with", "that", "from", "your", "than", "want", "looking", "need", "price", "lower", "dollars"))


class WebshopGrammar:
    """See the module. It has no state."""

    name = "webshop"
    observation_role: Literal["tool", "user"] = "user"

    def parse(self, text: str) -> Action:
        """Read one action, as `Grammar.parse` says.

        Codes of errors: ``empty_action``, ``no_action``, ``unclosed_call``, ``bad_arguments``.
        """
        body = strip_thinking(text).strip()
        if not body:
            raise _broken("empty_action", "The reply is empty.")
        thought, start = "", 0
        for mark in _MARK.finditer(body):
            thought, start = body[: mark.start()], mark.end()
        calls: list[ToolCall] = []
        beside = [thought, *(_read_line(line, calls) for line in body[start:].split("\n"))]
        if not calls:
            hint = _ANYWHERE.search(body, start)
            what = "An action must begin its line." if hint else "The reply holds no action."
            raise _broken("no_action", what)
        return Calls(tuple(calls), "\n".join(part.strip() for part in beside if part.strip()))

    def instructions(
        self, tools: Sequence[JsonObject], compact: bool = False, parallel: bool = True, replies: Replies = "user"
    ) -> str:
        """Explain the two actions; see `Grammar.instructions`."""
        head = (
            "# How to act\n\n"
            "You use a web shop through two actions. search[keywords] types the keywords into the search bar; it works "
            "on pages that have one. click[value] presses the button or link, or picks the option, of that name; it "
            "works for the names that the page lists as clickable. Every page comes with a line of JSON that says "
            "whether there is a search bar and what can be clicked."
        )
        if compact:
            return f"{head} Reply with the action on a line of its own."
        several = " Several actions, each on its own line, run in order." if parallel else " Write one action a reply."
        return (
            f"{head}\n\nWrite down a short thought if it helps, then the action on a line of its own:\n\n{EXAMPLE}\n\n"
            f"Only what follows the last Action: counts.{several} Nobody reads anything else that you write."
        )

    def render(self, action: Action) -> str:
        """Write calls of ``search`` and ``click``, one per line, after the thought if there is one."""
        if not isinstance(action, Calls) or not action.calls:
            raise InputError("the grammar 'webshop' can only search and click", fix="Give calls of these two tools.")
        lines = "\n".join(_line(call) for call in action.calls)
        text = f"{action.text}\n\nAction:\n{lines}" if action.text else lines
        try:
            read = self.parse(text)
        except ActionError:
            read = None
        if not isinstance(read, Calls) or [c.arguments for c in read.calls] != [c.arguments for c in action.calls]:
            raise InputError(f"this action cannot be written in the grammar 'webshop': {lines[:80]!r}")
        return text

    def sample(
        self,
        rng: random.Random,
        tools: Sequence[JsonObject],
        pool: Sequence[str] = (),
        messages: Sequence[Message] = (),
    ) -> str:
        """Draw the form, search or click, and then its argument; see `Grammar.sample`.

        A click is on a name that the last page lists. A search is for a word of the instruction or of the pool, even if
        the page has no search bar.
        """
        page = available_actions(messages)
        clickables = [str(item) for item in page.get("clickables", ()) if str(item).lower() != "search"]
        words = _words(messages)
        if words and (not clickables or rng.random() < 0.5):
            other = [word for text in pool if text.startswith("search[") for word in _WORD.findall(text[7:])]
            return f"search[{rng.choice(other if other and rng.random() < 0.5 else words)}]"
        if clickables:
            return f"click[{rng.choice(clickables)}]"
        return rng.choice(pool) if pool else f"search[{rng.choice(words) if words else 'lamp'}]"


def available_actions(messages: Sequence[Message]) -> JsonObject:
    """The JSON line after ``Available Actions:`` in the newest message that has one; ``{}`` without one."""
    for message in reversed(messages):
        content = message.get("content")
        if message.get("role") == "system" or not isinstance(content, str):
            continue
        found: Any = None
        for mark in _AVAILABLE.finditer(content):
            try:
                found = decode_at(content, mark.end())[0]
            except JsonProblem:
                continue
        if isinstance(found, dict):
            return found
    return {}


def _words(messages: Sequence[Message]) -> list[str]:
    """The words of the first message after the system message, which holds the instruction."""
    for message in messages:
        content = message.get("content")
        if message.get("role") != "system" and isinstance(content, str):
            text = content.partition("Available Actions:")[0]
            found = dict.fromkeys(word.lower() for word in _WORD.findall(text))
            return [word for word in found if word not in _COMMON]
    return []


def _read_line(line: str, calls: list[ToolCall]) -> str:
    """Append the actions at the beginning of a line to ``calls``; return the rest of the line."""
    position = 0
    while True:
        verb = _VERB.match(line, position)
        if verb is None:
            return line[position:]
        close = _closing(line, verb.end())
        if close < 0:
            raise _broken("unclosed_call", f"{verb.group(0).strip()} has no closing bracket on its line.")
        name, value = verb.group(1).lower(), line[verb.end() : close].strip()
        if not value:
            raise _broken("bad_arguments", f"{name}[] is empty.")
        calls.append(ToolCall(name, {_ARGUMENT[name]: value}))
        position = close + 1


def _closing(line: str, start: int) -> int:
    """The index of the bracket that closes the value: the balancing one, unless more of the value follows it."""
    depth, balanced = 1, -1
    for index in range(start, len(line)):
        if line[index] == "[":
            depth += 1
        elif line[index] == "]":
            depth -= 1
            if depth == 0:
                balanced = index
                break
    if _ANYWHERE.search(line, start):
        return balanced
    rest = line[balanced + 1 :]
    if balanced >= 0 and rest.count("[") == rest.count("]"):
        return balanced
    last = line.rfind("]")
    return last if last >= start else -1


def _line(call: ToolCall) -> str:
    argument = _ARGUMENT.get(call.name)
    if argument is None or list(call.arguments) != [argument]:
        raise InputError(f"the grammar 'webshop' has no call {call.name!r} with {sorted(call.arguments)}")
    return f"{call.name}[{call.arguments[argument]}]"


def _broken(code: str, what: str) -> ActionError:
    return ActionError(code, f"{what} Write search[keywords] or click[value], for example:\n{EXAMPLE}")
