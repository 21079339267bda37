"""Trainers: GRPO with verl and Ray, supervised training, adapters for TRL and for trainers of your own.

The names below are public; the modules of this package are private. Each name needs the libraries of its extra.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simia_gym.common.lazy import lazy_names

if TYPE_CHECKING:
    from simia_gym.policies import policy_hash
    from simia_gym.rl.chat.play import play
    from simia_gym.rl.cluster.pins import RayPins
    from simia_gym.rl.cluster.pool import RayPool
    from simia_gym.rl.for_trl.environments import ToolEnvironment, ToolEnvironments, tool_environments
    from simia_gym.rl.for_trl.rewards import episode_metrics, episode_reward
    from simia_gym.rl.for_trl.rollouts import EpisodesRollout, episodes_rollout
    from simia_gym.rl.for_trl.tokenizers import tool_calling
    from simia_gym.rl.for_trl.trainer import EpisodeGRPOTrainer
    from simia_gym.rl.recipes.gateways import gateway_rows
    from simia_gym.rl.recipes.skyrl_rows import skyrl_rows
    from simia_gym.rl.sft.run import train_sft
    from simia_gym.rl.small.build import build_policy
    from simia_gym.rollout.jobs import Plan
    from simia_gym.rollout.pools import Elsewhere
    from simia_gym.rollout.store import create_store

__getattr__ = lazy_names(
    __name__,
    {
        "simia_gym.policies": "policy_hash",
        "simia_gym.rl.chat.play": "play",
        "simia_gym.rl.cluster.pins": "RayPins",
        "simia_gym.rl.cluster.pool": "RayPool",
        "simia_gym.rl.for_trl.environments": "ToolEnvironment ToolEnvironments tool_environments",
        "simia_gym.rl.for_trl.rewards": "episode_metrics episode_reward",
        "simia_gym.rl.for_trl.rollouts": "EpisodesRollout episodes_rollout",
        "simia_gym.rl.for_trl.tokenizers": "tool_calling",
        "simia_gym.rl.for_trl.trainer": "EpisodeGRPOTrainer",
        "simia_gym.rl.recipes.gateways": "gateway_rows",
        "simia_gym.rl.recipes.skyrl_rows": "skyrl_rows",
        "simia_gym.rl.sft.run": "train_sft",
        "simia_gym.rl.small.build": "build_policy",
        "simia_gym.rollout.jobs": "Plan",
        "simia_gym.rollout.pools": "Elsewhere",
        "simia_gym.rollout.store": "create_store",
    },
)

__all__ = [
    "Elsewhere",
    "EpisodeGRPOTrainer",
    "EpisodesRollout",
    "Plan",
    "RayPins",
    "RayPool",
    "ToolEnvironment",
    "ToolEnvironments",
    "build_policy",
    "create_store",
    "episode_metrics",
    "episode_reward",
    "episodes_rollout",
    "gateway_rows",
    "play",
    "policy_hash",
    "skyrl_rows",
    "tool_calling",
    "tool_environments",
    "train_sft",
]
