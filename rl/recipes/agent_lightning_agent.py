"""Agent Lightning: the agent to name as ``agent_class``, ``simia_gym.rl.recipes.agent_lightning_agent.SimiaAgent``.

The input of a rollout is a row of `simia_gym.rl.gateway_rows`, which ``env_map`` hands over: ``SIMIA_ROW:
input``. Agent Lightning has no rollout without a reward: it fills in 0.0, also where the agent failed. So after a fault
the rollout is left without a turn, and one without turns is not trained on.
"""

from __future__ import annotations

import json
import os

from agentlightning.client import AgentLightningAsyncClient

from simia_gym.errors import Fault
from simia_gym.rl.recipes.gateways import play_row

_NO_TURNS = "fault"
"""An attempt that has no events: Agent Lightning reads those of the last attempt."""


class SimiaAgent:
    """Plays the episode of a rollout in the process that Agent Lightning starts for it."""

    async def run(self) -> None:
        """Play the row, and post the reward.

        Raises:
            Fault: The episode has no reward; the rollout has failed and has no turns.
        """
        events, key = os.environ["AGL_EVENT_URL"], os.environ.get("AGL_KEY", "")
        async with AgentLightningAsyncClient(key=key or None) as client:
            try:
                row, address = json.loads(os.environ["SIMIA_ROW"]), os.environ["AGL_OPENAI_BASE_URL"]
                played = await play_row(row, base_url=address, api_key=key or "none")
            except Fault:
                status = {"status": {"last_attempt_id": _NO_TURNS}}
                (await client.patch(events.partition("/attempt/")[0], json=status)).raise_for_status()
                raise
            reward = {"value": played.reward, "source": "agent", "message": played.ended}
            (await client.post(events, json={"event_type": "reward", "data": reward})).raise_for_status()
