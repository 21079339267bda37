"""What a task's customer wants, says only when asked, and does not know, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simia_gym.common.formatting import counted, one_line
from simia_gym.common.json_encoding import encode
from simia_gym.types import Task
from simia_gym.users.scripted_script import Answer, Change, Request, Script, script_from_json

Line = tuple[str, str]
"""What is told, such as ``wants``, and the text."""
_SCRIPTED, _ASKED = "scripted", "only if asked"


def asked(task: Task) -> str:
    """What a task asks for, in one line: its instruction, or what its customer wants; empty if nothing says it."""
    user = task.user or {}
    if task.instruction or not user:
        return one_line(task.instruction or "")
    if user.get("type") == _SCRIPTED:
        script = script_from_json(user, f"task {task.id}: user")
        return one_line(" / ".join(request.say[0] for request in script.requests))
    return one_line(str(user.get("reason") or user.get("instructions") or encode(user).decode()))


def profile(task: Task) -> list[Line]:
    """What the customer of a task wants, tells and withholds; nothing if there is no customer.

    A scripted customer has several wordings of each line, of which the first stands here.

    Raises:
        InputError: The customer's script has mistakes.
    """
    user = task.user or {}
    if user.get("type") == _SCRIPTED:
        return list(_scripted(script_from_json(user, f"task {task.id}: user")))
    return [(name, _plain(value)) for name, value in user.items() if value not in (None, "", [], {})]


def _scripted(script: Script) -> Iterator[Line]:
    if script.persona:
        yield "is", script.persona
    for request in script.requests:
        yield from _request(request)
    known = {name: fact for name, fact in script.facts.items() if fact.values}
    unknown = [name for name in script.facts if name not in known]
    if known:
        yield _ASKED, _answers(known)
    if unknown:
        yield "does not know", ", ".join(unknown)


def _request(request: Request) -> Iterator[Line]:
    before = "if refused" if request.otherwise else "wants"
    yield before, request.say[0]
    if request.slots:
        yield _ASKED, _answers(request.slots)
    if request.change is not None:
        yield "changes its mind", _change(request.change)
    if request.insist:
        yield "insists", f"{counted(request.insist, 'time')}, when that is refused"


def _change(change: Change) -> str:
    said = change.say[0] if change.say else ""
    end = "at the first right proposal" + (", and asks for nothing any more" if change.withdraw else "")
    return f"{said} ({end})".strip()


def _answers(answers: Mapping[str, Answer]) -> str:
    told = {name: ", ".join(one.values) or " ".join(one.say[:1]) for name, one in answers.items()}
    return "; ".join(f"{name}: {one_line(text)}" for name, text in told.items())


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else encode(value).decode()
