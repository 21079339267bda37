"""What a simulator, a user and a policy's face know of an episode when it is their turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from simia_gym.common.quick_init import quick_init
from simia_gym.record.ledger import Ledger
from simia_gym.state import State
from simia_gym.types import JsonObject, Task, ToolCall, Transition

T = TypeVar("T")


class DomainFacts(Protocol):
    """What a user or judge that asks a model has to know of a domain."""

    @property
    def folder(self) -> Path:
        """Where the domain lies, with its prompt files."""
        ...

    @property
    def hash(self) -> str:
        """Content hash of the domain."""
        ...

    @property
    def about(self) -> JsonObject:
        """Name, version and options, as prompts name the domain."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class PreparedTask:
    """A task with everything that is worked out of it once and shared by all episodes that play it.

    Attributes:
        task: The task.
        initial: The state in which it begins.
        digest: Its content hash, 16 hex digits.
    """

    task: Task
    initial: State
    digest: str = ""
    _made: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def once(self, name: str, make: Callable[[Task], T]) -> T:
        """Give what a part of the engine makes of the task, such as the user's parsed script.

        Args:
            name: What it is; each has its own name.
            make: Makes it of the task, at the first call.
        """
        if name not in self._made:
            self._made[name] = make(self.task)
        return cast(T, self._made[name])


@quick_init
@dataclass(frozen=True, slots=True)
class StepContext:
    """The present moment of an episode.

    Attributes:
        prepared: The task with what was worked out of it, private parts included: simulators and users may read them,
            policies never see a context.
        state: The state now.
        ledger: The record so far.
        seed: The episode's seed; all variety of wording comes from it.
        turn: The number of the present turn, from 1; 0 at the opening.
        group: Id that the episodes of one group share: in them the same call in the same state has the same answer.
    """

    prepared: PreparedTask
    state: State
    ledger: Ledger
    seed: int
    turn: int
    group: str = ""

    @property
    def task(self) -> Task:
        """The task."""
        return self.prepared.task

    @property
    def digest(self) -> str:
        """The task's content hash."""
        return self.prepared.digest

    @property
    def scope(self) -> str:
        """Which episode this is, for cassettes: task, its content, the seed."""
        return f"{self.task.id}:{self.digest}:{self.seed}"


class Simulator(Protocol):
    """Answers a tool call: code, a language model, or a mixture. The contract is the same for all.

    Attributes:
        name: ``world``, ``llm``, ... as reported in ``info["simulator"]``.
        io: Whether a call may wait for something outside this process.
    """

    name: str
    io: bool

    def begin(self, context: StepContext) -> None:
        """Get ready for an episode; called once, before anything else."""
        ...

    async def open(self, context: StepContext) -> Transition:
        """Give the first observation, where the domain has no user."""
        ...

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        """Answer one call. Raises `Fault` if no trustworthy answer could be had."""
        ...


class User(Protocol):
    """Plays the customer, where the domain has one. Its memory lives in the state table ``_user``.

    Attributes:
        name: ``scripted``, ``brief``, ``llm``, ... as reported in ``info["user"]``.
        io: Whether a reply may wait for something outside this process.
    """

    name: str
    io: bool

    def begin(self, context: StepContext) -> None:
        """Get ready for an episode; called once, before anything else."""
        ...

    async def open(self, context: StepContext) -> Transition:
        """Say the first words."""
        ...

    async def reply(self, text: str, context: StepContext) -> Transition:
        """Answer what the agent said; ``Transition.end`` is set when the user leaves."""
        ...
