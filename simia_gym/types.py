"""The frozen data classes that the modules of the engine exchange; they have no behaviour.

JSON values are plain Python values; a *row* is one JSON object of a table. A JSON Patch operation (RFC 6902) is a
dictionary ``{"op", "path", "value"}``. Chat messages are dictionaries in the OpenAI layout, with two additional keys
that clients strip before they send a request: ``error_code`` (of an error) and ``speaker``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
Row: TypeAlias = Mapping[str, Any]
Op: TypeAlias = dict[str, Any]
Message: TypeAlias = dict[str, Any]

Split = Literal["train", "dev", "test"]
"""``dev`` is for every choice during a training, such as that of a checkpoint."""
SplitChoice = Literal["train", "dev", "test", "all"]
"""A split, or ``all``: train and test."""
Speaker = Literal["tool", "user", "env"]
Outcome = Literal["ok", "error"]

Feedback = Literal["terse", "explain"]
"""``terse``: error messages as the real system writes them; ``explain``: also the reason and a valid example."""

Writer = Literal["code", "model"]
"""Who writes what a tool with a rendering rule returns, if a model plays the tool."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of one tool.

    Attributes:
        name: The tool's name.
        arguments: Its arguments, already decoded from JSON.
        id: The call id that the tool message refers to; the episode makes one if the policy gave none.
    """

    name: str
    arguments: JsonObject
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Say:
    """An action that is a message to the user."""

    text: str


@dataclass(frozen=True, slots=True)
class Calls:
    """An action that calls tools, in order. ``text`` is the text next to the calls: recorded, but sent to nobody."""

    calls: tuple[ToolCall, ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class End:
    """An action that ends the episode, with the agent's answer if the grammar has one."""

    answer: str = ""


Action: TypeAlias = Say | Calls | End
PolicyAction: TypeAlias = str | Message
"""An action of a policy: text in the domain's grammar, or an assistant message in OpenAI's layout."""


@dataclass(frozen=True, slots=True)
class Transition:
    """The result of one tool call or of one message to the user.

    Attributes:
        observation: The text that the policy sees.
        ops: The change of state as JSON Patch operations; ``None`` where the simulator keeps no state.
        outcome: ``ok`` or ``error``.
        error_code: Stable code of the error, else ``None``.
        speaker: The component that answered.
        reveals: Operations that add rows to the state and to the episode's initial state.
        end: Why the episode ends with this transition, else ``None``; never part of the text.
        info: Public structured facts, such as the clickable elements of a page.
        meta: Private data for the record and the rubric (such as the user's dialogue acts); the policy never sees it.
        state: The `simia_gym.state.State` after ``ops`` if it is already computed, else ``None``.
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
    """The task of an episode.

    Attributes:
        id: Unique within the domain.
        split: ``train``, ``dev`` or ``test``.
        kind: Label for grouping results, such as ``cancel``.
        instruction: The first observation if the domain has no user.
        setup: Operations that change the initial state before the episode begins.
        user: The user's script (scripted user) or brief; private until the end.
        gold: Actions that solve the task, in order, private until the end: calls ``{"name", "arguments"}``, messages to
            the user ``{"say"}``, a final answer ``{"end"}``.
        goal: ``test`` operations on the final state; nothing else may have changed. ``None`` if the goal is not a
            state. A row that must have been removed is tested for the value ``None``.
        criteria: Rubric items of this task, in addition to the domain's.
        reference: A whole conversation that solves the task, from which the strategy ``reference`` continues instead of
            the gold actions: messages ``{"role": "user" | "assistant" | "tool", ...}`` with ``content``, ``call`` or
            ``tool_calls``, as a trace has them.
        options: Data for the domain's own code, such as a product's attributes or a method of scoring.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    id: str
    split: Split
    kind: str
    instruction: str | None = None
    setup: tuple[Op, ...] = ()
    user: JsonObject | None = None
    gold: tuple[JsonObject, ...] = ()
    goal: tuple[Op, ...] | None = None
    criteria: tuple[JsonObject, ...] = ()
    reference: tuple[JsonObject, ...] = ()
    options: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence for a result: the index of a ledger event, and a quotation from it."""

    event: int
    quote: str


CriterionKind = Literal["goal", "interaction", "communication", "forbidden", "conduct", "format"]


@dataclass(frozen=True, slots=True)
class CriterionResult:
    """The result of one criterion of the rubric.

    Attributes:
        id: The criterion's id.
        kind: Its kind.
        weight: Its weight in the weighted score, at least 0.
        required: Whether `Verdict.success` depends on it.
        value: 0 to 1; ``None`` if it could not be judged.
        passed: Whether it is met; ``None`` if it could not be judged.
        reason: One sentence.
        evidence: The events that support the result.
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
    """A `simia_gym.errors.Fault` as data: role, kind and message."""

    role: str
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The reward of an episode with its evidence, or the reason why there is none.

    Attributes:
        reward: The reward for the trainer; ``None`` if the verdict is invalid.
        valid: Whether the reward may be used; trainers mask invalid episodes.
        success: Whether the task was fully solved; for a rubric, whether every required criterion is met.
        score: Weighted score of the criteria, 0 to 1.
        basis: How the reward was computed, such as ``rubric:strict`` or ``grade:webshop``.
        criteria: Every criterion with its evidence.
        parts: Named components of a graded reward; ``unread`` counts what of the agent's words could not be read.
        fault: The fault, if one made the verdict invalid.
        reason: Why the verdict is invalid, in one sentence.
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

    def _repr_html_(self) -> str:
        """The verdict in a notebook: the reward, and each criterion with its reason."""
        from rich.text import Text

        from simia_gym.common.notebook import as_html

        head = f"reward {self.reward:.4g}" if self.reward is not None else f"no reward: {self.reason}"
        marks = {None: "?", True: "✓", False: "✗"}
        lines = [f"{marks[item.passed]} {item.id} ({item.kind}): {item.reason}" for item in self.criteria]
        return as_html(map(Text, [f"{head} ({self.basis})", *lines]))


@dataclass(frozen=True, slots=True)
class Start:
    """The result of `Episode.reset`.

    Attributes:
        observation: The environment's first message.
        messages: The system message and the first message.
        tools: OpenAI tool schemas.
        info: Public facts of the episode: task id, simulator, user, prompt, the world's public info.
    """

    observation: str
    messages: tuple[Message, ...]
    tools: Sequence[JsonObject]
    info: JsonObject


@dataclass(frozen=True, slots=True)
class Step:
    """The result of `Episode.step`.

    Attributes:
        observation: The text of the new messages.
        reward: 0.0 before the last step. It is also 0.0 with an invalid verdict: check ``verdict.valid``.
        terminated: The episode ended by the rules of the task.
        truncated: A limit or a fault ended the episode.
        messages: The new messages of the environment, read-only.
        verdict: The verdict at the last step, else ``None``.
        info: Public facts of the step.
    """

    observation: str
    reward: float
    terminated: bool
    truncated: bool
    messages: tuple[Message, ...]
    verdict: Verdict | None
    info: JsonObject
