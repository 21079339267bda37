"""The keys of each type of event, for the JSON Schema of a record; a key with a default is only there if it matters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from simia_gym.types import JsonObject, Op, Outcome, Speaker, ToolCall, Verdict


@dataclass(frozen=True, kw_only=True)
class _Event:
    i: int


@dataclass(frozen=True, kw_only=True)
class _InTurn(_Event):
    turn: int


@dataclass(frozen=True, kw_only=True)
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
    models: dict[str, str] = field(default_factory=dict)
    history: str = ""
    stateless: bool = False
    uncounted: tuple[str, ...] = ()
    dev: bool = False


@dataclass(frozen=True, kw_only=True)
class MessageEvent(_InTurn):
    """The environment's first message."""

    type: Literal["message"]
    speaker: Speaker
    text: str
    ops: tuple[Op, ...]
    meta: JsonObject


@dataclass(frozen=True, kw_only=True)
class ActionEvent(_InTurn):
    """An action of the policy."""

    type: Literal["action"]
    text: str
    beside: str = ""


@dataclass(frozen=True, kw_only=True)
class InvalidEvent(_InTurn):
    """The answer to an action that was no valid one."""

    type: Literal["invalid"]
    code: str
    text: str


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
class RejectedEvent(_InTurn):
    """A reply of a model that broke rules."""

    type: Literal["rejected"]
    role: str
    tool: str
    purpose: str
    violations: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AnswerEvent(_InTurn):
    """The agent's own end action."""

    type: Literal["answer"]
    text: str


@dataclass(frozen=True, kw_only=True)
class FaultEvent(_Event):
    """The infrastructure failed."""

    type: Literal["fault"]
    role: str
    kind: str
    message: str


@dataclass(frozen=True, kw_only=True)
class EndEvent(_InTurn):
    """The episode is over."""

    type: Literal["end"]
    reason: str
    truncated: bool


@dataclass(frozen=True, kw_only=True)
class VerdictEvent(Verdict, _Event):
    """Last: the verdict."""

    type: Literal["verdict"]


AnyEvent: TypeAlias = (
    StartEvent
    | MessageEvent
    | ActionEvent
    | InvalidEvent
    | TransitionEvent
    | ModelEvent
    | RejectedEvent
    | AnswerEvent
    | FaultEvent
    | EndEvent
    | VerdictEvent
)
