"""A finished episode, as passed to rewards: recorded events, initial and final state, tool calls and messages.

The recorded events are the only evidence. `FinishedEpisode.calls`, `FinishedEpisode.agent_turns` and
`FinishedEpisode.user_turns` are computed in one pass over them, which all criteria share.
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
"""`FinishedEpisode.ended` of an episode that was truncated by the turn limit."""

TOKEN_LIMIT = "token_limit"
"""`FinishedEpisode.ended` of an episode that was truncated because the policy reached its token limit."""

CONTEXT_LIMIT = "context_limit"
"""`FinishedEpisode.ended` of an episode that was truncated because the transcript outgrew the policy's context."""

LIMITS = (TURN_LIMIT, TOKEN_LIMIT, CONTEXT_LIMIT)
"""The reasons that truncate an episode; a truncated episode still gets a reward."""


class CallMade(NamedTuple):
    """One tool call that got a result.

    Attributes:
        event: Index of its event.
        turn: Number of its turn.
        name: The name in the call; there need not be such a tool.
        arguments: The decoded arguments.
        ok: Whether the call succeeded.
        error_code: The error code; ``None`` if the call succeeded.
        effect: The tool's declared effect; ``write`` if it declares none, ``none`` if there is no such tool.
        writes: Whether the call counts as a write: because of its effect, or because it changed the domain's state.
        terminal: Whether the tool is declared to end the episode.
        request: What a scripted user wanted at that time; ``None`` for other users.
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
    request: str | None


class AgentTurn(NamedTuple):
    """A message of the agent that was delivered to the user, or its final answer.

    Attributes:
        event: Index of its event; the user's reply stands in the same one.
        turn: Number of its turn.
        text: The text.
        request: What a scripted user wanted before it was said; ``None`` for other users.
    """

    event: int
    turn: int
    text: str
    request: str | None


class UserTurn(NamedTuple):
    """A message of the user.

    Attributes:
        event: Index of the event.
        turn: Number of the turn; 0 for the opening message.
        text: The text.
        acts: The dialogue acts; ``None`` if the user simulator reports none.
        request: What a scripted user wants from then on; ``None`` for other users.
        opening: Whether the agent had not yet said anything to the user.
    """

    event: int
    turn: int
    text: str
    acts: frozenset[str] | None
    request: str | None
    opening: bool


@dataclass(frozen=True)
class FinishedEpisode:
    """The data from which a reward is computed.

    Attributes:
        task: The task, private parts included.
        events: The recorded events; ``events[n]["i"] == n``.
        initial: The state at the start, revealed rows included.
        final: The state at the end.
        ended: Why the episode ended, such as ``user_stop``; one of `LIMITS` if it was truncated.
        turns: Number of turns.
        tools: Tool name to its ``tools.json`` entry, with the ``x-simia`` part.
        ledger: The ledger, to which a judge adds its model replies; ``None`` if there is none.
        seed: The episode's seed.
        digest: The task's content hash.
        group: Id shared by the episodes of one group.
        uncounted: Pointers of the tables that no goal counts.
        memo: Cache of intermediate results that the criteria of this episode share.
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
    uncounted: tuple[str, ...] = ()
    memo: dict[Any, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def scope(self) -> str:
        """Id of the episode for cassettes: task id, task hash and seed."""
        return f"{self.task.id}:{self.digest}:{self.seed}"

    @cached_property
    def calls(self) -> tuple[CallMade, ...]:
        """All tool calls that got a result, in order."""
        return self._reading[0]

    @cached_property
    def agent_turns(self) -> tuple[AgentTurn, ...]:
        """All messages of the agent to the user, in order, a final answer included.

        Text beside tool calls is not delivered, so it is not included.
        """
        return self._reading[1]

    @cached_property
    def user_turns(self) -> tuple[UserTurn, ...]:
        """All messages of the user, in order, the opening message included."""
        return self._reading[2]

    @cached_property
    def answer(self) -> str | None:
        """The final answer with which the agent ended the episode; ``None`` if it ended otherwise."""
        return next((event["text"] for event in reversed(self.events) if event["type"] == "answer"), None)

    @cached_property
    def stateless(self) -> bool:
        """Whether the final state is unknown: the simulator keeps no state, or gave a tool result without state."""
        return self._reading[3]

    @cached_property
    def _reading(self) -> tuple[tuple[CallMade, ...], tuple[AgentTurn, ...], tuple[UserTurn, ...], bool]:
        calls: list[CallMade] = []
        agent_turns: list[AgentTurn] = []
        heard: list[UserTurn] = []
        request: str | None = None
        stateless = len(self.events) > 0 and self.events[0].get("stateless") is True
        for index, event in enumerate(self.events):
            kind = event["type"]
            if kind == "transition":
                if event.get("ops", ()) is None:
                    stateless = True
                call = event.get("call")
                if call is not None:
                    calls.append(self._call(index, event, call, request))
                elif event.get("speaker") == "user":
                    if event.get("say") is not None:
                        agent_turns.append(AgentTurn(index, event["turn"], event["say"], request))
                    heard.append(_user_turn(index, event, event["observation"], not agent_turns))
                    request = heard[-1].request
            elif kind == "answer":
                agent_turns.append(AgentTurn(index, event["turn"], event["text"], request))
            elif kind == "message" and event.get("speaker") == "user":
                heard.append(_user_turn(index, event, event["text"], True))
                request = heard[-1].request
        return tuple(calls), tuple(agent_turns), tuple(heard), stateless

    def _call(self, index: int, event: Event, call: Mapping[str, Any], request: str | None) -> CallMade:
        tool = self.tools.get(call["name"])
        marks: Mapping[str, Any] = {"effect": "none"} if tool is None else tool.get("x-simia") or {}
        effect: ToolEffect = marks.get("effect", "write")
        ops = event.get("ops") or ()
        writes = effect == "write" or (len(ops) > 0 and any(not op["path"].startswith("/_") for op in ops))
        return CallMade(
            index,
            event["turn"],
            call["name"],
            call.get("arguments") or {},
            event.get("outcome", "ok") == "ok",
            event.get("error_code"),
            effect,
            writes,
            bool(marks.get("terminal", False)),
            request,
        )


def _user_turn(index: int, event: Event, text: str, opening: bool) -> UserTurn:
    meta = event.get("meta") or {}
    acts = meta.get("acts")
    return UserTurn(index, event["turn"], text, None if acts is None else frozenset(acts), meta.get("request"), opening)


class Reward(Protocol):
    """Turns a finished episode into a verdict.

    A reward class named in ``domain.yaml`` also has a class method ``for_domain(items, options, *, folder, where)``,
    which makes a reward from the rubric items and the ``reward_options`` of the domain.

    Attributes:
        io: Whether `score` may await I/O, such as a model request.
    """

    io: bool

    async def score(self, finished: FinishedEpisode) -> Verdict:
        """Compute the verdict of an episode.

        Returns:
            The verdict; invalid if a criterion could not be judged.

        Raises:
            Fault: The scoring itself failed. Such an episode has no reward; the reward is never set to 0.
        """
        ...
