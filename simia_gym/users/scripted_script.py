"""The script of a scripted user: what it wants, what it knows, how it puts it, and what settles a wish.

A script is the ``user`` of a task. Every line is a list of wordings, of which the episode's seed picks one:

    {"type": "scripted", "persona": "in a hurry",
     "opening": ["Hi, I need help with an order."], "vague": true,
     "facts": {"email": {"say": ["My email is a@b.com."], "values": ["a@b.com"]}},
     "requests": [{
        "id": "cancel",
        "say": ["I want to cancel an order."],
        "action": "cancel",
        "slots": {"order": {"say": ["It is #W1234567."], "values": ["#W1234567"]}},
        "expect": [{"slot": "order", "any": ["#W1234567"], "avoid": [], "token": "order"}],
        "done": [{"tool": "cancel_pending_order"}]
     }],
     "close": ["Thanks, bye."]}

A request is settled by a successful call of every tool in ``done``, or, where it has none, by the agent having said one
of the words of every group in ``told``; or by a refusal that the user accepts after ``insist`` objections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simia_gym.errors import InputError

Line = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the user says when it is asked for one detail; ``values`` are the private words in it."""

    say: Line
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expect:
    """What a proposal must say about one detail.

    The user says yes only to a proposal that mentions one of ``any``. It objects to one that mentions none of them and
    something else of this sort instead (a value of the shape ``token``, or a word of ``avoid``), and asks for the
    detail where nothing is said about it.
    """

    slot: str
    any: tuple[str, ...]
    avoid: tuple[str, ...] = ()
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """A successful call of this tool, with these arguments where given."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of mind at the first proper proposal.

    ``withdraw`` drops the request; otherwise the given parts replace those of the request.
    """

    say: Line
    withdraw: bool = False
    action: str | None = None
    slots: Mapping[str, Answer] = field(default_factory=dict)
    expect: tuple[Expect, ...] | None = None
    done: tuple[Done, ...] | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One wish.

    Attributes:
        id: Its name in the record.
        say: How it is brought up.
        action: The action whose words a proposal must contain; none for a question.
        slots: Details of this wish, told when asked for.
        expect: What a proposal must say.
        done: Calls that settle it.
        told: Groups of words; one of each group, said by the agent, settles a question.
        answer: Shape of the answer to a question: a value of it ends the question, right or wrong.
        insist: How often the user objects to a refusal.
        insist_say: How it objects.
        accept: What it says when it gives in.
        confirm: How it says yes.
        change: Its change of mind.
    """

    id: str
    say: Line
    action: str | None = None
    slots: Mapping[str, Answer] = field(default_factory=dict)
    expect: tuple[Expect, ...] = ()
    done: tuple[Done, ...] = ()
    told: tuple[tuple[str, ...], ...] = ()
    answer: str | None = None
    insist: int = 0
    insist_say: Line = ()
    accept: Line = ()
    confirm: Line = ()
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """Everything a scripted user brings along.

    Attributes:
        opening: The first words; the first request where it is empty.
        requests: The wishes, in order.
        facts: Details that do not belong to one wish.
        close: The last words.
        persona: What kind of person it is, for users that improvise.
        vague: Whether the opening leaves the first wish unsaid.
    """

    opening: Line
    requests: tuple[Request, ...]
    facts: Mapping[str, Answer] = field(default_factory=dict)
    close: Line = ()
    persona: str = ""
    vague: bool = False


def script_from_json(value: Any, where: str) -> Script:
    """Read a script.

    Args:
        value: The ``user`` of a task.
        where: The task, for error messages.

    Raises:
        InputError: It is no script; names the place.
    """
    keys = {"type", "persona", "opening", "facts", "requests", "close", "vague"}
    data = _mapping(value, where, keys)
    if data.get("type") != "scripted":
        raise InputError(f"type is {data.get('type')!r}", where=where, fix="Use 'scripted', or another kind of user.")
    requests = tuple(
        _request(item, f"{where}.requests[{i}]") for i, item in enumerate(_list(data.get("requests"), where))
    )
    if not requests:
        raise InputError("the user wants nothing", where=f"{where}.requests", fix="Write at least one request.")
    return Script(
        opening=_line(data.get("opening"), f"{where}.opening"),
        requests=requests,
        facts=_answers(data.get("facts"), f"{where}.facts"),
        close=_line(data.get("close"), f"{where}.close"),
        persona=str(data.get("persona", "")),
        vague=bool(data.get("vague", False)),
    )


def _request(value: Any, where: str) -> Request:
    keys = {
        "id", "say", "action", "slots", "expect", "done", "told", "answer", "insist", "insist_say", "accept", "confirm",
        "change",
    }  # fmt: skip
    data = _mapping(value, where, keys)
    say = _line(data.get("say"), f"{where}.say")
    if not say:
        raise InputError("the request has no words", where=f"{where}.say", fix="Write how the user puts it.")
    return Request(
        id=str(data.get("id", "request")),
        say=say,
        action=data.get("action"),
        slots=_answers(data.get("slots"), f"{where}.slots"),
        expect=_expects(data.get("expect"), f"{where}.expect"),
        done=_dones(data.get("done"), f"{where}.done"),
        told=tuple(_line(group, f"{where}.told") for group in _list(data.get("told"), f"{where}.told")),
        answer=data.get("answer"),
        insist=int(data.get("insist", 0)),
        insist_say=_line(data.get("insist_say"), f"{where}.insist_say"),
        accept=_line(data.get("accept"), f"{where}.accept"),
        confirm=_line(data.get("confirm"), f"{where}.confirm"),
        change=None if data.get("change") is None else _change(data["change"], f"{where}.change"),
    )


def _change(value: Any, where: str) -> Change:
    data = _mapping(value, where, {"say", "withdraw", "action", "slots", "expect", "done"})
    return Change(
        say=_line(data.get("say"), f"{where}.say"),
        withdraw=bool(data.get("withdraw", False)),
        action=data.get("action"),
        slots=_answers(data.get("slots"), f"{where}.slots"),
        expect=None if data.get("expect") is None else _expects(data["expect"], f"{where}.expect"),
        done=None if data.get("done") is None else _dones(data["done"], f"{where}.done"),
    )


def _answers(value: Any, where: str) -> Mapping[str, Answer]:
    if value is None:
        return {}
    return {
        str(name): Answer(
            say=_line(_mapping(item, f"{where}.{name}", {"say", "values"}).get("say"), f"{where}.{name}.say"),
            values=_line(item.get("values"), f"{where}.{name}.values"),
        )
        for name, item in _mapping(value, where, None).items()
    }


def _expects(value: Any, where: str) -> tuple[Expect, ...]:
    found = []
    for i, item in enumerate(_list(value, where)):
        data = _mapping(item, f"{where}[{i}]", {"slot", "any", "avoid", "token"})
        found.append(
            Expect(
                slot=str(data.get("slot", "")),
                any=_line(data.get("any"), f"{where}[{i}].any"),
                avoid=_line(data.get("avoid"), f"{where}[{i}].avoid"),
                token=data.get("token"),
            )
        )
    return tuple(found)


def _dones(value: Any, where: str) -> tuple[Done, ...]:
    found = []
    for i, item in enumerate(_list(value, where)):
        data = _mapping(item, f"{where}[{i}]", {"tool", "arguments"})
        found.append(Done(tool=str(data.get("tool", "")), arguments=data.get("arguments") or {}))
    return tuple(found)


def _mapping(value: Any, where: str, keys: set[str] | None) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"a {type(value).__name__} stands where an object must", where=where, fix="Write an object.")
    if keys is not None:
        for key in value:
            if key not in keys:
                raise InputError(f"there is no key {key!r}", where=where, fix=f"Keys: {', '.join(sorted(keys))}.")
    return value


def _list(value: Any, where: str) -> Sequence[Any]:
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InputError(f"a {type(value).__name__} stands where a list must", where=where, fix="Write a list.")
    return value


def _line(value: Any, where: str) -> Line:
    if isinstance(value, str):
        return (value,)
    line = tuple(_list(value, where))
    for item in line:
        if not isinstance(item, str):
            raise InputError(f"{item!r} is no wording", where=where, fix="Write a list of texts.")
    return line
