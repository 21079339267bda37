"""SkyRL-Gym: the environment ``simia``, whose dataset `skyrl_rows` makes.

Importing this module registers the environment in SkyRL's registry; that has to happen in the process that plays. A
fault is raised, because SkyRL knows no episode without a reward: it stops the step instead of counting as 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import skyrl_gym
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from simia_gym import Fault, InputError
from simia_gym.common.event_loop import run_sync
from simia_gym.record.verdict import to_json
from simia_gym.rl.recipes.gateways import suite_of
from simia_gym.rl.recipes.skyrl_rows import NAME, begin
from simia_gym.types import JsonObject


class SimiaSkyEnv(BaseTextEnv):
    """One episode.

    Args:
        env_config: The trainer's settings of the environment, of which it needs none.
        extras: The row, and the trainer's ``max_turns``.
    """

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        given = dict(extras or {})
        self._row: JsonObject = json.loads(given["simia"])
        suite = suite_of(self._row)
        if suite.history is not None:
            what = f"SkyRL's prompt is the whole transcript, and history is {suite.history.name!r}"
            raise InputError(what, where="history", fix="Give history='transcript'.")
        self._episode = suite.episode()
        self.max_turns = self._episode.max_turns = min(suite.max_turns, given.get("max_turns") or suite.max_turns)

    def init(self, prompt: Any) -> tuple[list[JsonObject], JsonObject]:
        """Begin the episode of the row.

        Raises:
            Fault: The environment failed.
        """
        start = begin(self._episode, self._row)
        return [*start.messages], start.info

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Take one action of the policy; the whole reward comes with the last one.

        Raises:
            Fault: The environment failed; the episode has no reward.
        """
        step = run_sync(self._episode.step(action), inline=self._episode.inline)
        self.turns = self._episode.turn
        if step.verdict is not None and not step.verdict.valid:
            raise self._episode.fault or Fault("unjudged", step.verdict.reason)
        said = [{"role": message["role"], "content": message["content"]} for message in step.messages]
        if step.verdict is None:
            return BaseTextEnvStepOutput(observations=said, reward=0.0, done=False, metadata={})
        facts = {"ended": self._episode.ended, "state": self._episode.final_state, "verdict": to_json(step.verdict)}
        return BaseTextEnvStepOutput(observations=said, reward=step.reward, done=True, metadata=facts)

    def get_metrics(self) -> JsonObject:
        """Turns, and at the end whether the task is done; SkyRL averages them."""
        verdict = self._episode.verdict
        return {"turns": self.turns, **({} if verdict is None else {"success": float(verdict.success)})}

    def close(self) -> None:
        """End the episode; one that goes on is given up, which frees its world."""
        run_sync(self._episode.close(), inline=self._episode.inline)


if NAME not in skyrl_gym.envs.registration.registry:
    skyrl_gym.register(id=NAME, entry_point=f"{__name__}:{SimiaSkyEnv.__name__}")
