"""The embedded world as a simulator."""

from __future__ import annotations

from simia_gym.errors import Fault
from simia_gym.scene import Scene
from simia_gym.types import ToolCall, Transition
from simia_gym.world import World


class WorldSimulator:
    """Answers calls by running the domain's own code."""

    name = "world"
    io = False

    def __init__(self, world: World) -> None:
        self.world = world

    async def open(self, scene: Scene) -> Transition:
        """Give the world's first observation."""
        draft = scene.state.draft()
        try:
            text = self.world.opening(draft, scene.task)
        except Exception as error:
            raise Fault("bug", f"opening raised {type(error).__name__}: {error}", role="world") from error
        after, ops = draft.commit()
        return Transition(text, ops, speaker="env", info=self.world.info(after), state=after)

    async def call(self, call: ToolCall, scene: Scene) -> Transition:
        """Run the tool."""
        return self.world.call(scene.state, call)
