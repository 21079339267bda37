"""The environments of a training in its rollout workers; each is loaded once per process.

The dataset's rows describe the episodes; the run's settings say which endpoints simulate them. The settings hold no
secret: API keys are read from the environment variables of the process that calls the endpoint.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.json_encoding import encode
from simia_gym.errors import InputError
from simia_gym.rl.grpo.episodes import EpisodeLog
from simia_gym.rollout.foreign import foreign_code
from simia_gym.types import JsonObject

if TYPE_CHECKING:
    from simia_gym.simulators.pins import PinStore

AGENT = "simia"
"""Name of the agent loop in verl."""


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Settings of a run that its rollout workers need.

    Attributes:
        run: The folder of the run.
        seed: Random seed of the episodes.
        workers: Number of rollout workers; budgets are divided among them.
        base_url: The endpoint of all roles; by default read from environment variables.
        max_calls: Maximum number of model calls, over all workers.
        max_tokens: Maximum number of tokens of those calls.
        max_cost: Maximum cost of those calls in USD.
        turn_tokens: Maximum tokens of one turn of the policy; ``None``: as many as the episode has left.
        timeout: Seconds that one episode may take.
        records: Whether to write the whole record of every episode, as ``simia rollout`` does.

    Raises:
        InputError: A value is out of range.
    """

    run: str
    seed: int = 0
    workers: int = 1
    base_url: str | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    turn_tokens: int | None = None
    timeout: float | None = None
    records: bool = False

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("workers", "turn_tokens", "max_calls", "max_tokens"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}", where=name, fix="Give at least 1.")
        if self.timeout is not None and not 0 < self.timeout < math.inf:
            raise InputError(f"timeout is {self.timeout}", where="timeout", fix="Give a number of seconds above 0.")

    def to_json(self) -> str:
        """Encode as one line of JSON, without settings that have their default."""
        default = {item.name: item.default for item in dataclasses.fields(self)}
        given = {name: getattr(self, name) for name in default}
        given = {name: value for name, value in given.items() if value != default[name]}
        return encode(given).decode()

    @classmethod
    def from_json(cls, text: str) -> RunSettings:
        """Decode the result of `to_json`.

        Raises:
            InputError: The text holds no settings of a run.
        """
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"these are no settings of a run: {error}", where="settings", fix="Start it anew."
            ) from None


def agent_loop_config(settings: RunSettings) -> list[JsonObject]:
    """Content of verl's ``rollout.agent.agent_loop_config_path``, which names our agent loop."""
    target = "simia_gym.rl.grpo.agent_loop.EpisodeLoop"
    return [{"name": AGENT, "_target_": target, "settings": settings.to_json()}]


class Worlds:
    """The environments of one process.

    Args:
        settings: The settings of the run.
        worker: Index of this worker.

    Attributes:
        settings: The settings of the run.
        worker: Index of this worker.
        log: The log of finished episodes.
    """

    def __init__(self, settings: RunSettings, worker: int = 0) -> None:
        self.settings, self.worker = settings, worker
        self.log = EpisodeLog(settings.run, worker, records=settings.records)
        self._suites: dict[str, Suite] = {}
        self._lock = threading.Lock()
        self._resources: Resources | None = None

    def suite(self, config: str) -> Suite:
        """The environment with these settings.

        Args:
            config: The JSON text of an `EnvConfig` from `simia_gym.rl.grpo.dataset.played_config`, which names the
                model of every role that a model plays.

        Raises:
            InputError: It cannot be loaded.
        """
        with self._lock:
            if config not in self._suites:
                read = EnvConfig.from_json(json.loads(config))
                if self._resources is None:
                    self._resources = self._make_resources()
                # An endpoint for an environment without models has no effect and would be refused.
                resources = replace(self._resources, base_url=self._resources.base_url if read.roles else None)
                with foreign_code(read.domain or read.env):
                    self._suites[config] = load_suite(read, resources)
            return self._suites[config]

    def _make_resources(self) -> Resources:
        given = self.settings
        limits = (given.max_calls, given.max_tokens, given.max_cost)
        budget = None
        if any(limit is not None for limit in limits):
            from simia_gym.llm.budget import Budget

            calls, tokens = (None if limit is None else max(1, limit // given.workers) for limit in limits[:2])
            cost = None if given.max_cost is None else given.max_cost / given.workers
            budget = Budget(max_calls=calls, max_tokens=tokens, max_cost=cost)
        return Resources(base_url=given.base_url, budget=budget, pins=self._pins())

    def _pins(self) -> PinStore | None:
        """The store of pinned answers that all workers share; a single worker keeps them in memory."""
        if self.settings.workers == 1:
            return None
        run = Path(self.settings.run)
        try:
            import ray

            if ray.is_initialized():
                from simia_gym.rl.cluster.pins import RayPins

                # The first worker creates the actor, which lives as long as that worker: until the training ends.
                # The job's id keeps the answers of another start of the run apart.
                job = ray.get_runtime_context().get_job_id()
                return RayPins(f"pins-{hashlib.sha256(str(run).encode()).hexdigest()[:12]}-{job}")
        except ImportError:
            pass
        from simia_gym.simulators.pins import SqlitePins

        run.mkdir(parents=True, exist_ok=True)
        return SqlitePins(run / "pins.sqlite")


_worlds: dict[str, Worlds] = {}
_lock = threading.Lock()


def worlds_of(settings: str, worker: int = 0) -> Worlds:
    """The environments of this process for a run, created at the first call.

    Args:
        settings: The JSON text of `RunSettings`.
        worker: Index of this worker.
    """
    with _lock:
        if settings not in _worlds:
            _worlds[settings] = Worlds(RunSettings.from_json(settings), worker)
        return _worlds[settings]
