"""Environments as TRL's trainers take them.

`episodes_rollout` gives a ``rollout_func`` (multi-turn, token in and token out), `tool_environments` an
``environment_factory`` (everything is a tool). Each has ``dataset()``, the rows to train on.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simia_gym.rl.for_trl.environments import ToolEnvironment, ToolEnvironments, tool_environments
    from simia_gym.rl.for_trl.rewards import episode_metrics, episode_reward
    from simia_gym.rl.for_trl.rollouts import EpisodesRollout, episodes_rollout
    from simia_gym.rl.for_trl.tokenizers import tool_calling
    from simia_gym.rl.for_trl.trainer import EpisodeGRPOTrainer

_WHERE = {
    "EpisodeGRPOTrainer": "trainer",
    "EpisodesRollout": "rollouts",
    "ToolEnvironment": "environments",
    "ToolEnvironments": "environments",
    "episode_metrics": "rewards",
    "episode_reward": "rewards",
    "episodes_rollout": "rollouts",
    "tool_calling": "tokenizers",
    "tool_environments": "environments",
}

__all__ = [
    "EpisodeGRPOTrainer",
    "EpisodesRollout",
    "ToolEnvironment",
    "ToolEnvironments",
    "episode_metrics",
    "episode_reward",
    "episodes_rollout",
    "tool_calling",
    "tool_environments",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module when it is first asked for."""
    if name in _WHERE:
        return getattr(import_module(f"simia_gym.rl.for_trl.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
