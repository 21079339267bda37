"""The episodes of a server: made on demand by name, bounded in number, and given up when nobody plays them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from simia_gym.assembly.suite import Suite
from simia_gym.errors import Fault, InputError
from simia_gym.record.verdict import to_json
from simia_gym.rl.serving.tool_episode import ToolEpisode
from simia_gym.types import JsonObject


class Full(InputError):
    """As many episodes are open as the server allows."""


class HostedEpisodes:
    """The open and the ended episodes of one environment, by name.

    Args:
        suite: The environment.
        most: Most episodes that are kept at the same time.
        idle: Seconds without a call after which an episode is given up, with a fault and no reward.
        task: Id of the task of episodes that name none; by default the tasks of the split in turn.
        seed: Seed of episodes that name none.

    Attributes:
        suite: The environment.
        most: Most episodes that are kept at the same time.
        idle: Seconds without a call after which an episode is given up.
        made: Number of episodes that were made.
    """

    def __init__(self, suite: Suite, *, most: int, idle: float, task: str | None = None, seed: int = 0) -> None:
        self.suite = suite
        self.most, self.idle, self._seed = most, idle, seed
        self._task = None if task is None else suite.task(task)
        self._open: dict[str, ToolEpisode] = {}
        self._used: dict[str, float] = {}
        self.made = 0

    def __len__(self) -> int:
        return len(self._open)

    def get(self, name: str, wanted: Mapping[str, str] | None = None) -> ToolEpisode:
        """The episode of this name; a new one if there is none.

        Args:
            name: Its name.
            wanted: Of a new one: ``task``, ``seed`` and ``group``, all optional.

        Raises:
            Full: There are too many.
            InputError: There is no such task, or the seed is no number.
        """
        self._used[name] = asyncio.get_running_loop().time()
        if (found := self._open.get(name)) is not None:
            return found
        if len(self._open) >= self.most:
            del self._used[name]
            fix = "End others by DELETE /episodes/NAME, or raise --max-sessions."
            raise Full(f"{self.most} episodes are open", where=name, fix=fix)
        try:
            made = self._open[name] = self._make(wanted or {})
        except InputError:
            del self._used[name]
            raise
        self.made += 1
        return made

    def find(self, name: str) -> ToolEpisode | None:
        """The episode of this name, if there is one."""
        return self._open.get(name)

    async def remove(self, name: str, fault: Fault | None = None) -> JsonObject | None:
        """End an episode and forget it; its result, or ``None`` if there is none."""
        self._used.pop(name, None)
        episode = self._open.pop(name, None)
        if episode is None:
            return None
        await episode.close(fault)
        return result(episode)

    async def give_up_idle(self) -> None:
        """Give up idle episodes, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(self.idle, 60.0) / 4)
            late = loop.time() - self.idle
            for name in [name for name, used in self._used.items() if used < late]:
                await self.remove(name, Fault("idle", f"nobody has played for {self.idle:g} s", role="policy"))

    async def close(self) -> None:
        """End all episodes."""
        for name in [*self._open]:
            await self.remove(name, Fault("stopped", "the server was stopped"))

    def _make(self, wanted: Mapping[str, str]) -> ToolEpisode:
        in_turn = self._task or self.suite.tasks[self.made % len(self.suite.tasks)]
        task = self.suite.task(wanted["task"]) if "task" in wanted else in_turn
        seed = wanted.get("seed", str(self._seed))
        if not seed.isascii() or not seed.isdigit():
            raise InputError(f"seed is {seed!r}", where="seed", fix="Give a whole number from 0.")
        return ToolEpisode(self.suite, task, int(seed), wanted.get("group", ""))


@asynccontextmanager
async def kept(episodes: HostedEpisodes) -> AsyncIterator[None]:
    """Gives up idle episodes in between, and all of them in the end."""
    giving_up = asyncio.ensure_future(episodes.give_up_idle())
    try:
        yield
    finally:
        giving_up.cancel()
        await episodes.close()


def result(episode: ToolEpisode) -> dict[str, Any]:
    """What is known of an episode; ``reward`` is ``None`` before the end, and after a fault for good."""
    verdict = episode.verdict
    return {
        "task": episode.task.id,
        "seed": episode.seed,
        "begun": episode.begun,
        "ended": episode.ended,
        "reward": None if verdict is None else verdict.reward,
        "valid": None if verdict is None else verdict.valid,
        "success": None if verdict is None else verdict.success,
        "state": episode.state,
        "verdict": None if verdict is None else to_json(verdict),
    }
