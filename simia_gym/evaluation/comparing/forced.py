"""Forces the actions and the user's messages of recorded episodes on another backend.

Open loop: every call is answered in the state of the reference, and the episode goes on with the reference's answer, so
that every transition can be compared. Drift: the episode goes on with its own answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from simia_gym.contracts import Simulator, StepContext
from simia_gym.episode import Episode
from simia_gym.errors import Cut, Fault, InputError
from simia_gym.evaluation.comparing.episodes import FORCED
from simia_gym.evaluation.comparing.files import Key, Records
from simia_gym.policies import PolicyStart
from simia_gym.record.finished_episode import TOKEN_LIMIT
from simia_gym.record.records import Record
from simia_gym.record.transcript import is_native
from simia_gym.rollout.replay import RecordedPolicy
from simia_gym.types import JsonObject, Message, PolicyAction, ToolCall, Transition

Mode: TypeAlias = Literal["open-loop", "drift"]


class Forcing:
    """Makes episodes repeat the actions of a reference.

    Args:
        path: The record of the reference, of one policy.
        mode: ``open-loop`` or ``drift``.

    Attributes:
        policy: Name of the policy of the reference.
        policy_hash: Its content hash.
        native_tools: Whether its model was given the tools beside the messages.

    Raises:
        InputError: The record has several policies, or its simulator keeps no state.
    """

    def __init__(self, path: Path, mode: Mode) -> None:
        self.mode, self._records = mode, Records([path])
        if len(self._records.policies) != 1:
            what = "actions are forced from the record of one policy"
            raise InputError(what, where=str(path), fix="Give a folder with a record for each policy.")
        ((self.policy, self.policy_hash),) = self._records.policies.items()
        self.keys: dict[int, Key] = {}
        self.native_tools = False
        for number, key in enumerate(self._records):
            record = self._read(key)
            if number == 0:
                self.native_tools = is_native(record)
            if mode == "open-loop" and record.start.get("stateless"):
                what = "the simulator of the reference keeps no state to begin a step from"
                raise InputError(what, where=str(path), fix="Use --drift, or another reference.")
            self.keys[record.seed] = key

    def __call__(self) -> ForcedPolicy:
        """Make the policy of an episode."""
        return ForcedPolicy(self)

    def record(self, seed: int) -> Record:
        """The episode of the reference that has this seed.

        Raises:
            Fault: There is none.
        """
        if seed not in self.keys:
            raise Fault("no_reference", "the reference does not have this episode", role="episode")
        return self._read(self.keys[seed])

    def _read(self, key: Key) -> Record:
        try:
            return self._records.read(key)
        finally:
            self._records.close()

    def prepare(self, episode: Episode) -> None:
        """Let an episode that was not begun yet take the user's messages of the reference, and its answers if open."""
        episode.simulator = _ForcedSimulator(episode.simulator, self)
        if episode.user is not None:
            episode.user = _ForcedUser(self, episode.user.name)


class ForcedPolicy:
    """Repeats the actions of the reference."""

    def __init__(self, forcing: Forcing) -> None:
        self._forcing, self._inner = forcing, RecordedPolicy([], None)
        self.native_tools = forcing.native_tools

    def start(self, start: PolicyStart) -> None:
        """Find the episode of the reference by its seed."""
        record = self._forcing.record(start.seed)
        self._inner = RecordedPolicy(record.events, record.fault)

    def act(self, messages: Sequence[Message]) -> PolicyAction:
        """Repeat the next action; an episode that outlives the reference is cut and judged."""
        try:
            return self._inner.act(messages)
        except Fault as fault:
            if fault.kind == "no_action":
                raise Cut(TOKEN_LIMIT) from None
            raise


def _answer(event: Mapping[str, Any], meta: Mapping[str, Any]) -> Transition:
    """A recorded answer."""
    return Transition(
        observation=event["observation"],
        ops=None if event["ops"] is None else tuple(event["ops"]),
        outcome=event["outcome"],
        error_code=event["error_code"],
        speaker=event["speaker"],
        reveals=tuple(event.get("reveals", ())),
        end=event["end"],
        meta=meta,
    )


def _answers(record: Record, *, calls: bool) -> Iterator[JsonObject]:
    """The recorded answers to calls, or to messages to the user."""
    return (each for each in record.events if each["type"] == "transition" and (each["call"] is not None) is calls)


def _opening(record: Record) -> Transition:
    """The recorded first message."""
    event = next(each for each in record.events if each["type"] == "message")
    return Transition(event["text"], tuple(event["ops"]), speaker=event["speaker"], meta=event["meta"])


class _ForcedUser:
    """Repeats what the user of the reference said."""

    io = False

    def __init__(self, forcing: Forcing, name: str) -> None:
        self.name, self._forcing = name, forcing
        self._record: Record | None = None
        self._replies: Iterator[JsonObject] = iter(())

    def begin(self, context: StepContext) -> None:
        self._record = self._forcing.record(context.seed)
        self._replies = _answers(self._record, calls=False)

    async def open(self, context: StepContext) -> Transition:
        assert self._record is not None
        return _opening(self._record)

    async def reply(self, text: str, context: StepContext) -> Transition:
        event = next(self._replies, None)
        if event is None:
            raise Fault("no_reference", "the user of the reference said nothing here", role="user")
        return _answer(event, event["meta"])


class _ForcedSimulator:
    """Asks a simulator, and goes on with the answers of the reference if they are forced."""

    def __init__(self, simulator: Simulator, forcing: Forcing) -> None:
        self.name, self.io = simulator.name, simulator.io
        self.stateless: bool = getattr(simulator, "stateless", False) and forcing.mode == "drift"
        self._simulator, self._forcing = simulator, forcing
        self._record: Record | None = None
        self._events: Iterator[JsonObject] = iter(())

    def begin(self, context: StepContext) -> None:
        self._record = self._forcing.record(context.seed)
        self._events = _answers(self._record, calls=True)
        self._simulator.begin(context)

    async def open(self, context: StepContext) -> Transition:
        answer = await self._simulator.open(context)
        if self._forcing.mode == "drift" or self._record is None:
            return answer
        return _opening(self._record)

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        answer = await self._simulator.call(call, context)
        event = next(self._events, None)
        if self._forcing.mode == "drift" or event is None:
            return answer
        said: JsonObject = {
            "observation": answer.observation,
            "outcome": answer.outcome,
            "error_code": answer.error_code,
            "ops": answer.ops,
            "reveals": answer.reveals,
        }
        return _answer(event, {**answer.meta, FORCED: said})
