"""ART: a rollout for ``art.trajectory_group``, with a row of `simia_gym.rl.gateway_rows`.

ART sees requests of the model's own client, and keeps the turns of those in the trajectory that is open. A fault is
raised: it stands in ``exceptions`` of the group.
"""

from __future__ import annotations

from typing import Any

import art

from simia_gym import play_episode
from simia_gym.rl.recipes.gateways import suite_of
from simia_gym.types import JsonObject


async def rollout(model: Any, row: JsonObject) -> Any:
    """Play the row with a model of ART.

    Raises:
        Fault: The episode has no reward.
    """
    client, name = model.openai_client(), model.get_inference_name()

    async def agent(messages: list[JsonObject], tools: list[JsonObject]) -> Any:
        said = await client.chat.completions.create(model=name, messages=messages, tools=tools, logprobs=True)
        return said.choices[0].message

    with art.Trajectory() as trajectory:
        played = await play_episode(suite_of(row), row["task"], agent, seed=row["seed"])
    trajectory.reward = float(played.verdict.reward or 0.0)
    trajectory.metrics["success"] = played.verdict.success
    trajectory.metadata |= {"task": row["task"], "ended": played.ended}
    return trajectory
