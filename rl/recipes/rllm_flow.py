"""rLLM: an agent flow and its evaluator, for ``AgentTrainer(agent_flow=simia_flow, evaluator=simia_evaluator)``.

The metadata of a task is a row of `simia_gym.rl.gateway_rows`. A fault is raised: rLLM plays the rollout
again, and ends it with ``TerminationReason.ERROR`` and without a trajectory if it fails each time.
"""

from __future__ import annotations

from typing import Any

import rllm
from rllm.eval.types import EvalOutput
from rllm.types import Episode, Trajectory

from simia_gym.rl.recipes.gateways import play_row


@rllm.rollout(name="simia")
async def simia_flow(task: Any, config: Any) -> Any:
    """Play the row against the address of the rollout's session; rLLM adds the turns that it saw there."""
    played = await play_row(task.metadata, base_url=config.base_url, api_key="EMPTY", model=config.model)
    return Episode(
        trajectories=[Trajectory(name="simia", reward=played.reward)],
        artifacts={"reward": played.reward, "success": played.verdict.success, "ended": played.ended},
    )


@rllm.evaluator
def simia_evaluator(task: Any, episode: Any) -> Any:
    """The verdict that the episode brought."""
    return EvalOutput(reward=float(episode.artifacts["reward"]), is_correct=bool(episode.artifacts["success"]))
