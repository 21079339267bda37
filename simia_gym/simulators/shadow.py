"""Shadow mode: compares every answer of a simulator with the answer of the domain's world in the same state.

The simulator's answer is used in any case; the differences are counted in the record. They show mistakes that no rule
can detect, such as a wrong but possible value or a missing change.
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
    """Returns a simulator's answers and adds a comparison with the world's.

    The comparison is ``meta["shadow"]`` of the transition: whether ``outcome``, ``error_code`` and ``observation`` are
    the same, and, if the simulator keeps a state, the numbers of values that are ``wrong``, ``missed`` (only the world
    changes them) and ``spurious`` (only the simulator changes them).

    Args:
        simulator: The simulator that answers.
        world: The world to compare with.
        feedback: The simulator's setting of ``feedback``, which the world must use too.
    """

    io = True

    def __init__(self, simulator: Simulator, world: World, feedback: Feedback = "terse") -> None:
        self.simulator, self.world, self.feedback = simulator, world, feedback
        self.name = simulator.name
        self.stateless: bool = getattr(simulator, "stateless", False)

    def begin(self, context: StepContext) -> None:
        """Prepare the simulator for an episode."""
        self.simulator.begin(context)

    async def open(self, context: StepContext) -> Transition:
        """Return the simulator's first observation."""
        return await self.simulator.open(context)

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        """Return the simulator's answer with the comparison."""
        answer = await self.simulator.call(call, context)
        if call.name not in self.world.tools or answer.meta.get("route") in ("world", "gate"):
            return answer
        note = compare(context.state, answer, self.world.call(context.state, call, self.feedback))
        return replace(answer, meta={**answer.meta, "shadow": note})


def compare(before: State, answer: Transition, truth: Transition) -> JsonObject:
    """Compare an answer with the true one.

    Args:
        before: The state before the call.
        answer: The simulator's transition.
        truth: The world's transition.

    Returns:
        Three flags, and, if the simulator keeps a state, three counts of values.
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
    """The values that changed, by pointer, without those in private tables."""
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
