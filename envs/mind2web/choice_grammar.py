"""The grammar ``choice``: a lettered element, what is done with it, and a value.

    Thought: The branch is chosen in the list.
    Answer: C.
    Action: SELECT
    Value: Pickup

CLICK needs no value. ``Answer: A.``, none of the above, shows further elements; with ``Action: DONE`` it ends, and
``Value:`` is the answer to a question.

As in the published parser the first ``Answer:`` counts, after thinking is stripped: what a model writes behind its
first answer is often a page that it invents, with the next answer to it. Here the action and the value are those that
follow that answer, and what cannot be read is an error. With ``compat="mind2web"`` a reply is read as published,
letters to F, first action and value of the whole text, and what cannot be read counts as A. Only a reply that is
nothing but ``Answer: A.`` and ``Action: DONE``, maybe with a value, ends there.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from simia_gym.actions.base import Replies
from simia_gym.actions.thinking import strip_thinking
from simia_gym.envs.mind2web.recorded.tournament import ANSWER as PUBLISHED_ANSWER
from simia_gym.envs.mind2web.recorded.tournament import read_reply
from simia_gym.errors import ActionError, InputError
from simia_gym.types import Action, Calls, JsonObject, Message, ToolCall

EXAMPLE = "Thought: The branch is chosen in the list.\nAnswer: C.\nAction: SELECT\nValue: Pickup"
NONE = "A"
_END = f"Answer: {NONE}.\nAction: DONE"
_ONLY_END = re.compile(rf"{re.escape(_END)}(?:\nValue: ([^\n]*+))?")
_ANSWER = re.compile(r"\b(?i:answer)[ \t]*+:?\*{0,2}+:?[ \t*(]*+([A-Z])(?![\w'])")
_ACTION = re.compile(r"\b(?i:action)[ \t]*+:?\*{0,2}+:?[ \t*]*+([A-Za-z]+)")
_VALUE = re.compile(r"\b(?i:value)(?::\*{0,2}+|\*{0,2}+:)[ \t]*+([^\n]*+)")
_THOUGHT = re.compile(r"[ \t*]*+(?i:thought)[ \t*]*+:[ \t*]*+")
_LETTERED = re.compile(r"^([B-Z])\. (<(\w+)[^\n]*+)$", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z0-9][\w'-]{2,}")
_WITH_VALUE = {"SELECT": "select", "TYPE": "type"}


class ChoiceGrammar:
    """See the module. It has no state.

    Args:
        published: Whether replies are read as published.
    """

    name = "choice"
    observation_role: Literal["tool", "user"] = "user"

    def __init__(self, published: bool = False) -> None:
        self._published = published

    def with_options(self, options: Mapping[str, Any]) -> ChoiceGrammar:
        """The grammar for a domain with these options."""
        return ChoiceGrammar(options.get("compat") == "mind2web")

    def parse(self, text: str) -> Action:
        """Read one action, as `Grammar.parse` says.

        Codes of errors: ``empty_action``, ``no_answer``, ``no_action``, ``unknown_action``, ``bad_arguments``.
        """
        body = strip_thinking(text).strip()
        if self._published:
            return _as_published(body)
        if not body:
            raise _broken("empty_action", "The reply is empty.")
        answer = _ANSWER.search(body)
        if answer is None:
            raise _broken("no_answer", "The reply names no choice, as in Answer: C.")
        return Calls((_read(answer[1], body[answer.end() :]),), _thought(body[: answer.start()]))

    def instructions(
        self, tools: Sequence[JsonObject], compact: bool = False, parallel: bool = True, replies: Replies = "user"
    ) -> str:
        """Explain the answer, the three actions and the end; see `Grammar.instructions`."""
        head = (
            "# How to act\n\n"
            "Every page lists elements by letters. Answer with the letter of the element that comes next, and with "
            "what is done with it: CLICK, SELECT or TYPE. SELECT and TYPE need a line with the value. If no listed "
            "element is right, answer A."
        )
        if not self._published:
            head += (
                " That shows further elements. When all is done, answer A with Action: DONE; if the task asks a "
                "question, Value: holds the answer."
            )
        if compact:
            return f"{head} For example:\n\n{EXAMPLE}"
        end = "" if self._published else "\n\nor, at the end:\n\nAnswer: A.\nAction: DONE"
        return (
            f"{head}\n\nWrite down a short thought if it helps, then these lines:\n\n{EXAMPLE}{end}\n\n"
            "The first answer of a reply counts; there is one action a reply. Nobody reads anything else that you "
            "write."
        )

    def render(self, action: Action) -> str:
        """Write a call as an answer, after the thought if there is one."""
        if not isinstance(action, Calls) or len(action.calls) != 1:
            raise InputError("the grammar 'choice' takes one action", fix="Give one call of a tool.")
        written = _written(action.calls[0])
        text = f"Thought: {action.text}\n{written}" if action.text else written
        try:
            read = self.parse(text)
        except ActionError:
            read = None
        if not isinstance(read, Calls) or read.calls[0] != _plain(action.calls[0]):
            raise InputError(f"this action cannot be written in the grammar 'choice': {written[:80]!r}")
        return text

    def sample(
        self,
        rng: random.Random,
        tools: Sequence[JsonObject],
        pool: Sequence[str] = (),
        messages: Sequence[Message] = (),
    ) -> str:
        """Draw an element that the newest page lists, and what its tag suggests; see `Grammar.sample`.

        What is typed or selected is a word of the page.
        """
        page = next((str(m.get("content")) for m in reversed(messages) if "\nA. " in str(m.get("content"))), "")
        choices = _LETTERED.findall(page)
        if not choices or rng.random() < 0.1:
            return rng.choice(pool) if pool and rng.random() < 0.5 else f"Answer: {NONE}."
        letter, element, tag = rng.choice(choices)
        if tag not in ("select", "input", "textarea"):
            return f"Answer: {letter}.\nAction: CLICK"
        words = _WORD.findall(element if tag == "select" else page)
        action = "SELECT" if tag == "select" else rng.choice(("TYPE", "CLICK"))
        return f"Answer: {letter}.\nAction: {action}\nValue: {rng.choice(words)}"


def _read(letter: str, rest: str) -> ToolCall:
    """The call of an answer and what follows it."""
    action = _ACTION.search(rest)
    name = action[1].upper() if action else ""
    value = _VALUE.search(rest, action.end() if action else 0)
    said = value[1].strip() if value else None
    if letter == NONE:
        return ToolCall("done", {"answer": said} if said else {}) if name == "DONE" else ToolCall("more", {})
    if name == "CLICK":
        return ToolCall("click", {"choice": letter})
    if name == "DONE":
        raise _broken("bad_arguments", "DONE goes with Answer: A.")
    if name not in _WITH_VALUE:
        code, what = (
            ("unknown_action", f"There is no action {name}.") if name else ("no_action", "An action is missing.")
        )
        raise _broken(code, f"{what} Write Action: CLICK, SELECT or TYPE.")
    if said is None:
        raise _broken("bad_arguments", f"{name} needs a line with Value:.")
    return ToolCall(_WITH_VALUE[name], {"choice": letter, "value": said})


def _as_published(body: str) -> Calls:
    """The call of a reply as published. One that names an element and no action clicks without an operation."""
    if end := _ONLY_END.fullmatch(body):
        return Calls((ToolCall("done", {"answer": end[1]} if end[1] else {}),))
    choice, answer = read_reply(body), PUBLISHED_ANSWER.search(body)
    thought = _thought(body if answer is None else body[: answer.start()])
    if choice.letter == NONE:
        return Calls((ToolCall("more", {}),), thought)
    if choice.op in _WITH_VALUE:
        call = ToolCall(_WITH_VALUE[choice.op], {"choice": choice.letter, "value": choice.value})
    else:
        call = ToolCall("click", {"choice": choice.letter, **({} if choice.op else {"op": ""})})
    return Calls((call,), thought)


def _thought(text: str) -> str:
    return _THOUGHT.sub("", text.rstrip("* \t\n").strip(), count=1)


def _written(call: ToolCall) -> str:
    """The lines of a call; those of a call that the grammar does not have lead to no equal one."""
    choice, names = call.arguments.get("choice"), {tool: action for action, tool in _WITH_VALUE.items()}
    if call.name == "click":
        return f"Answer: {choice}." if call.arguments.get("op") == "" else f"Answer: {choice}.\nAction: CLICK"
    if call.name in names:
        return f"Answer: {choice}.\nAction: {names[call.name]}\nValue: {call.arguments.get('value')}"
    if call.name == "done":
        answer = call.arguments.get("answer")
        return _END + (f"\nValue: {answer}" if answer else "")
    return f"Answer: {NONE}."


def _plain(call: ToolCall) -> ToolCall:
    """The call without an answer that says nothing."""
    return ToolCall("done", {}) if call.name == "done" and call.arguments == {"answer": ""} else call


def _broken(code: str, what: str) -> ActionError:
    return ActionError(code, f"{what} Write an action like this one:\n{EXAMPLE}")
