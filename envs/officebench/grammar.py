"""The grammar ``answer``: one action as an object between ``<answer>`` and ``</answer>``, optionally after a thought.

    <think> I have to open the calendar first. </think>
    <answer>{"app": "system", "action": "switch_app", "target_app": "calendar"}</answer>

The object is JSON or a literal of Python; nothing is evaluated. The tags may be left out around a reply that is nothing
but the object. There is no user, so a text without an action is an error.
"""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Sequence
from typing import Any, Literal

from simia_gym.actions.base import Replies
from simia_gym.actions.strict_json import JsonProblem, decode_at
from simia_gym.actions.thinking import strip_thinking
from simia_gym.errors import ActionError, InputError
from simia_gym.types import Action, Calls, JsonObject, Message, ToolCall

EXAMPLE = '<answer>{"app": "system", "action": "switch_app", "target_app": "calendar"}</answer>'
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)
_OPEN = re.compile(r"<answer>", re.IGNORECASE)
_LONGEST = 20_000
_WORD = re.compile(r"[\w./-]{3,}")


class AnswerGrammar:
    """See the module. It has no state."""

    name = "answer"
    observation_role: Literal["tool", "user"] = "user"

    def parse(self, text: str) -> Action:
        """Read one action, as `Grammar.parse` says.

        Codes of errors: ``empty_action``, ``no_action``, ``unclosed_call``, ``bad_json``, ``bad_call``.
        """
        body = strip_thinking(text).strip()
        if not body:
            raise _broken("empty_action", "The reply is empty.")
        found = [*_ANSWER.finditer(body)]
        if not found and _OPEN.search(body):
            raise _broken("unclosed_call", "<answer> is not closed by </answer>.")
        if not found and not (body.startswith("{") and body.endswith("}")):
            raise _broken("no_action", "The reply holds no action.")
        calls = tuple(_read(one[1]) for one in found) or (_read(body),)
        beside = _ANSWER.sub("\n", body).split("\n") if found else []
        return Calls(calls, "\n".join(part.strip() for part in beside if part.strip()))

    def instructions(
        self, tools: Sequence[JsonObject], compact: bool = False, parallel: bool = True, replies: Replies = "user"
    ) -> str:
        """Explain the apps and the form of an action; see `Grammar.instructions`."""
        lines = []
        for entry in tools:
            function = entry["function"]
            app, _, action = function["name"].partition("_")
            fields = "".join(f', "{name}": ...' for name in function["parameters"].get("properties", {}))
            says = function["description"].split("\n")[0]
            lines.append(f'- {{"app": "{app}", "action": "{action}"{fields}}}' + ("" if compact else f"\n  {says}"))
        listed = "\n".join(lines)
        several = "" if parallel else " Write one action a reply."
        return (
            "# How to act\n\n"
            "You use an office through actions of its apps. An action is a JSON object with the app, the action and "
            f"its arguments, between <answer> and </answer>, after a short thought if it helps:\n\n{EXAMPLE}\n\n"
            f"Only the actions of the open app work; system actions always do.{several} Nobody reads anything else "
            f"that you write. The actions:\n\n{listed}"
        )

    def render(self, action: Action) -> str:
        """Write calls as objects between tags, one per line, after the thought if there is one."""
        if not isinstance(action, Calls) or not action.calls:
            raise InputError("the grammar 'answer' can only call actions of apps", fix="Give calls of these.")
        lines = "\n".join(f"<answer>{_object(call)}</answer>" for call in action.calls)
        text = f"{action.text}\n{lines}" if action.text else lines
        try:
            read = self.parse(text)
        except ActionError:
            read = None
        if not isinstance(read, Calls) or [(c.name, c.arguments) for c in read.calls] != [
            (c.name, dict(c.arguments)) for c in action.calls
        ]:
            raise InputError(f"this action cannot be written in the grammar 'answer': {lines[:80]!r}")
        return text

    def sample(
        self,
        rng: random.Random,
        tools: Sequence[JsonObject],
        pool: Sequence[str] = (),
        messages: Sequence[Message] = (),
    ) -> str:
        """Draw an action of the pool, or one with words of the messages as arguments; see `Grammar.sample`."""
        if pool and (not tools or rng.random() < 0.5):
            return rng.choice(pool)
        function = rng.choice(tools)["function"]
        words = [word for message in messages[-4:] for word in _WORD.findall(str(message.get("content") or ""))]
        properties = function["parameters"].get("properties", {})
        given = {name: _drawn(rng, schema, words) for name, schema in properties.items()}
        return self.render(Calls((ToolCall(function["name"], given),)))


def _drawn(rng: random.Random, schema: Any, words: Sequence[str]) -> Any:
    if schema.get("type") == "integer":
        return rng.randint(1, 9)
    return rng.choice(words) if words else "Alice"


def _read(text: str) -> ToolCall:
    """The call that an object describes."""
    found = _literal(text.strip())
    app, action = found.pop("app", None), found.pop("action", None)
    if isinstance(action, str) and "." in action and app in (None, action.partition(".")[0]):
        app, _, action = action.partition(".")
    if not isinstance(action, str) or not (isinstance(app, str) or action == "switch_app"):
        raise _broken("bad_call", 'The object needs the texts "app" and "action".')
    app = "system" if action == "switch_app" or app is None else app
    name = action if action.startswith(f"{app}_") else f"{app}_{action}"
    unwrapped = {key: one[0] if isinstance(one, list) and len(one) == 1 else one for key, one in found.items()}
    return ToolCall(name, unwrapped)


def _literal(text: str) -> JsonObject:
    value: Any = None
    try:
        value, end = decode_at(text, 0)
        value = None if text[end:].strip() else value
    except JsonProblem:
        if len(text) <= _LONGEST:
            try:
                value = ast.literal_eval(text)
                json.dumps(value, allow_nan=False)
            except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                value = None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise _broken("bad_json", f"Malformed action! {text[:60]!r} is no JSON object.")
    return value


def _object(call: ToolCall) -> str:
    app, _, action = call.name.partition("_")
    return json.dumps({"app": app, "action": action, **call.arguments}, ensure_ascii=False)


def _broken(code: str, what: str) -> ActionError:
    return ActionError(code, f"{what} Write an action like this one:\n{EXAMPLE}")
