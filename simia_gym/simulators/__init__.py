"""What answers a tool call."""

from simia_gym.simulators.world import WorldSimulator

__all__ = ["WorldSimulator"]
