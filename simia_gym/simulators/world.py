"""The world simulator, which runs the domain's own code."""

from __future__ import annotations

from simia_gym.contracts import StepContext
from simia_gym.domain.world import World
from simia_gym.simulators.opening import world_opening
from simia_gym.types import Feedback, ToolCall, Transition


class WorldSimulator:
    """Answers calls by running the domain's own code.

    Args:
        world: The domain's world.
        feedback: ``terse``, or ``explain`` for errors with the reason and a fix.
    """

    name = "world"
    io = False

    def __init__(self, world: World, feedback: Feedback = "terse") -> None:
        self.world, self.feedback = world, feedback

    def begin(self, context: StepContext) -> None:
        """Do nothing: all data of the episode is in the state."""

    async def open(self, context: StepContext) -> Transition:
        """Return the world's first observation."""
        return world_opening(self.world, context)

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        """Run the tool."""
        return self.world.call(context.state, call, self.feedback)
