"""A simulator under watch: every answer is held against what the domain's world would have said from the same state.

The answer stands, whatever the world says; what differs is counted in the record. So the mistakes that no rule can
detect (a wrong value that is a possible one, a change that was left out) can be seen wherever there is a world.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from simia_gym.contracts import Simulator, StepContext
from simia_gym.domain.world import World
from simia_gym.state import State, make_pointer
from simia_gym.state.equality import identical
from simia_gym.types import Feedback, JsonObject, ToolCall, Transition

_NOTHING = object()


class ShadowedSimulator:
    """Passes on what a simulator answers, with a note on how the world would have answered.

    The note is ``meta["shadow"]`` of the transition: whether ``outcome``, ``error_code`` and ``observation`` are the
    same, and, where the simulator keeps a state, how many values of it are ``wrong``, ``missed`` (the world changes
    them, the simulator does not) and ``spurious`` (the other way round).

    Args:
        simulator: Who answers.
        world: What it is compared with.
        feedback: What the simulator's errors say; the world's have to say the same.
    """

    io = True

    def __init__(self, simulator: Simulator, world: World, feedback: Feedback = "terse") -> None:
        self.simulator, self.world, self.feedback = simulator, world, feedback
        self.name = simulator.name
        self.stateless: bool = getattr(simulator, "stateless", False)

    def begin(self, context: StepContext) -> None:
        """Let the simulator get ready."""
        self.simulator.begin(context)

    async def open(self, context: StepContext) -> Transition:
        """Give the simulator's first observation."""
        return await self.simulator.open(context)

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        """Give the simulator's answer, with the note."""
        answer = await self.simulator.call(call, context)
        if call.name not in self.world.tools or answer.meta.get("route") in ("world", "gate"):
            return answer
        note = compare(context.state, answer, self.world.call(context.state, call, self.feedback))
        return replace(answer, meta={**answer.meta, "shadow": note})


def compare(before: State, answer: Transition, truth: Transition) -> JsonObject:
    """Hold an answer against the truth.

    Args:
        before: The state that both start from.
        answer: The simulator's transition.
        truth: The world's.

    Returns:
        Three flags, and three counts of values where the simulator keeps a state.
    """
    note: JsonObject = {
        "outcome": answer.outcome == truth.outcome,
        "error_code": answer.error_code == truth.error_code,
        "observation": answer.observation == truth.observation,
    }
    if answer.ops is None:
        return note
    said, true = _changes(before, _after(before, answer)), _changes(before, _after(before, truth))
    both = said.keys() & true.keys()
    note["wrong"] = sum(not _same(said[path], true[path]) for path in both)
    note["missed"], note["spurious"] = len(true.keys() - both), len(said.keys() - both)
    return note


def _after(before: State, transition: Transition) -> State:
    after: State | None = transition.state
    return after if after is not None else before.apply((*transition.reveals, *(transition.ops or ())))


def _changes(before: State, after: State) -> dict[str, Any]:
    """The values that changed, by pointer; private tables left out."""
    return {
        path: value
        for table, key in after.touched_since(before)
        if not table.startswith("_")
        for path, value in _leaves((table, key), _row(before, table, key), _row(after, table, key))
    }


def _row(state: State, table: str, key: str) -> Any:
    row = state.get(table, key)
    return _NOTHING if row is None else row


def _leaves(place: tuple[str, ...], old: Any, new: Any) -> Iterator[tuple[str, Any]]:
    if old is new or _same(old, new):
        return
    keys: list[str] | None = None
    if isinstance(new, Mapping) and new and (isinstance(old, Mapping) or old is _NOTHING):
        keys = list(dict.fromkeys((*(old if isinstance(old, Mapping) else ()), *new)))
    elif isinstance(new, list) and new and (isinstance(old, list) or old is _NOTHING):
        keys = [str(i) for i in range(max(len(new), len(old) if isinstance(old, list) else 0))]
    if keys is None:
        yield make_pointer(*place), new
        return
    for key in keys:
        yield from _leaves((*place, key), _member(old, key), _member(new, key))


def _member(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(key, _NOTHING)
    if isinstance(value, list) and int(key) < len(value):
        return value[int(key)]
    return _NOTHING


def _same(a: Any, b: Any) -> bool:
    if a is _NOTHING or b is _NOTHING:
        return a is b
    return identical(a, b)
