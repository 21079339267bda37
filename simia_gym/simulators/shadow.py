"""Shadow mode: compares every answer of a simulator with the answer of the domain's world in the same state.

The simulator's answer is used, and the differences are counted in the record; or a wrong state is a fault. They show
mistakes that no rule can detect, such as a wrong but possible value or a missing change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from simia_gym.contracts import Simulator, StepContext
from simia_gym.domain.goal import Parts, changed_values
from simia_gym.domain.tools import ToolSpec
from simia_gym.domain.world import World
from simia_gym.errors import Fault
from simia_gym.state import State, pointer_parts, strict_equal
from simia_gym.types import Feedback, JsonObject, ToolCall, Transition


class ShadowedSimulator:
    """Returns a simulator's answers and adds a comparison with the world's as ``meta["shadow"]`` of the transition.

    Args:
        simulator: The simulator that answers.
        world: The world to compare with.
        feedback: The simulator's setting of ``feedback``, which the world must use too.
        uncounted: Pointers of what is not compared.
        faults: Whether a state that differs from the world's, or an outcome that does, ends the episode with a fault;
            all of the state counts, but for private tables.
    """

    io = True

    def __init__(
        self,
        simulator: Simulator,
        world: World,
        feedback: Feedback = "terse",
        uncounted: Sequence[str] = (),
        faults: bool = False,
    ) -> None:
        self.faults = faults
        self.simulator, self.world, self.feedback = simulator, world, feedback
        self._skip = [pointer_parts(path) for path in uncounted]
        self.name = simulator.name
        self.stateless: bool = getattr(simulator, "stateless", False)

    def begin(self, context: StepContext) -> None:
        """Prepare the simulator for an episode."""
        self.simulator.begin(context)

    async def open(self, context: StepContext) -> Transition:
        """Return the simulator's first observation."""
        return await self.simulator.open(context)

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        """Return the simulator's answer with the comparison.

        Raises:
            Fault: ``shadow``: with ``faults``, the answer leaves another state than the world's, or has another
                outcome.
        """
        answer = await self.simulator.call(call, context)
        if call.name not in self.world.tools or answer.meta.get("route") in ("world", "gate"):
            return answer
        truth = await self.world.answer(context.state, call, self.feedback)
        note = compare(context.state, answer, truth, self._skip, self.world.tools[call.name])
        if self.faults and answer.ops is not None:
            # What no goal counts, such as the open page, decides what comes next.
            all_of_it = compare(context.state, answer, truth, (), self.world.tools[call.name]) if self._skip else note
            if wrong := _wrong(all_of_it):
                said = f"the world answers {call.name} otherwise: {wrong}"
                raise Fault("shadow", said, role="simulator")
        return replace(answer, meta={**answer.meta, "shadow": note})


def compare(
    before: State, answer: Transition, truth: Transition, skip: Sequence[Parts] = (), tool: ToolSpec | None = None
) -> JsonObject:
    """Compare a simulator's answer with the world's, given the state before the call.

    Args:
        before: The state before the call.
        answer: The simulator's answer.
        truth: The world's answer.
        skip: Pointers of what is not compared.
        tool: The tool; what its masks match is not compared.

    Returns:
        Whether ``outcome``, ``error_code`` and ``observation`` are the same; if the simulator keeps a state, also the
        numbers of values that are ``wrong``, ``missed`` (only the world changes them) and ``spurious`` (only the
        simulator changes them), without private tables; and ``masked`` if only the masks make something equal.
    """
    exact = _compare(before, answer, truth, skip, lambda value: value)
    if tool is None or not tool.masks:
        return exact
    note = _compare(before, answer, truth, skip, tool.masked)
    return note if note == exact else {**note, "masked": True}


def _wrong(note: JsonObject) -> str:
    """What a comparison shows to be wrong in the state, or in the outcome; empty if nothing."""
    words = {"wrong": "wrong values", "missed": "missed writes", "spurious": "spurious writes"}
    found = [f"{note[name]} {said}" for name, said in words.items() if note[name]]
    return ", ".join(found if note["outcome"] else ["another outcome", *found])


def _compare(
    before: State, answer: Transition, truth: Transition, skip: Sequence[Parts], masked: Callable[[Any], Any]
) -> JsonObject:
    note: JsonObject = {
        "outcome": answer.outcome == truth.outcome,
        "error_code": answer.error_code == truth.error_code,
        "observation": masked(answer.observation) == masked(truth.observation),
    }
    if answer.ops is None:
        return note
    said, true = _changes(before, answer, skip, masked), _changes(before, truth, skip, masked)
    both = said.keys() & true.keys()
    note["wrong"] = sum(not strict_equal(said[parts], true[parts]) for parts in both)
    note["missed"], note["spurious"] = len(true.keys() - both), len(said.keys() - both)
    return note


def _changes(
    before: State, transition: Transition, skip: Sequence[Parts], masked: Callable[[Any], Any]
) -> dict[Parts, Any]:
    after: State | None = transition.state
    if after is None:
        after = before.apply((*transition.reveals, *(transition.ops or ())))
    return {tuple(masked(parts)): masked(new) for parts, _, new in changed_values(before, after, skip=skip)}
