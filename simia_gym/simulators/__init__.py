"""Simulators, which answer tool calls: by the domain's code, a model, both, or a record."""

from simia_gym.simulators.world import WorldSimulator

__all__ = ["WorldSimulator"]
