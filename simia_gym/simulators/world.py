"""The embedded world as a simulator."""

from __future__ import annotations

from simia_gym.contracts import StepContext
from simia_gym.domain.world import World
from simia_gym.simulators.opening import world_opening
from simia_gym.types import Feedback, ToolCall, Transition


class WorldSimulator:
    """Answers calls by running the domain's own code.

    Args:
        world: The domain's world.
        feedback: Whether errors also say why and what would do (``explain``).
    """

    name = "world"
    io = False

    def __init__(self, world: World, feedback: Feedback = "terse") -> None:
        self.world, self.feedback = world, feedback

    def begin(self, context: StepContext) -> None:
        """Nothing to get ready: everything is in the state."""

    async def open(self, context: StepContext) -> Transition:
        """Give the world's first observation."""
        return world_opening(self.world, context)

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        """Run the tool."""
        return self.world.call(context.state, call, self.feedback)
