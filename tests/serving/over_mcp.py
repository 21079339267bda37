"""Plays episodes over MCP with the official SDK's client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from simia_gym.rl.serving.hosted import HostedEpisodes
from simia_gym.rl.serving.mcp_server import VERDICT, make_app
from simia_gym.rl.serving.tool_episode import START

from .native import Outcome

COMMAND, GUARDED = "serve-mcp", "/episodes/x"
Refused = MCPError


def app(episodes: HostedEpisodes) -> Any:
    return make_app(episodes, host="127.0.0.1")


class Session:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def tools(self) -> set[str]:
        return {tool.name for tool in (await self.client.list_tools()).tools} - {START}

    async def start(self) -> str:
        """Begin; what the environment says."""
        return "\n\n".join((await self._call(START, {}))[0])

    async def call(self, name: str, arguments: dict[str, Any]) -> str:
        return "\n\n".join((await self._call(name, arguments))[0])

    async def outcome(self) -> Outcome:
        (content,) = (await self.client.read_resource(VERDICT)).contents
        found = json.loads(content.text)  # type: ignore[union-attr]
        return Outcome(found["reward"], found["ended"], found["state"])

    async def _call(self, name: str, arguments: dict[str, Any]) -> tuple[list[str], bool]:
        result = await self.client.call_tool(name, arguments)
        return [item.text for item in result.content], result.is_error  # type: ignore[union-attr]


@asynccontextmanager
async def session(
    base: str, name: str, task: str | None = None, seed: int = 0, token: str = ""
) -> AsyncIterator[Session]:
    """A session with an episode of its own, which is given up when the body is left."""
    wanted = f"seed={seed}" if task is None else f"task={task}&seed={seed}"
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"} if token else {}) as http:
        try:
            async with Client(streamable_http_client(f"{base}/mcp/{name}?{wanted}", http_client=http)) as client:
                yield Session(client)
        finally:
            await http.delete(f"{base}/episodes/{name}")
