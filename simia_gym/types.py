"""The frozen data that crosses the floors of the engine. No behaviour lives here.

JSON values are plain Python values; a *row* is one JSON object of a table. A JSON Patch operation (RFC 6902) is a
dictionary ``{"op", "path", "value"}``. Chat messages are dictionaries in the OpenAI layout, with two keys of our own
that a client strips before it sends them: ``error_code`` on an error, ``speaker`` nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from simia_gym.common.quick_init import quick_init

JsonObject: TypeAlias = dict[str, Any]
Row: TypeAlias = Mapping[str, Any]
Op: TypeAlias = dict[str, Any]
Message: TypeAlias = dict[str, Any]

Split = Literal["train", "test"]
Speaker = Literal["tool", "user", "env"]
Outcome = Literal["ok", "error"]

Feedback = Literal["terse", "explain"]
"""What error messages say: what the real system says, or also the reason and a valid example."""


@quick_init
@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of one tool.

    Attributes:
        name: The tool's name.
        arguments: Its arguments, already decoded from JSON.
        id: The id that the answer refers to; the episode gives one where the policy gave none.
    """

    name: str
    arguments: JsonObject
    id: str | None = None


@quick_init
@dataclass(frozen=True, slots=True)
class Say:
    """An action that is a message to the user."""

    text: str


@quick_init
@dataclass(frozen=True, slots=True)
class Calls:
    """An action that calls tools, in order. ``text`` stood beside the calls; it is recorded and reaches nobody."""

    calls: tuple[ToolCall, ...]
    text: str = ""


@quick_init
@dataclass(frozen=True, slots=True)
class End:
    """The agent's own end action, with its answer where the grammar has one."""

    answer: str = ""


Action: TypeAlias = Say | Calls | End
PolicyAction: TypeAlias = str | Message
"""What a policy gives: text in the grammar of the domain, or an assistant message in the layout of OpenAI."""


@quick_init
@dataclass(frozen=True, slots=True)
class Transition:
    """What one call, or one message to the user, brought about.

    Attributes:
        observation: The text that the policy sees.
        ops: The change of state as JSON Patch operations; ``None`` where the simulator keeps no state.
        outcome: ``ok`` or ``error``.
        error_code: Stable code of the error, else ``None``.
        speaker: Who answered.
        reveals: Rows that were missing and count as initial state from now on.
        end: Why the episode ends with this transition (out of band), else ``None``.
        info: Structured public extras, such as a page's clickables.
        meta: Private marks for the record and the rubric (a user's dialogue acts); never shown to the policy.
        state: The `simia_gym.state.State` after ``ops``, where whoever made the transition has it; it only saves work.
    """

    observation: str
    ops: tuple[Op, ...] | None = ()
    outcome: Outcome = "ok"
    error_code: str | None = None
    speaker: Speaker = "tool"
    reveals: tuple[Op, ...] = ()
    end: str | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    state: Any | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Task:
    """What one episode is about.

    Attributes:
        id: Unique within the domain.
        split: ``train`` or ``test``.
        kind: A word for grouping results, such as ``cancel``.
        instruction: The opening text where the domain has no user.
        setup: Operations that change the initial state before the episode begins.
        user: The user's script (scripted user) or brief; private until the end.
        gold: Tool calls that reach the goal; private until the end.
        goal: ``test`` operations on the final state; nothing else may have changed. ``None`` where the goal is not a
            state. A row that must be gone is tested for the value ``None``.
        criteria: Rubric items of this task, besides the domain's.
        options: Whatever the domain's own code needs (a goal's attributes, a basis of scoring).
    """

    id: str
    split: Split
    kind: str
    instruction: str | None = None
    setup: tuple[Op, ...] = ()
    user: JsonObject | None = None
    gold: tuple[JsonObject, ...] = ()
    goal: tuple[Op, ...] | None = None
    criteria: tuple[JsonObject, ...] = ()
    options: JsonObject = field(default_factory=dict)


@quick_init
@dataclass(frozen=True, slots=True)
class Evidence:
    """Where in the ledger a finding rests: the event's index and words that stand in it."""

    event: int
    quote: str


CriterionKind = Literal["goal", "interaction", "communication", "forbidden", "format"]


@quick_init
@dataclass(frozen=True, slots=True)
class CriterionResult:
    """One criterion of the rubric, judged.

    Attributes:
        id: The criterion's id.
        kind: Its kind.
        weight: Its weight in the weighted score, at least 0.
        required: Whether the strict pass needs it.
        value: 0 to 1; ``None`` if it could not be judged.
        passed: Whether it counts as met; ``None`` if it could not be judged.
        reason: One sentence.
        evidence: Events that the finding rests on.
    """

    id: str
    kind: CriterionKind
    weight: float
    required: bool
    value: float | None
    passed: bool | None
    reason: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class FaultInfo:
    """A fault as data: who, what kind, which words."""

    role: str
    kind: str
    message: str


@quick_init
@dataclass(frozen=True, slots=True)
class Verdict:
    """How an episode became a number, or why it did not.

    Attributes:
        reward: The number for the trainer; ``None`` if the verdict is invalid.
        valid: Whether the reward means anything.
        success: Strict pass.
        score: Weighted score of the criteria, 0 to 1.
        basis: What the reward is made of, such as ``rubric:strict`` or ``grade:webshop``.
        criteria: Every criterion with its evidence.
        parts: Named parts of a graded reward.
        fault: What failed, where ``valid`` is false for that reason.
        reason: One sentence, where ``valid`` is false.
    """

    reward: float | None
    valid: bool
    success: bool
    score: float | None
    basis: str
    criteria: tuple[CriterionResult, ...] = ()
    parts: Mapping[str, Any] = field(default_factory=dict)
    fault: FaultInfo | None = None
    reason: str = ""


@quick_init
@dataclass(frozen=True, slots=True)
class Start:
    """What `Episode.reset` gives.

    Attributes:
        observation: The environment's first message.
        messages: The system message and that first message.
        tools: OpenAI tool schemas.
        info: Public facts of the episode: task id, simulator, user, prompt, world extras.
    """

    observation: str
    messages: tuple[Message, ...]
    tools: Sequence[JsonObject]
    info: JsonObject


@quick_init
@dataclass(frozen=True, slots=True)
class Step:
    """What `Episode.step` gives.

    Attributes:
        observation: The text of the new messages.
        reward: 0.0 until the end; 0.0 with an invalid verdict too, which is why ``verdict`` must be read.
        terminated: The task came to its own end.
        truncated: The turn limit, or a fault, cut it off.
        messages: The new messages of the environment, read-only.
        verdict: At the end, else ``None``.
        info: Public facts of the step.
    """

    observation: str
    reward: float
    terminated: bool
    truncated: bool
    messages: tuple[Message, ...]
    verdict: Verdict | None
    info: JsonObject
