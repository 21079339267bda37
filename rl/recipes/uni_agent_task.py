"""uni-agent: the task ``simia``, known where ``simia_gym.rl.recipes.uni_agent_task.run_task`` is the runner.

``metadata`` of a sample's task is a row of `simia_gym.rl.gateway_rows`. A fault is raised: the session fails
and is in no batch. ``finished=False`` would keep its reward in the mean of the group.
"""

from __future__ import annotations

from uni_agent.framework.task_runner import run_task
from uni_agent.sandbox import SandboxConfig
from uni_agent.tasks.base import Task, TaskConfig, TaskResult
from uni_agent.tasks.registry import register_task

from simia_gym.rl.recipes.gateways import play_row

__all__ = ["SimiaTask", "SimiaTaskConfig", "run_task"]


class SimiaTaskConfig(TaskConfig):
    """A task without a sandbox, whose provider has no default and would be asked for."""

    name: str = "simia"
    sandbox: SandboxConfig = SandboxConfig(provider="none")


@register_task("simia")
class SimiaTask(Task):
    """Plays the episode of a row; it needs neither sandbox nor agent but the agent's model."""

    config_model = SimiaTaskConfig

    async def run(self) -> TaskResult:
        """Play the row against the address of the session.

        Raises:
            Fault: The episode has no reward.
        """
        model, row = self.config.agent.model, self.config.metadata
        name = model.model_name or "default"
        played = await play_row(row, base_url=model.base_url, api_key=model.api_key, model=name)
        facts = {"ended": played.ended, "turns": played.turns}
        return TaskResult(played.reward, accuracy=float(played.verdict.success), finished=True, extra_info=facts)
