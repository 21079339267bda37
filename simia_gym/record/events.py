"""The keys of each type of event, for the JSON Schema of a record; a key with a default is only there if it matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import Field

from simia_gym.common.validation import StrictModel
from simia_gym.types import JsonObject, Op, Outcome, Speaker, ToolCall, Verdict


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


class InvalidEvent(_InTurn):
    """The answer to an action that was no valid one."""

    type: Literal["invalid"]
    code: str
    text: str


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
    | RejectedEvent
    | AnswerEvent
    | FaultEvent
    | EndEvent
    | VerdictEvent
)
