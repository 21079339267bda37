"""The dataset of SkyRL's environment ``simia``; it can be written where SkyRL is not installed."""

from __future__ import annotations

import json
from typing import Any

from simia_gym.common.event_loop import run_sync
from simia_gym.episode import Episode
from simia_gym.rl.recipes.gateways import gateway_rows, suite_of
from simia_gym.types import JsonObject, Start

NAME = "simia"


def skyrl_rows(env: str, **settings: Any) -> list[JsonObject]:
    """A dataset for SkyRL: each task with each seed; the episodes of a row are a group.

    The prompt is what the row's episode begins with, so that SkyRL's limit on prompts counts the right one. All else is
    one text, because Parquet has no empty objects.

    Args:
        env: The environment's id.
        **settings: ``seeds``, and settings, as for `simia_gym.rl.gateway_rows`.
    """
    found = []
    for row in gateway_rows(env, **settings):
        episode = suite_of(row).episode()
        found.append({"prompt": [*begin(episode, row).messages], "env_class": NAME, NAME: json.dumps(row)})
        run_sync(episode.close(), inline=episode.inline)
    return found


def begin(episode: Episode, row: JsonObject) -> Start:
    """Begin the episode of a row."""
    return run_sync(episode.reset(suite_of(row).task(row["task"]), seed=row["seed"]), inline=episode.inline)
