"""The keys of each type of event, for the JSON Schema of a record; a key with a default is only there if it matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, get_type_hints

from pydantic import Field

from simia_gym.common.validation import StrictModel, validated
from simia_gym.errors import DomainError
from simia_gym.types import JsonObject, Op, Outcome, Speaker, ToolCall, Verdict

if TYPE_CHECKING:
    from simia_gym.record.records import Record


class _Event(StrictModel):
    i: int


class _InTurn(_Event):
    turn: int


class StartEvent(_Event):
    """First: what is played."""

    type: Literal["start"]
    env: str
    version: int
    domain_hash: str
    task: str
    kind: str
    split: str
    content: dict[str, str]
    seed: int
    prompt: str
    observation_role: Literal["tool", "user"]
    simulator: str
    user: str | None
    grammar: str = ""
    models: dict[str, str] = Field(default_factory=dict)
    history: str = ""
    stateless: bool = False
    uncounted: tuple[str, ...] = ()
    dev: bool = False
    scores_by: dict[str, str | int | bool] = Field(default_factory=dict)


class MessageEvent(_InTurn):
    """The environment's first message."""

    type: Literal["message"]
    speaker: Speaker
    text: str
    ops: tuple[Op, ...]
    meta: JsonObject


class ActionEvent(_InTurn):
    """An action of the policy."""

    type: Literal["action"]
    text: str
    beside: str = ""
    provider: JsonObject = Field(default_factory=dict)
    finish_reason: str = ""
    invented: bool = False


class InvalidEvent(_InTurn):
    """The answer to an action that was no valid one."""

    type: Literal["invalid"]
    code: str
    text: str
    calls: tuple[ToolCall, ...] = ()


class TransitionEvent(_InTurn):
    """The answer to a call, or to a message to the user."""

    type: Literal["transition"]
    speaker: Speaker
    call: ToolCall | None
    say: str | None
    observation: str
    outcome: Outcome
    error_code: str | None
    ops: tuple[Op, ...] | None
    end: str | None
    meta: JsonObject
    reveals: tuple[Op, ...] = ()


class ModelEvent(_InTurn):
    """A reply of a model."""

    type: Literal["model"]
    role: str
    purpose: str
    ordinal: int
    model: str
    prompt: str
    prompt_bytes: int
    static_bytes: int
    reply: str
    usage: dict[str, int]
    read: tuple[str, ...] = ()


class UnreadEvent(_InTurn):
    """A reply of a model that could not be read."""

    type: Literal["unread"]
    role: str
    purpose: str
    ordinal: int
    model: str
    reply: str
    problem: str
    usage: dict[str, int]


class RejectedEvent(_InTurn):
    """A reply of a model that broke rules."""

    type: Literal["rejected"]
    role: str
    tool: str
    purpose: str
    violations: tuple[str, ...]


class AnswerEvent(_InTurn):
    """The agent's own end action."""

    type: Literal["answer"]
    text: str


class FaultEvent(_Event):
    """The infrastructure failed."""

    type: Literal["fault"]
    role: str
    kind: str
    message: str


class EndEvent(_InTurn):
    """The episode is over."""

    type: Literal["end"]
    reason: str
    truncated: bool


@dataclass(frozen=True, kw_only=True)
class VerdictEvent(Verdict):
    """Last: the verdict."""

    i: int
    type: Literal["verdict"]


AnyEvent: TypeAlias = (
    StartEvent
    | MessageEvent
    | ActionEvent
    | InvalidEvent
    | TransitionEvent
    | ModelEvent
    | UnreadEvent
    | RejectedEvent
    | AnswerEvent
    | FaultEvent
    | EndEvent
    | VerdictEvent
)

_FIX = "Restore the file."


def check_form(record: Record, where: str) -> None:
    """Check that the events and the verdict of a record have the keys and the types that an episode writes.

    Args:
        record: The record.
        where: Its file and line, for errors.

    Raises:
        InputError: One of them has not; names the event and the key.
    """
    kinds: dict[str, Any] = {get_args(get_type_hints(kind)["type"])[0]: kind for kind in get_args(AnyEvent)}
    for number, event in enumerate(record.events):
        place, kind = f"{where}: event {number}", event["type"]
        if kind not in kinds:
            raise DomainError(f"no event is of type {kind!r}", where=place, fix=_FIX)
        validated(kinds[kind], event, where=place, fix=_FIX)
    validated(Verdict, record.verdict, where=f"{where}: verdict", fix=_FIX)
    for name in Verdict.__slots__:
        if name not in record.verdict:
            raise DomainError(f"the key {name!r} is missing", where=f"{where}: verdict", fix=_FIX)
