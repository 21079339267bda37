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

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from simia_gym.common.json_encoding import encode
from simia_gym.errors import InputError


def _listed(value: Any) -> Any:
    return () if value is None else [value] if isinstance(value, str) else value


Line = Annotated[tuple[str, ...], BeforeValidator(_listed)]
"""Wordings of one line; a text alone is a list of one."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Answer(_Part):
    """What the user says when it is asked for one detail; ``values`` are the private words in it."""

    say: Line = ()
    values: Line = ()


class Expect(_Part):
    """What a proposal must say about one detail.

    The user says yes only to a proposal that mentions one of ``any``. It objects to one that mentions none of them and
    something else of this sort instead (a value of the shape ``token``, or a word of ``avoid``), and asks for the
    detail where nothing is said about it.
    """

    slot: str = ""
    any: Line = ()
    avoid: Line = ()
    token: str | None = None


class Done(_Part):
    """A successful call of this tool, with these arguments where given."""

    tool: str = ""
    arguments: Mapping[str, Any] = Field(default_factory=dict)


class Change(_Part):
    """A change of mind at the first proper proposal.

    ``withdraw`` drops the request; otherwise the given parts replace those of the request.
    """

    say: Line = ()
    withdraw: bool = False
    action: str | None = None
    slots: Mapping[str, Answer] = Field(default_factory=dict)
    expect: tuple[Expect, ...] | None = None
    done: tuple[Done, ...] | None = None


class Request(_Part):
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

    id: str = "request"
    say: Line = Field(min_length=1)
    action: str | None = None
    slots: Mapping[str, Answer] = Field(default_factory=dict)
    expect: tuple[Expect, ...] = ()
    done: tuple[Done, ...] = ()
    told: Annotated[tuple[Line, ...], BeforeValidator(_listed)] = ()
    answer: str | None = None
    insist: int = 0
    insist_say: Line = ()
    accept: Line = ()
    confirm: Line = ()
    change: Change | None = None


class Script(_Part):
    """Everything a scripted user brings along.

    Attributes:
        opening: The first words; the first request where it is empty.
        requests: The wishes, in order.
        facts: Details that do not belong to one wish.
        close: The last words.
        persona: What kind of person it is, for users that improvise.
        vague: Whether the opening leaves the first wish unsaid.
    """

    type: Literal["scripted"]
    opening: Line = ()
    requests: tuple[Request, ...] = Field(min_length=1)
    facts: Mapping[str, Answer] = Field(default_factory=dict)
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
    try:
        return Script.model_validate_json(encode(value))
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        what = f"{first['msg']}, got {first['input']!r:.80}"
        fix = "See the reference of user scripts for its keys and values."
        raise InputError(what, where=f"{where}{place}", fix=fix) from error
