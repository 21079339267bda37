"""Plays episodes over OpenEnv with its own client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from openenv import GenericEnvClient

from simia_gym.rl.serving.hosted import HostedEpisodes
from simia_gym.rl.serving.openenv_server import make_app

from .native import Outcome

COMMAND, GUARDED = "serve-openenv", "/schema"
Refused = RuntimeError


def app(episodes: HostedEpisodes) -> Any:
    return make_app(episodes)


class Session:
    def __init__(self, client: Any, wanted: dict[str, Any]) -> None:
        self.client, self._wanted = client, wanted
        self._rewards: list[float] = []
        self._last: dict[str, Any] = {}
        self._failed = False

    async def tools(self) -> set[str]:
        found = await self.client.step({"type": "list_tools"})
        return {tool["name"] for tool in found.observation["tools"]}

    async def start(self) -> str:
        """Begin; what the environment says."""
        return str((await self.client.reset(**self._wanted)).observation["result"])

    async def call(self, name: str, arguments: dict[str, Any]) -> str:
        """Call a tool. After a fault neither a reward nor an end may ever be seen."""
        try:
            result = await self.client.step({"type": "call_tool", "tool_name": name, "arguments": arguments})
        except RuntimeError as error:
            self._failed = True
            return str(error)
        assert not self._failed
        self._rewards.append(result.reward)
        assert result.done or result.reward == 0.0
        self._last = result.observation
        return str(result.observation["result"])

    async def outcome(self) -> Outcome:
        if self._failed:
            return Outcome(None, "fault", None)
        return Outcome(sum(self._rewards), self._last["ended"], self._last["final_state"])


@asynccontextmanager
async def session(
    base: str, name: str, task: str | None = None, seed: int = 0, token: str = ""
) -> AsyncIterator[Session]:
    """A session, which is given up when the body is left."""
    wanted: dict[str, Any] = {"seed": seed} if task is None else {"task": task, "seed": seed}
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with GenericEnvClient(base_url=base, headers=headers) as client:
        yield Session(client, wanted)
