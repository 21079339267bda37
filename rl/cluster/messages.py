"""Messages between driver and workers; all of them can be pickled, and none of them holds a secret."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.rl.cluster.budget_shares import Amounts
from simia_gym.rollout.jobs import EpisodeSlot, Plan
from simia_gym.rollout.pools import Elsewhere
from simia_gym.types import JsonObject

_PREFIXES = ("OPENAI_", "AZURE_OPENAI_", "SIMIA_")


@dataclass(frozen=True, kw_only=True)
class WorkerSetup:
    """What a worker needs to build the environment and the policy.

    Attributes:
        version: Version of this package at the driver.
        folder: The driver's current folder, the base of relative paths.
        config: The environment, with the simulator that the driver resolved ``auto`` to.
        resources: Endpoints of models and the shared pinned answers.
        budget: Whether the worker gets a share of a budget.
        plan: The episodes of the whole run.
        policy: The policy, as the driver was asked for it.
        slots: The largest number of episodes in flight in one worker.
        timeout: Seconds that one episode may take.
    """

    version: str
    folder: str
    config: EnvConfig
    resources: Resources
    budget: bool
    plan: Plan
    policy: Elsewhere
    slots: int
    timeout: float | None


@dataclass(frozen=True, kw_only=True)
class WorkerReady:
    """A worker that is ready to play, or cannot play.

    Attributes:
        node: Host name of its node.
        pid: Its process id.
        problem: Why it cannot play, in one line; ``None`` if it can.
    """

    node: str
    pid: int
    problem: str | None = None


@dataclass(frozen=True, kw_only=True)
class SlotResult:
    """A finished episode, a task that could not be made, or an episode that was not started before the run was halted.

    Attributes:
        slot: Which episode.
        line: Its line of the record, if it was played.
        times: Its line of the sidecar file with wall times.
        blobs: The blobs of the record that this worker has not sent before.
        error: Why its task could not be made, if it could not.
    """

    slot: EpisodeSlot
    line: bytes = b""
    times: JsonObject = field(default_factory=dict)
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class WorkerReply:
    """A worker's reply to one exchange.

    Attributes:
        finished: Episodes that finished since the last reply.
        usage: Usage of models since the last reply, from `simia_gym.llm.accounts.Accounts.drain`.
        in_force: Budget limits that apply in the worker now.
        spent: What the worker has used of its budget.
    """

    finished: list[SlotResult]
    usage: Any
    in_force: Amounts
    spent: Amounts


def model_variables() -> dict[str, str]:
    """The environment variables of this process that configure model endpoints, API keys included.

    They are set in the workers' own environment: Ray's ``runtime_env`` would show them in its dashboard and logs.
    """
    return {name: value for name, value in os.environ.items() if name.startswith(_PREFIXES)}


def set_model_variables(variables: Mapping[str, str]) -> None:
    """Replace this process's `model_variables` by those of the driver."""
    for name in model_variables().keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)
