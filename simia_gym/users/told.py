"""What a model that plays the customer is told of the task: a script in plain words.

A script also holds what is not the customer's to know: the texts that a proposal or an answer may be recognised by,
with ids that the customer never says, and the calls that fulfil a request. None of it is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simia_gym.users.scripted_script import Answer, Change, Request, script_from_json

_TIMES = ("never", "once", "twice")


def told(user: Mapping[str, Any], where: str) -> str | Mapping[str, Any]:
    """A customer's own knowledge and wishes: a script as text, of each line its first wording; a brief as it is.

    Args:
        user: The ``user`` of a task.
        where: The place of it, for messages.

    Raises:
        InputError: The script is not valid.
    """
    if user.get("type") != "scripted":
        return user
    script = script_from_json(user, where)
    lines = [f"You are {script.persona}."] if script.persona else []
    if script.opening:
        lines.append(f"Your first words: {script.opening[0]}")
        if script.vague:
            lines.append("They leave your first wish unsaid; tell it when you are asked.")
    if script.facts:
        lines += ["Details of you, told only when asked for:", *_details(script.facts)]
    for number, request in enumerate(script.requests, 1):
        only = ", only if the one before was refused" if request.otherwise else ""
        lines += [f"Wish {number}{only}: {request.say[0]}", *_wish(request)]
    if script.close:
        lines.append(f"Your last words: {script.close[0]}")
    return "\n".join(lines)


def _wish(request: Request) -> Iterator[str]:
    if request.slots:
        yield "Its details, told only when asked for:"
        yield from _details(request.slots)
    named = dict.fromkeys(_words(each.slot) for each in request.expect if each.slot in request.slots)
    if named:
        yield f"Agree only if a proposal names these right: {', '.join(named)}."
    if request.confirm:
        yield f"You agree so: {request.confirm[0]}"
    if request.change is not None:
        yield from _change(request.change)
    if not request.done:
        yield "This is a question, settled by an answer."
    often = _TIMES[request.insist] if request.insist < len(_TIMES) else f"{request.insist} times"
    object_so = f": {request.insist_say[0]}" if request.insist and request.insist_say else "."
    yield f"If it is refused, object {often}{object_so}"
    if request.accept:
        yield f"Then give in: {request.accept[0]}"


def _change(change: Change) -> Iterator[str]:
    yield f"When the right thing is first proposed, change your mind instead of agreeing: {' '.join(change.say[:1])}"
    if change.withdraw:
        yield "Then want nothing more of this wish."
    elif change.slots:
        yield "From then on its details are:"
        yield from _details(change.slots)


def _details(answers: Mapping[str, Answer]) -> Iterator[str]:
    for name, answer in answers.items():
        if answer.say:
            yield f"- {_words(name)}: {answer.say[0]}"


def _words(name: str) -> str:
    return name.replace("_", " ")
