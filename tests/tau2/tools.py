"""Calls of a world's tools on a small state."""

from __future__ import annotations

from typing import Any

from simia_gym.domain.world import World
from simia_gym.state import State
from simia_gym.types import ToolCall, Transition


class Tools:
    """Calls tools, on its own state where none is given."""

    def __init__(self, world: World, state: State) -> None:
        self.world, self.state = world, state

    def call(self, name: str, state: State | None = None, /, **arguments: Any) -> Transition:
        return self.world.call(state or self.state, ToolCall(name, arguments))

    def fails(self, name: str, message: str, state: State | None = None, /, **arguments: Any) -> None:
        """The call says so, and changes nothing."""
        transition = self.call(name, state, **arguments)
        assert transition.observation == f"Error: {message}"
        assert (transition.outcome, transition.ops, transition.state) == ("error", (), None)
        assert transition.error_code


def after(transition: Transition) -> State:
    """The state after a call that went well."""
    assert isinstance(transition.state, State), transition.observation
    return transition.state
