"""AReaL: the agent to name as ``workflow`` of its trainer, ``simia_gym.rl.recipes.areal_agent.SimiaAgent``.

Each row of the dataset is a row of `simia_gym.rl.gateway_rows`. A fault is raised: AReaL rejects the episode.
"""

from __future__ import annotations

import os
from typing import Any

from simia_gym.rl.recipes.gateways import play_row
from simia_gym.types import JsonObject


class SimiaAgent:
    """Plays the episode of a row; its arguments are those of AReaL's ``workflow_kwargs``, of which it needs none."""

    def __init__(self, **kwargs: Any) -> None:
        """Make an agent."""

    async def run(self, data: JsonObject, **extra: Any) -> float:
        """Play the row against AReaL's address, and give the reward of the episode's last turn.

        Raises:
            Fault: The episode has no reward.
        """
        base_url = extra.get("base_url") or os.environ["OPENAI_BASE_URL"]  # the second where it runs in a process
        api_key = extra.get("api_key") or os.environ["OPENAI_API_KEY"]
        played = await play_row(data, base_url=str(base_url), api_key=str(api_key))
        return float(played.verdict.reward or 0.0)  # of its numbers AReaL takes a float alone
