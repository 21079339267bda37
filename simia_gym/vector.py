"""The vector environment: N episodes in one process, whose model calls run concurrently."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from simia_gym.assembly.task_order import Order
from simia_gym.common.event_loop import run_sync
from simia_gym.env import OnFault, SimiaEnv, keyless, log_once, step_values
from simia_gym.episode import Episode
from simia_gym.errors import InputError
from simia_gym.types import PolicyAction, Task

Flags = NDArray[np.bool_]
Rewards = NDArray[np.float64]


class SimiaVectorEnv(gymnasium.vector.VectorEnv[tuple[str, ...], tuple[str, ...], Any]):
    """N sub-environments stepped together; one that has ended is reset at the next step (autoreset ``NEXT_STEP``).

    All N actions of a step are processed concurrently, so up to N model calls are in flight at once. A fault during
    autoreset does not raise: the sub-environment truncates at its next step, with the fault in its info.

    Args:
        env_id: The registered id.
        num_envs: Number N of sub-environments.
        max_episode_steps: Gymnasium's step limit; it is used as the turn limit, so that the episode gets a verdict.
        render_mode: ``ansi`` or nothing.
        on_fault: As for `SimiaEnv`; ``truncate`` is ``mark`` here.
        task_order: As for `SimiaEnv`; the sub-environments share one order, so ``shuffled`` and ``listed`` give each
            of them a different task.
        **kwargs: Settings and options as for `SimiaEnv`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium's own layout
        "render_modes": ["ansi"],
        "render_fps": 1,
        "autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        env_id: str,
        num_envs: int = 1,
        *,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        on_fault: OnFault = "truncate",
        task_order: Order = "random",
        **kwargs: Any,
    ) -> None:
        self.num_envs = num_envs
        self.render_mode, self.on_fault = render_mode, on_fault
        first = SimiaEnv(env_id, on_fault=on_fault, task_order=task_order, **kwargs)
        self.suite, self.task_order = first.suite, first.task_order
        self.lanes = [first, *(copy(first) for _ in range(num_envs - 1))]
        if max_episode_steps is not None:
            for episode in self.episodes:
                episode.max_turns = min(episode.max_turns, max_episode_steps)
        self.inline = all(episode.inline for episode in self.episodes)
        self.single_observation_space, self.single_action_space = first.observation_space, first.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._again = np.zeros(num_envs, dtype=np.bool_)
        self._spec: EnvSpec | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """How it was made, as Gymnasium says it from outside, without API keys."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = keyless(spec)

    @property
    def tasks(self) -> Sequence[Task]:
        """The tasks that resets draw from, as in `SimiaEnv`."""
        return self.suite.tasks

    @property
    def episodes(self) -> list[Episode]:
        """The episodes of the sub-environments."""
        return [lane.episode for lane in self.lanes]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Begin an episode in every sub-environment.

        Args:
            seed: One seed (sub-environment ``i`` gets ``seed + i``), or N seeds.
            options: As for `SimiaEnv`.

        Returns:
            N observations, and info.
        """
        seeds = self._seeds(seed)
        if seeds[0] is not None:
            self.task_order.restart(seeds[0])
        for env, value in zip(self.lanes, seeds, strict=True):
            gymnasium.Env.reset(env, seed=value)
        self._again[:] = False
        work = (self._begin(lane, options) for lane in range(self.num_envs))
        results = run_sync(self._gather(work), inline=self.inline)
        infos: dict[str, Any] = {}
        for lane, (_, info) in enumerate(results):
            infos = self._add_info(infos, info, lane)
        fault = next((lane.broken for lane in self.lanes if lane.broken is not None), None)
        if fault is not None and self.on_fault == "raise":
            raise fault
        return tuple(observation for observation, _ in results), infos

    def step(self, actions: Sequence[PolicyAction]) -> tuple[tuple[str, ...], Rewards, Flags, Flags, dict[str, Any]]:
        """Take one action per sub-environment; the action for one that is being reset is ignored.

        Args:
            actions: N texts or assistant messages.

        Returns:
            Observations (N texts), rewards (N,), terminated (N,), truncated (N,), info.
        """
        if isinstance(actions, str | dict) or len(actions) != self.num_envs:
            got = "one action" if isinstance(actions, str | dict) else f"{len(actions)}"
            raise InputError(f"{got} for {self.num_envs} lanes", where="actions", fix="Give one action a lane.")
        work = (self._advance(lane, action) for lane, action in enumerate(actions))
        results = run_sync(self._gather(work), inline=self.inline)
        rewards = np.zeros(self.num_envs, dtype=np.float64)
        terminated = np.zeros(self.num_envs, dtype=np.bool_)
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        infos: dict[str, Any] = {}
        for lane, (_, rewards[lane], terminated[lane], truncated[lane], info) in enumerate(results):
            infos = self._add_info(infos, info, lane)
        self._again = terminated | truncated
        if self.on_fault == "raise":
            fault = next((episode.fault for episode in self.episodes if episode.fault is not None), None)
            if fault is not None:
                raise fault
        return tuple(result[0] for result in results), rewards, terminated, truncated, infos

    def close_extras(self, **kwargs: Any) -> None:
        """Give up the episodes that have not ended, so that the world frees what it holds for them."""
        run_sync(self._gather(episode.close() for episode in self.episodes), inline=self.inline)

    async def _gather(self, work: Iterable[Any]) -> list[Any]:
        """Await everything concurrently, or in order where nothing does I/O, so that no event loop is needed."""
        if self.inline:
            return [await item for item in work]
        return list(await asyncio.gather(*work))

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        """One seed per sub-environment."""
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            return [int(seed) + lane for lane in range(self.num_envs)]
        seeds = [None if value is None else int(value) for value in seed]
        if len(seeds) != self.num_envs:
            raise InputError(f"{len(seeds)} seeds for {self.num_envs} lanes", where="seed", fix="Give one a lane.")
        return seeds

    async def _begin(self, lane: int, options: dict[str, Any] | None) -> tuple[str, dict[str, Any]]:
        return await self.lanes[lane].begin_or_mark(*self.lanes[lane].choose(options))

    async def _advance(self, lane: int, action: PolicyAction) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self._again[lane]:
            observation, info = await self._begin(lane, None)
            return observation, 0.0, False, False, info
        episode = self.lanes[lane].episode
        step = await self.lanes[lane].advance(action)
        if episode.fault is not None and self.on_fault != "raise":
            log_once(episode.fault)
        return step_values(episode, step)
