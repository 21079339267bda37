"""verifiers: a taskset whose harness plays the episode in this process, against the address that keeps the tokens.

verifiers and prime-rl find it by the name of a module at the top level: write one that exports the three classes (see
the documentation). The reward ``simia`` is that of the verdict. A fault is raised: it stands in the trace's errors,
which then has no reward.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import verifiers.v1 as vf
from pydantic import Field
from verifiers.v1.runtimes import ProgramResult, SubprocessConfig

from simia_gym import Cut, Fault, PolicyOptions, play_episode
from simia_gym.policies.llm import LLMPolicy
from simia_gym.record.finished_episode import TOKEN_LIMIT, TURN_LIMIT
from simia_gym.rl.recipes.gateways import gateway_rows, outcome, suite_of
from simia_gym.types import Message, PolicyAction

__all__ = ["SimiaEnv", "SimiaHarness", "SimiaTaskset"]

FOUND = "simia"
"""The key of the trace's info under which the episode's end stands."""


class SimiaData(vf.TaskData):
    """A row of `simia_gym.rl.gateway_rows`."""

    row: dict[str, Any]


class SimiaConfig(vf.TasksetConfig):
    """Which episodes: arguments of `simia_gym.rl.gateway_rows`, and the first seed."""

    env: str = "simia/retail-v0"
    split: str = "train"
    seed: int = 0
    seeds: int = 1
    settings: dict[str, Any] = Field(default_factory=dict)


class SimiaTask(vf.Task[SimiaData]):
    """One task with one seed; its rollouts are a group."""

    @vf.reward
    async def simia(self, trace: vf.Trace) -> float:
        """The reward of the verdict."""
        return float(trace.info[FOUND]["reward"])

    @vf.metric
    async def success(self, trace: vf.Trace) -> float:
        """Whether the task is done."""
        return float(trace.info[FOUND]["success"])


class SimiaTaskset(vf.Taskset[SimiaTask, SimiaConfig]):
    """Every task of a split, with every seed."""

    def load(self) -> Iterator[SimiaTask]:
        """The tasks."""
        given = self.config
        for row in gateway_rows(given.env, seeds=given.seeds, split=given.split, **given.settings):
            row["seed"] += given.seed
            name = f"{row['task']}/{row['seed']}"
            # The conversation begins inside of the episode, but verifiers starts no run without a prompt.
            yield SimiaTask(SimiaData(id=name, name=name, prompt=f"{given.env}: {name}", row=row), given.task)


class SimiaHarness(vf.Harness[vf.HarnessConfig]):
    """Plays the episode in this process; every turn is a request to verifiers' own address."""

    NEEDS_CONTAINER = EXECUTES_CODE = False

    async def launch(
        self,
        ctx: Any,
        trace: vf.Trace,
        runtime: Any,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: Any,
    ) -> ProgramResult:
        """Play to the verdict.

        Raises:
            Fault: The episode has no reward.
        """
        row = data.row
        options = PolicyOptions(model=ctx.model, base_url=endpoint, api_key=secret, retries=0, seed=False)
        policy = _Limited(options, trace)
        played = await play_episode(suite_of(row), row["task"], policy, seed=row["seed"])
        trace.info[FOUND] = outcome(played)
        return ProgramResult(0, "", "")


class _Limited(LLMPolicy):
    """Asks the model; where verifiers refuses a turn because of a limit, the episode is cut off and judged."""

    def __init__(self, options: PolicyOptions, trace: vf.Trace) -> None:
        super().__init__(options)
        self._trace = trace

    async def act(self, messages: Sequence[Message]) -> PolicyAction:
        try:
            return await super().act(messages)
        except Fault:
            if (limit := self._trace.stop_condition) is None:
                raise
            raise Cut(TURN_LIMIT if limit == "max_turns" else TOKEN_LIMIT) from None


class SimiaEnvConfig(vf.EnvConfig):
    """One agent, which needs no box: by default verifiers would start a remote one."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=SubprocessConfig())


class SimiaEnv(vf.Env[SimiaEnvConfig]):
    """One agent plays one task."""

    async def run(self, task: Any, agents: Any) -> None:
        """Play."""
        await agents.agent.run(task)
