"""The embedded world as a simulator."""

from __future__ import annotations

from simia_gym.config import Feedback
from simia_gym.scene import Scene
from simia_gym.simulators.opening import world_opening
from simia_gym.types import ToolCall, Transition
from simia_gym.world import World


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

    def begin(self, scene: Scene) -> None:
        """Nothing to get ready: everything is in the state."""

    async def open(self, scene: Scene) -> Transition:
        """Give the world's first observation."""
        return world_opening(self.world, scene)

    async def call(self, call: ToolCall, scene: Scene) -> Transition:
        """Run the tool."""
        return self.world.call(scene.state, call, self.feedback)
