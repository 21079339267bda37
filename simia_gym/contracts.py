"""What a simulator, a user and a policy's face know of an episode when it is their turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from simia_gym.common.quick_init import quick_init
from simia_gym.record.ledger import Ledger
from simia_gym.state import State
from simia_gym.types import Task, ToolCall, Transition


@quick_init
@dataclass(frozen=True, slots=True)
class StepContext:
    """The present moment of an episode.

    Attributes:
        task: The task, private parts included: simulators and users may read them, policies never see a context.
        state: The state now.
        ledger: The record so far.
        seed: The episode's seed; all variety of wording comes from it.
        turn: The number of the present turn, from 1; 0 at the opening.
        digest: The task's content hash.
        group: Id that the episodes of one group share: in them the same call in the same state has the same answer.
    """

    task: Task
    state: State
    ledger: Ledger
    seed: int
    turn: int
    digest: str = ""
    group: str = ""

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
