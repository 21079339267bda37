"""The environments of a training in its rollout workers; each is loaded once per process.

The dataset's rows describe the episodes; the run's settings say which endpoints simulate them. The settings hold no
secret: API keys are read from the environment variables of the process that calls the endpoint.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache, cached_property
from typing import TYPE_CHECKING

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.json_encoding import encode
from simia_gym.common.settings import Settings, setting
from simia_gym.rl.grpo.run.episodes import EpisodeLog
from simia_gym.types import JsonObject

if TYPE_CHECKING:
    from simia_gym.simulators.pins import PinStore

AGENT = "simia"
"""Name of the agent loop in verl."""


class RunSettings(Settings):
    """Settings of a run that its rollout workers need."""

    run: str
    seed: int = setting(0, "Random seed of the episodes.")
    workers: int = setting(1, "Number of rollout workers; budgets are divided among them.", ge=1)
    max_calls: int | None = setting(None, "Maximum number of model calls, over all workers.", ge=1)
    max_tokens: int | None = setting(None, "Maximum number of tokens of those calls.", ge=1)
    max_cost: float | None = setting(None, "Maximum cost of those calls in USD.")
    turn_tokens: int | None = setting(None, "Maximum tokens of a turn; else as many as the episode has left.", ge=1)
    timeout: float | None = setting(None, "Seconds that one episode may take.", gt=0)
    records: bool = setting(False, "Whether to write the whole record of every episode, as `simia rollout` does.")


def agent_loop_config(settings: RunSettings) -> list[JsonObject]:
    """Content of verl's ``rollout.agent.agent_loop_config_path``, which names our agent loop."""
    target = "simia_gym.rl.grpo.in_verl.agent_loop.EpisodeLoop"
    return [{"name": AGENT, "_target_": target, "settings": encode(settings.to_json()).decode()}]


class Worlds:
    """The environments of one process."""

    def __init__(self, settings: RunSettings, worker: int = 0) -> None:
        self.settings = settings
        self.log = EpisodeLog(settings.run, worker, records=settings.records)
        self._suites: dict[str, Suite] = {}

    def suite(self, config: str) -> Suite:
        """The environment with these settings.

        Args:
            config: The JSON text of an `EnvConfig` from `simia_gym.rl.grpo.dataset.played_config`, which names the
                model of every role that a model plays.

        Raises:
            InputError: It cannot be loaded.
        """
        if config not in self._suites:
            self._suites[config] = load_suite(EnvConfig.from_json(json.loads(config)), self._resources)
        return self._suites[config]

    @cached_property
    def _resources(self) -> Resources:
        given = self.settings
        limits = (given.max_calls, given.max_tokens, given.max_cost)
        budget = None
        if any(limit is not None for limit in limits):
            from simia_gym.llm.budget import Budget

            calls, tokens = (None if limit is None else max(1, limit // given.workers) for limit in limits[:2])
            cost = None if given.max_cost is None else given.max_cost / given.workers
            budget = Budget(max_calls=calls, max_tokens=tokens, max_cost=cost)
        return Resources(budget=budget, pins=self._pins())

    def _pins(self) -> PinStore | None:
        """The store of pinned answers that all workers share; a single worker keeps them in memory."""
        if self.settings.workers == 1:
            return None
        import ray

        from simia_gym.rl.cluster.pins import RayPins

        # The first worker creates the actor, which lives as long as that worker: until the training ends.
        # The job's id keeps the answers of another start of the run apart.
        job = ray.get_runtime_context().get_job_id()
        return RayPins(f"pins-{hashlib.sha256(self.settings.run.encode()).hexdigest()[:12]}-{job}")


@cache
def worlds_of(settings: str, worker: int) -> Worlds:
    """The environments of this process for a run by its encoded `RunSettings`, created at the first call."""
    return Worlds(RunSettings.from_json(json.loads(settings)), worker)
