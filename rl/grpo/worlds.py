"""The environments of a training in the processes that play its episodes: each is loaded once per process.

What an episode is stands in the dataset, row by row; where the answers come from stands in the settings of the run,
which hold no secret: API keys are taken from the environment variables of the process that asks.
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
    """Where a training's answers come from, and where what was played is written.

    Attributes:
        run: The folder of the run.
        seed: Where all variety of the episodes comes from.
        workers: How many processes play episodes; limits are divided among them.
        base_url: The endpoint of all roles; else the environment's variables.
        max_calls: Most calls of models, in all processes together.
        max_tokens: Most tokens of those calls.
        max_cost: Most USD for them.
        turn_tokens: Most tokens of one turn of the policy; ``None``: as many as the episode has left.
        timeout: Seconds that one episode may take.
        records: Whether the whole record of every episode is written, as ``simia rollout`` does.

    Raises:
        InputError: A setting cannot be.
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
        """Refuse what cannot be."""
        for name in ("workers", "turn_tokens", "max_calls", "max_tokens"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}", where=name, fix="Give at least 1.")
        if self.timeout is not None and not 0 < self.timeout < math.inf:
            raise InputError(f"timeout is {self.timeout}", where="timeout", fix="Give a number of seconds above 0.")

    def to_json(self) -> str:
        """One line of JSON; settings at their default are left out."""
        default = {item.name: item.default for item in dataclasses.fields(self)}
        given = {name: getattr(self, name) for name in default}
        given = {name: value for name, value in given.items() if value != default[name]}
        return encode(given).decode()

    @classmethod
    def from_json(cls, text: str) -> RunSettings:
        """Read back what `to_json` wrote.

        Raises:
            InputError: It is something else.
        """
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"these are no settings of a run: {error}", where="settings", fix="Start it anew."
            ) from None


def agent_loop_config(settings: RunSettings) -> list[JsonObject]:
    """What ``rollout.agent.agent_loop_config_path`` must hold, as YAML, for verl to play our episodes."""
    target = "simia_gym.rl.grpo.agent_loop.EpisodeLoop"
    return [{"name": AGENT, "_target_": target, "settings": settings.to_json()}]


class Worlds:
    """The environments of one process.

    Args:
        settings: The settings of the run.
        worker: Number of this process among those that play.

    Attributes:
        settings: The settings of the run.
        worker: Number of this process.
        log: Where finished episodes are written.
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
            config: The JSON text of an `EnvConfig`, as `simia_gym.rl.grpo.dataset.played_config` gives it: of every
                role that a model plays it names the model.

        Raises:
            InputError: It cannot be loaded.
        """
        with self._lock:
            if config not in self._suites:
                read = EnvConfig.from_json(json.loads(config))
                if self._resources is None:
                    self._resources = self._make_resources()
                # An address in an environment without models has no effect, and would be refused.
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
        """Pinned answers that all processes share; those of one process need no more than its memory."""
        if self.settings.workers == 1:
            return None
        run = Path(self.settings.run)
        try:
            import ray

            if ray.is_initialized():
                from simia_gym.rl.cluster.pins import RayPins

                # Whoever comes first makes the actor, and lives as long as the training; so does the actor. Another
                # start is another job of Ray, and meets no answers of this one.
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
    """The environments of this process for a run, made at the first call.

    Args:
        settings: The JSON text of `RunSettings`.
        worker: Number of this process among those that play.
    """
    with _lock:
        if settings not in _worlds:
            _worlds[settings] = Worlds(RunSettings.from_json(settings), worker)
        return _worlds[settings]
