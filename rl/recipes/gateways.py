"""What the recipes for gateways share: rows of a dataset, and an episode of a row with the policy behind an address."""

from __future__ import annotations

from functools import cache
from typing import Any

from simia_gym import EnvConfig, PlayedEpisode, PolicyOptions, load_suite, play_episode
from simia_gym.assembly.suite import Suite
from simia_gym.common.json_encoding import decode, encode
from simia_gym.record.verdict import to_json
from simia_gym.types import JsonObject


def gateway_rows(env: str, *, seeds: int = 1, **settings: Any) -> list[JsonObject]:
    """A dataset: each task with each seed. Rows are JSON; the episodes of one row are a group.

    Args:
        env: The environment's id.
        seeds: Number of seeds of each task.
        **settings: Further settings, as for `gymnasium.make`.
    """
    tasks = _suite(encode([env, settings])).tasks
    return [
        {"env": env, "settings": settings, "task": task.id, "seed": seed} for seed in range(seeds) for task in tasks
    ]


def suite_of(row: JsonObject) -> Suite:
    """The environment of a row, loaded once a process."""
    return _suite(encode([row["env"], row.get("settings", {})]))


async def play_row(row: JsonObject, *, base_url: str, api_key: str, model: str = "default") -> PlayedEpisode:
    """Play the episode of a row with the model behind an address; the address keeps the tokens.

    One turn is one request: what is asked again would be a turn that was never played. Requests have no seed, since
    the episodes of a group share theirs and would all be the same.

    Raises:
        Fault: The episode has no reward.
    """
    policy = PolicyOptions(model=model, base_url=base_url, api_key=api_key, retries=0, seed=False)
    return await play_episode(suite_of(row), row["task"], policy, seed=row["seed"])


def outcome(played: PlayedEpisode) -> JsonObject:
    """What a framework keeps of an episode that has ended, as JSON."""
    return {
        "reward": played.reward,
        "ended": played.ended,
        "success": played.verdict.success,
        "turns": played.turns,
        "seed": played.seed,
        "state": played.state,
        "verdict": to_json(played.verdict),
    }


@cache
def _suite(named: bytes) -> Suite:
    env, settings = decode(named)
    return load_suite(EnvConfig(env, **settings))
