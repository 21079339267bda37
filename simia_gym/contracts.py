"""Interfaces of simulators and users, and the step context that the episode passes to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast

from simia_gym.record.ledger import Ledger
from simia_gym.state import State
from simia_gym.types import JsonObject, Task, ToolCall, Transition

T = TypeVar("T")


EPISODE: Final = "_episode"
"""The table whose row ``main`` holds the episode's ``seed``."""
NO_JUDGE: Final = "not judged: it needs a language model and no judge is set"
"""The reason of a criterion that only a judge could check."""


class DomainFacts(Protocol):
    """The facts about a domain that an LLM user or LLM judge needs for its prompt."""

    @property
    def folder(self) -> Path:
        """Folder of the domain; it holds the prompt files."""
        ...

    @property
    def hash(self) -> str:
        """Content hash of the domain."""
        ...

    @property
    def about(self) -> JsonObject:
        """Name, version and options of the domain, for prompts."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class PreparedTask:
    """A task with the values that are derived from it once and shared by all of its episodes.

    Attributes:
        task: The task.
        initial: The initial state of its episodes.
        blob: Hash and canonical JSON of the task, for records.
    """

    task: Task
    initial: State
    blob: tuple[str, bytes] = ("", b"")
    _made: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the values that define it; a copy derives the others again."""
        return PreparedTask, (self.task, self.initial, self.blob)

    @property
    def digest(self) -> str:
        """The task's content hash, 16 hex digits."""
        return self.blob[0][:16]

    def once(self, name: str, make: Callable[[Task], T]) -> T:
        """Return a value derived from the task, such as the user's parsed script; it is computed once and cached.

        Args:
            name: Cache key; each kind of derived value has its own.
            make: Computes the value from the task; called on a cache miss only.
        """
        if name not in self._made:
            self._made[name] = make(self.task)
        return cast(T, self._made[name])


@dataclass(frozen=True, slots=True)
class StepContext:
    """What a simulator or user gets at each step of an episode.

    Attributes:
        prepared: The task with its derived values, private fields included. Simulators and users may read them;
            policies never get a context.
        state: The current state.
        ledger: The events of the episode so far.
        seed: The episode's random seed.
        turn: Number of the current turn, from 1; 0 at reset.
        group: Group id. Within a group, the same tool call in the same state gets the same answer.
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
        """The episode's key in cassettes: task id, content hash of the task, seed."""
        return f"{self.task.id}:{self.digest}:{self.seed}"


class Simulator(Protocol):
    """Answers tool calls, by code, a language model or both.

    Attributes:
        name: ``world``, ``llm``, ... as reported in ``info["simulator"]``.
        io: Whether a call may wait for I/O, such as a model's endpoint.
    """

    name: str
    io: bool

    def begin(self, context: StepContext) -> None:
        """Prepare for an episode; called once, before any other method."""
        ...

    async def open(self, context: StepContext) -> Transition:
        """Return the first observation; called only if the domain has no user."""
        ...

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        """Answer one tool call.

        Raises:
            Fault: No valid answer could be obtained.
        """
        ...


class User(Protocol):
    """Simulates the user whom the agent talks to. Its memory is the state table ``_user``.

    Attributes:
        name: ``scripted``, ``brief``, ``llm``, ... as reported in ``info["user"]``.
        io: Whether a reply may wait for I/O, such as a model's endpoint.
    """

    name: str
    io: bool

    def begin(self, context: StepContext) -> None:
        """Prepare for an episode; called once, before any other method."""
        ...

    async def open(self, context: StepContext) -> Transition:
        """Return the user's first message."""
        ...

    async def reply(self, text: str, context: StepContext) -> Transition:
        """Answer the agent's message; ``Transition.end`` is set if the user ends the conversation."""
        ...
