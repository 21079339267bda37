"""Repeats a recorded episode with a simulator whose answers may differ from the recorded ones in what is masked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from simia_gym.common.json_encoding import encode
from simia_gym.contracts import Simulator, StepContext
from simia_gym.domain.domain import Domain
from simia_gym.domain.tools import masked
from simia_gym.types import ToolCall, Transition


class RepeatingSimulator:
    """Returns a simulator's answers; one that equals the recorded answer up to the tool's masks becomes that answer.

    So the state, the prompts of models and the verdict go on from what was recorded, and can be compared exactly.

    Args:
        simulator: The simulator.
        domain: The domain.
        events: The recorded events of the episode.

    Attributes:
        masked: Number of answers that were replaced.
    """

    def __init__(self, simulator: Simulator, domain: Domain, events: Iterable[Mapping[str, Any]]) -> None:
        self.name, self.io = simulator.name, simulator.io
        self.stateless: bool = getattr(simulator, "stateless", False)
        self.masked = 0
        self._simulator, self._domain = simulator, domain
        happened = list(events)
        opened = next((event for event in happened if event["type"] == "message"), None)
        self._opened = None if opened is None else {"observation": opened["text"], "ops": opened["ops"]}
        self._events = (event for event in happened if event["type"] == "transition" and event.get("call") is not None)

    def begin(self, context: StepContext) -> None:
        """Prepare the simulator for the episode."""
        self._simulator.begin(context)

    async def open(self, context: StepContext) -> Transition:
        """Return the simulator's first observation."""
        answer = await self._simulator.open(context)
        world = self._domain.world
        return answer if world is None else self._repeated(answer, self._opened, world.opening_masks, context)

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        """Answer the next call."""
        answer = await self._simulator.call(call, context)
        spec = self._domain.specs.get(call.name)
        event = next(self._events, None)
        return answer if spec is None else self._repeated(answer, event, spec.masks, context)

    def _repeated(
        self, answer: Transition, event: Mapping[str, Any] | None, masks: Sequence[str], context: StepContext
    ) -> Transition:
        """The recorded answer, if the answer differs from it in what the masks match alone; else the answer."""
        if event is None or not masks:
            return answer
        got, recorded = [answer.observation, answer.ops], [event.get("observation"), event.get("ops")]
        if encode(got) == encode(recorded) or encode(masked(got, masks)) != encode(masked(recorded, masks)):
            return answer
        self.masked += 1
        ops = None if answer.ops is None else tuple(event["ops"])
        state = None if answer.reveals else context.state.apply(ops or ())
        return replace(answer, observation=event["observation"], ops=ops, state=state)
