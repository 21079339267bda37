"""The grammar ``act``: a thought, then one action: a script of bash, an answer, or that the task is done.

    Think: I count the files first.

    Act: bash

    ```bash
    ls | wc -l
    ```

The last line that begins with ``Act:`` counts; the other two actions are ``Act: answer(42)`` and ``Act: finish``.
Several blocks behind it are one script. There is no user, so a text without an action is an error.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Literal

from simia_gym.actions.base import Replies
from simia_gym.actions.thinking import strip_thinking
from simia_gym.errors import ActionError, InputError
from simia_gym.types import Action, Calls, JsonObject, Message, ToolCall

EXAMPLE = "Think: I look at the files first.\n\nAct: bash\n\n```bash\nls -la\n```"
BASH, FINISH, ANSWER = "bash_action", "finish_action", "answer_action"
_ACT = re.compile(r"^[ \t*]*+act[ \t*]*+:[ \t*]*+", re.IGNORECASE | re.MULTILINE)
_BLOCK = re.compile(r"^[ \t]*+```+[ \t]*+(?:bash|sh|shell)?[ \t]*+\n(.*?)^[ \t]*+```", re.DOTALL | re.MULTILINE)
_OPEN = re.compile(r"^[ \t]*+```", re.MULTILINE)
_VERB = re.compile(r"(bash|finish|answer)\b[ \t*]*+", re.IGNORECASE)
_THINK = re.compile(r"^[ \t*]*+think[ \t*]*+:[ \t*]*+", re.IGNORECASE)
_WORD = re.compile(r"[\w./-]{3,40}")


class ActGrammar:
    """See the module. It has no state."""

    name = "act"
    observation_role: Literal["tool", "user"] = "user"

    def parse(self, text: str) -> Action:
        """Read one action, as `Grammar.parse` says.

        Codes of errors: ``empty_action``, ``no_action``, ``unknown_action``, ``no_script``, ``unclosed_call``,
        ``bad_arguments``.
        """
        body = strip_thinking(text).strip()
        if not body:
            raise _broken("empty_action", "The reply is empty.")
        marks = [*_ACT.finditer(_without_blocks(body))]
        if not marks:
            raise _broken("no_action", "The reply holds no line that begins with Act:.")
        thought = _THINK.sub("", body[: marks[-1].start()].strip())
        rest = body[marks[-1].end() :]
        verb = _VERB.match(rest)
        if verb is None:
            raise _broken("unknown_action", f"There is no action {rest[:30].strip()!r}: write bash, answer or finish.")
        return Calls((_read(verb[1].lower(), rest[verb.end() :]),), thought)

    def instructions(
        self, tools: Sequence[JsonObject], compact: bool = False, parallel: bool = True, replies: Replies = "user"
    ) -> str:
        """Explain the three actions; see `Grammar.instructions`."""
        head = (
            "# How to act\n\n"
            "You work in a shell of Linux through three actions, one a reply: `Act: bash`, followed by a block with a "
            "script; `Act: answer(...)` with the answer alone, if the task asks a question; and `Act: finish`, if it "
            "asks for a change that is done."
        )
        if compact:
            return head
        return (
            f"{head} Write down a short thought if it helps, then the action:\n\n{EXAMPLE}\n\n"
            "The output of a script is shown to you, its first 780 characters if it is longer than 800. Nobody reads "
            "anything else that you write."
        )

    def render(self, action: Action) -> str:
        """Write a call as an action, after the thought if there is one."""
        if not isinstance(action, Calls) or len(action.calls) != 1:
            raise InputError("the grammar 'act' takes one action", fix="Give one call of a tool.")
        (call,) = action.calls
        if call.name == BASH:
            script = str(call.arguments.get("script", ""))
            written = f"Act: bash\n\n```bash\n{script}{'' if script.endswith(chr(10)) else chr(10)}```"
        elif call.name == ANSWER:
            written = f"Act: answer({call.arguments.get('answer', '')})"
        else:
            written = "Act: finish"
        thought = action.text or (str(call.arguments.get("thought", "")) if call.name == FINISH else "")
        text = f"Think: {thought}\n\n{written}" if thought else written
        try:
            read = self.parse(text)
        except ActionError:
            read = None
        same = isinstance(read, Calls) and read.calls[0].name == call.name
        if not same or not isinstance(read, Calls) or not _equal(read.calls[0], call):
            raise InputError(f"this action cannot be written in the grammar 'act': {written[:80]!r}")
        return text

    def sample(
        self,
        rng: random.Random,
        tools: Sequence[JsonObject],
        pool: Sequence[str] = (),
        messages: Sequence[Message] = (),
    ) -> str:
        """Draw an action of the pool, or a command on a word of the messages; see `Grammar.sample`."""
        if pool and rng.random() < 0.5:
            return rng.choice(pool)
        words = [word for message in messages[-4:] for word in _WORD.findall(str(message.get("content") or ""))]
        word = rng.choice(words) if words else "."
        if rng.random() < 0.1:
            return f"Act: answer({word})"
        command = rng.choice(("ls -la", "cat", "wc -l", "head -3", "find", "grep -rn", "mkdir -p", "touch"))
        return f"Act: bash\n\n```bash\n{command} {word}\n```"


def _without_blocks(body: str) -> str:
    """The text with the insides of blocks blanked, so that a script's own lines are no action; offsets stay."""
    return _BLOCK.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), body)


def _read(verb: str, rest: str) -> ToolCall:
    if verb == "finish":
        return ToolCall(FINISH, {})
    if verb == "answer":
        text = rest.strip()
        if not text.startswith("("):
            raise _broken("bad_arguments", "An answer stands in brackets, as in Act: answer(42).")
        end = text.rfind(")")
        if end < 0:
            raise _broken("unclosed_call", "The bracket of the answer is not closed.")
        return ToolCall(ANSWER, {"answer": text[1:end].strip()})
    scripts = _BLOCK.findall(rest)
    if not scripts:
        if _OPEN.search(rest):
            raise _broken("unclosed_call", "The block of the script is not closed by ```.")
        raise _broken("no_script", "Behind Act: bash a block with the script is missing.")
    return ToolCall(BASH, {"script": "".join(scripts).removesuffix("\n")})


def _equal(read: ToolCall, meant: ToolCall) -> bool:
    given = {name: value for name, value in meant.arguments.items() if name != "thought"}
    if meant.name == BASH:
        given = {**given, "script": str(given.get("script", "")).removesuffix("\n")}
    return dict(read.arguments) == {
        name: str(value).strip() if name == "answer" else value for name, value in given.items()
    }


def _broken(code: str, what: str) -> ActionError:
    return ActionError(code, f"{what} Write an action like this one:\n{EXAMPLE}")
