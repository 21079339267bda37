"""In which form a chat template renders what the environment says, found out once for each tokenizer.

Templates differ in what they let follow a policy's turn: some have no role ``tool``, or drop a tool's result where the
call before it is a text, as a policy writes it; some want users and assistants to alternate. A short conversation with
marker texts is rendered whole, and turn by turn. The first form in which both agree is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from simia_gym.types import JsonObject

# No model sees these words. verl starts its renderings with the same conversation, so that templates that look at
# earlier messages (Qwen3's looks for the last question) give the same result.
BEFORE: tuple[JsonObject, ...] = (
    {"role": "system", "content": "continuous token synthetic system"},
    {"role": "user", "content": "continuous token synthetic user"},
)
_NAMELESS = "continuous_token_tool"
_TURN: JsonObject = {"role": "assistant", "content": "continuous token synthetic assistant"}
_DIFFERENT = "renders earlier messages differently when later messages follow"

Render = Callable[[Sequence[Mapping[str, Any]]], str]
"""The text of a conversation."""


@dataclass(frozen=True)
class Form:
    """How messages of the environment are given to the chat template.

    Attributes:
        tools: ``together``: those that follow each other in one rendering; ``single``: each in its own; ``user``: as
            messages of the user, for a template that has no role for them.
        system: Whether a system message may stand in the middle; otherwise it is one of the user.
        alternating: Whether the template wants users and assistants to alternate: all that is heard is one message.
    """

    tools: str
    system: bool = True
    alternating: bool = False

    def groups(self, messages: Sequence[JsonObject]) -> list[list[JsonObject]]:
        """The messages as the template gets them, those of each rendering together."""
        plain = [self._in_role(message) for message in messages]
        if self.alternating:
            return [[{"role": "user", "content": "\n\n".join(str(message["content"]) for message in plain)}]]
        if self.tools == "single":
            return [[message] for message in plain]
        numbered = groupby(enumerate(plain), key=lambda item: -1 if _is_tool(item[1]) else item[0])
        return [[message for _, message in items] for _, items in numbered]

    def before(self, names: tuple[str, ...] | None) -> list[JsonObject]:
        """The fixed conversation before new messages; ``names`` are the tools that they answer for."""
        turn = [] if names is None else [_calls(names)]
        return [*BEFORE, *turn, *([_TURN] if self.alternating else [])]

    def _in_role(self, message: JsonObject) -> JsonObject:
        to_user = self.tools == "user" if _is_tool(message) else message["role"] == "system" and not self.system
        return {"role": "user", "content": message["content"]} if to_user or self.alternating else message


_FORMS = (Form("together"), Form("single"), Form("user"), Form("user", system=False, alternating=True))


def names_of(group: Sequence[JsonObject]) -> tuple[str, ...] | None:
    """The names of the tools that a group of messages answers for; ``None`` if it is of another role."""
    return tuple(str(message.get("name") or _NAMELESS) for message in group) if _is_tool(group[0]) else None


def find_form(render: Render, closing: str) -> Form | str:
    """The first form in which the template renders all that is heard, behind the policy's turns as text.

    Args:
        render: The template.
        closing: What stands between a turn of the policy and the next message.

    Returns:
        The form, or why there is none: what the template does to a message of the user, the plainest of all.
    """
    why = ""
    for form in _FORMS:
        found = _failure(form, render, closing)
        if not found:
            return replace(form, system=form.system and not _system_failure(form, render))
        # The plain user's message says most of a template that takes none.
        why = found if form.tools == "user" or not why else why
        if found == _DIFFERENT and form.tools == "user":
            return found
    return why


def _failure(form: Form, render: Render, closing: str) -> str:
    """What is wrong with a form; empty if nothing is."""
    talk: list[JsonObject] = list(BEFORE)
    pieces: list[str] = []
    for turn, heard in enumerate(_dialogue()):
        talk.append({"role": "assistant", "content": f"turn {turn} of the policy"})
        added = ""
        for group in form.groups(heard):
            try:
                text = _added(form, group, render)
            except Exception as error:  # templates raise what they like
                return f"raises where a {group[0]['role']} message follows ({str(error)[:80]})"
            if text is None:
                return _DIFFERENT
            added += text
            talk += group
        for message in heard:
            if message["content"] not in added:
                return f"drops what a {message['role']} message says"
        pieces.append(f"turn {turn} of the policy{closing}{added}")
    try:
        whole = render(talk)
    except Exception as error:
        # A template may demand a call in its own layout before a tool's result, and renders that one well.
        return "" if form.tools in ("together", "single") else f"raises in a conversation ({str(error)[:80]})"
    return "" if all(piece in whole for piece in pieces) else _DIFFERENT


def _system_failure(form: Form, render: Render) -> bool:
    message = {"role": "system", "content": "marker 9b7e of a system"}
    try:
        return message["content"] not in (_added(form, [message], render) or "")
    except Exception:
        return True


def _added(form: Form, group: Sequence[JsonObject], render: Render) -> str | None:
    """The text that a group of messages adds; ``None`` if it changes what stands before."""
    before = form.before(names_of(group))
    known, whole = render(before), render([*before, *group])
    return whole[len(known) :] if whole.startswith(known) else None


def _dialogue() -> Iterator[list[JsonObject]]:
    """What the environment says after each turn of the policy: each kind of message, each twice."""
    number = 0
    for roles in ("tool", "tool tool", "user", "tool", "tool user", "user"):
        heard: list[JsonObject] = []
        for role in roles.split():
            number += 1
            heard.append({"role": role, "content": f"marker 9b7e{number} of a {role}"})
            if role == "tool":
                heard[-1]["name"] = _NAMELESS
        yield heard


def _calls(names: Sequence[str]) -> JsonObject:
    """The assistant's turn before tool messages; some templates look up the called tools there."""
    calls = [
        {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": {}}}
        for place, name in enumerate(names)
    ]
    return {"role": "assistant", "content": "", "reasoning_content": "reasoning", "tool_calls": calls}


def _is_tool(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "tool"
