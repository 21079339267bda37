"""What driver and workers tell each other; all of it can be pickled, and none of it holds a secret."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.policies import PolicyOptions
from simia_gym.rl.cluster.assignments import Place
from simia_gym.rl.cluster.shares import Amounts
from simia_gym.types import JsonObject

_OURS = ("OPENAI_", "AZURE_OPENAI_", "SIMIA_")


@dataclass(frozen=True, kw_only=True)
class Order:
    """What a worker has to make before it can play.

    Attributes:
        version: Of this package.
        folder: The driver's current folder, which relative paths start from.
        config: The environment, with the simulator that ``auto`` stands for with the driver.
        base_url: The endpoint of all roles.
        base_urls: Endpoints of single roles.
        plan: Arguments of `simia_gym.rollout.jobs.Plan`.
        policy: Names the policy.
        options: Settings of its model.
        content_hash: Of its model, where its files lie on each node.
        slots: Most episodes in flight in one worker.
        timeout: Seconds that one episode may take.
        pins: Arguments of `simia_gym.rl.cluster.pins.RayPins`, where answers are pinned.
        budget: Whether there is one to have a share of.
    """

    version: str
    folder: str
    config: EnvConfig
    base_url: str | None
    base_urls: Mapping[str, str]
    plan: Mapping[str, Any]
    policy: str
    options: PolicyOptions
    content_hash: str | None
    slots: int
    timeout: float | None
    pins: JsonObject | None
    budget: bool


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A worker that has begun, or cannot.

    Attributes:
        node: The machine's name.
        pid: The process.
        problem: What makes it impossible, in one line.
    """

    node: str
    pid: int
    problem: str | None = None


@dataclass(frozen=True, kw_only=True)
class Finished:
    """An episode that is over, or whose task could not be made.

    Attributes:
        place: Which.
        line: Its line of the record.
        times: Its line of the sidecar.
        unmade: Why there is no task, where there is none.
    """

    place: Place
    line: bytes = b""
    times: JsonObject = field(default_factory=dict)
    unmade: str | None = None


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a worker answers.

    Attributes:
        finished: What has come to its end since the last answer.
        returned: What it had not begun, where that was called back.
        accounts: What models took since the last answer, as of `simia_gym.llm.accounts.Accounts.drain`.
        in_force: The limits that it goes by.
        spent: What it has used.
    """

    finished: list[Finished]
    returned: list[Place]
    accounts: Any
    in_force: Amounts
    spent: Amounts


def settings_of_models() -> dict[str, str]:
    """The variables of this process that say where models are asked, keys included.

    They go straight to the workers' own environment: Ray's ``runtime_env`` would show them in its dashboard and logs.
    """
    return {name: value for name, value in os.environ.items() if name.startswith(_OURS)}


def take_over(variables: Mapping[str, str]) -> None:
    """Have another process's settings of models, and none besides: what is left out there is left out here.

    Args:
        variables: As `settings_of_models` gave them there.
    """
    for name in settings_of_models().keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)
