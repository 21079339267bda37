"""What answers a tool call: the domain's code, a model, a mixture of both, or a record."""

from simia_gym.simulators.world import WorldSimulator

__all__ = ["WorldSimulator"]
