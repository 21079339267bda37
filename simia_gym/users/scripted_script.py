"""The script of a scripted user: its requests, its knowledge, its lines, and what fulfils each request.

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

A request with ``done`` is fulfilled when every call in ``done`` has succeeded. A request with only ``told`` is
fulfilled when the agent has said one text of every group in ``told``. The user also drops a request when it accepts a
refusal, after ``insist`` objections.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from simia_gym.common.validation import StrictModel, validated
from simia_gym.users.cues import CuePattern, listed
from simia_gym.users.cues import Texts as Line


class Answer(StrictModel):
    """The answer when the agent asks for one detail; ``values`` are the private values in it."""

    say: Line = ()
    values: Line = ()


class Expect(StrictModel):
    """The texts by which a proposal may name one detail.

    The user says yes only to a proposal that mentions one of ``any``. It objects to a proposal that mentions none of
    them but a wrong value (one that matches the token pattern ``token``, or a text of ``avoid``), and asks for the
    detail if the proposal does not mention it. A text of ``beside`` is no wrong value.
    """

    slot: str = ""
    any: Line = ()
    avoid: Line = ()
    beside: Line = ()
    token: str | None = None


class Done(StrictModel):
    """A successful call of a tool that has at least these arguments."""

    tool: str = ""
    arguments: Mapping[str, Any] = Field(default_factory=dict)


class Change(StrictModel):
    """A change of mind at the first correct proposal.

    ``withdraw`` drops the request; otherwise the fields that are set replace those of the request.
    """

    say: Line = ()
    withdraw: bool = False
    action: str | None = None
    slots: Mapping[str, Answer] = Field(default_factory=dict)
    expect: tuple[Expect, ...] | None = None
    done: tuple[Done, ...] | None = None


class Request(StrictModel):
    """One request of the user.

    Attributes:
        id: The request's name in the record.
        say: Lines that make the request.
        action: The action in the cue file whose words a proposal must contain; ``None`` for a question.
        slots: Details of the request, told when the agent asks for them.
        expect: Details that a proposal must name.
        done: Tool calls that fulfil the request.
        told: Groups of texts; the agent answers a question by saying one text of each group.
        answer: Token pattern of answers to a question; any one matching value, right or wrong, ends the question, and
            the user asks which one it is if a message asserts several.
        about: Pattern of what names the answer, where other values of its kind stand beside it.
        insist: Number of objections to refusals.
        insist_say: Lines that object to a refusal.
        accept: Lines that accept a refusal.
        confirm: Lines that say yes.
        change: The user's change of mind, if any.
        otherwise: Whether the request is made only after the one before was refused.
    """

    id: str = "request"
    say: Line = Field(min_length=1)
    action: str | None = None
    slots: Mapping[str, Answer] = Field(default_factory=dict)
    expect: tuple[Expect, ...] = ()
    done: tuple[Done, ...] = ()
    told: Annotated[tuple[Line, ...], BeforeValidator(listed, json_schema_input_type=str | tuple[Line, ...])] = ()
    answer: str | None = None
    about: CuePattern = ""
    insist: int = 1
    insist_say: Line = ()
    accept: Line = ()
    confirm: Line = ()
    change: Change | None = None
    otherwise: bool = False


class Script(StrictModel):
    """The script of one scripted user.

    Attributes:
        opening: Lines that open the conversation; if empty, the first request opens it.
        requests: The requests, in order.
        facts: Details that belong to no single request.
        close: Lines that end the conversation.
        persona: Description of the person, for user simulators that improvise.
        vague: Whether the opening does not say the first request.
    """

    type: Literal["scripted"]
    opening: Line = ()
    requests: tuple[Request, ...] = Field(min_length=1)
    facts: Mapping[str, Answer] = Field(default_factory=dict)
    close: Line = ()
    persona: str = ""
    vague: bool = False


def script_from_json(value: Any, where: str) -> Script:
    """Read a script, the ``user`` of the task ``where``.

    Raises:
        InputError: The value is not a valid script; names the field.
    """
    return validated(Script, value, where=where, fix="See the reference of user scripts for its keys and values.")
