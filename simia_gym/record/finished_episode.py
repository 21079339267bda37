"""A finished episode as a reward sees it: the record, the state before and after, and the calls and words in it.

The record is the only evidence. `FinishedEpisode.calls`, `FinishedEpisode.agent_turns` and `FinishedEpisode.user_turns`
read it once per episode, so that a dozen checks cost one pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from simia_gym.record.ledger import Ledger
from simia_gym.state import State
from simia_gym.types import Task, Verdict

Event: TypeAlias = Mapping[str, Any]
ToolEffect = Literal["read", "write", "none"]

TURN_LIMIT = "turn_limit"
"""What `FinishedEpisode.ended` says of an episode that the turn limit cut off."""

TOKEN_LIMIT = "token_limit"
"""What `FinishedEpisode.ended` says of an episode whose policy ran out of tokens."""

LIMITS = (TURN_LIMIT, TOKEN_LIMIT)
"""The reasons that truncate an episode; it is judged as it stands."""


class CallMade(NamedTuple):
    """One tool call that was answered.

    Attributes:
        event: Index of its event.
        turn: The turn it belongs to.
        name: The tool's name, which need not exist.
        arguments: The decoded arguments.
        ok: Whether it succeeded.
        error_code: The code of the error, else ``None``.
        effect: The tool's declared effect; ``write`` where the tool exists and declares none.
        writes: Whether it counts as a write: by its effect, or because it changed a table of the domain.
        terminal: Whether the tool is declared to end the episode.
    """

    event: int
    turn: int
    name: str
    arguments: Mapping[str, Any]
    ok: bool
    error_code: str | None
    effect: ToolEffect
    writes: bool
    terminal: bool


class AgentTurn(NamedTuple):
    """Words of the agent that were delivered to the user.

    Attributes:
        event: Index of the event.
        turn: The turn.
        text: The delivered words.
    """

    event: int
    turn: int
    text: str


class UserTurn(NamedTuple):
    """Words of the user.

    Attributes:
        event: Index of the event.
        turn: The turn; 0 for the opening.
        text: What the user said.
        acts: The dialogue acts, where the user names its own; ``None`` for users that do not.
        opening: Whether this came before any word of the agent.
    """

    event: int
    turn: int
    text: str
    acts: frozenset[str] | None
    opening: bool


@dataclass(frozen=True)
class FinishedEpisode:
    """What a reward may look at.

    Attributes:
        task: The task, private parts included.
        events: The record; ``events[n]["i"] == n``.
        initial: The state at the start, revealed rows included.
        final: The state at the end.
        ended: Why the episode ended, such as ``user_stop``; `TURN_LIMIT` where it was cut off.
        turns: How many turns were used.
        tools: Tool name to its ``tools.json`` entry, with the ``x-simia`` part.
        ledger: The record itself, for a judge that puts its own words into it.
        seed: The episode's seed.
        digest: The task's content hash.
        group: Id that the episodes of one group share.
        memo: A place where checks keep what they worked out, for other checks of the same episode.
    """

    task: Task
    events: Sequence[Event]
    initial: State
    final: State
    ended: str
    turns: int
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    ledger: Ledger | None = field(default=None, compare=False, repr=False)
    seed: int = 0
    digest: str = ""
    group: str = ""
    memo: dict[Any, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def scope(self) -> str:
        """Which episode this is, for cassettes: task, its content, the seed."""
        return f"{self.task.id}:{self.digest}:{self.seed}"

    @cached_property
    def calls(self) -> tuple[CallMade, ...]:
        """Every answered tool call, in order."""
        return self._reading[0]

    @cached_property
    def agent_turns(self) -> tuple[AgentTurn, ...]:
        """Everything the agent said to the user, in order; text beside calls is not delivered and not here."""
        return self._reading[1]

    @cached_property
    def user_turns(self) -> tuple[UserTurn, ...]:
        """Everything the user said, in order, the opening included."""
        return self._reading[2]

    @cached_property
    def stateless(self) -> bool:
        """Whether the final state is unknown: the simulator keeps no state, or answered some call without one."""
        return self._reading[3]

    @cached_property
    def _reading(self) -> tuple[tuple[CallMade, ...], tuple[AgentTurn, ...], tuple[UserTurn, ...], bool]:
        calls: list[CallMade] = []
        agent_turns: list[AgentTurn] = []
        heard: list[UserTurn] = []
        stateless = len(self.events) > 0 and self.events[0].get("stateless") is True
        for index, event in enumerate(self.events):
            kind = event["type"]
            if kind == "transition":
                if event.get("ops", ()) is None:
                    stateless = True
                call = event.get("call")
                if call is not None:
                    calls.append(self._call(index, event, call))
                elif event.get("speaker") == "user":
                    if event.get("say") is not None:
                        agent_turns.append(AgentTurn(index, event["turn"], event["say"]))
                    heard.append(_user_turn(index, event, event["observation"], not agent_turns))
            elif kind == "message" and event.get("speaker") == "user":
                heard.append(_user_turn(index, event, event["text"], True))
        return tuple(calls), tuple(agent_turns), tuple(heard), stateless

    def _call(self, index: int, event: Event, call: Mapping[str, Any]) -> CallMade:
        name = call["name"]
        tool = self.tools.get(name)
        effect: ToolEffect = "none"
        terminal = False
        if tool is not None:
            marks = tool.get("x-simia") or {}
            effect = marks.get("effect", "write")
            terminal = bool(marks.get("terminal", False))
        ops = event.get("ops") or ()
        # Most calls read and change nothing.
        writes = effect == "write" or (len(ops) > 0 and any(not op["path"].startswith("/_") for op in ops))
        return CallMade(
            index,
            event["turn"],
            name,
            call.get("arguments") or {},
            event.get("outcome", "ok") == "ok",
            event.get("error_code"),
            effect,
            writes,
            terminal,
        )


def _user_turn(index: int, event: Event, text: str, opening: bool) -> UserTurn:
    acts = (event.get("meta") or {}).get("acts")
    return UserTurn(index, event["turn"], text, None if acts is None else frozenset(acts), opening)


class Reward(Protocol):
    """Turns a finished episode into a verdict.

    A class that ``domain.yaml`` names also has a class method ``for_domain(items, options, *, folder, where)`` that
    makes one from the rubric items and the ``reward_options`` of the domain.

    Attributes:
        io: Whether scoring may wait for something outside this process.
    """

    io: bool

    async def score(self, finished: FinishedEpisode) -> Verdict:
        """Judge an episode.

        Args:
            finished: The finished episode.

        Returns:
            The verdict; an invalid one where something could not be judged.

        Raises:
            Fault: The judging itself failed. An episode whose judging failed has no reward; it is never 0.
        """
        ...
