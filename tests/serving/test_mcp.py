"""What only MCP has: errors and the verdict as the SDK's client sees them, one address an episode, standard input."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from .native import Native, made, native
from .services import served, service_named

over_mcp = service_named("mcp")

from mcp import Client, StdioServerParameters  # noqa: E402 - once it is known to be there
from mcp.shared.exceptions import MCPError  # noqa: E402

from simia_gym.rl.serving.hosted import HostedEpisodes, kept  # noqa: E402
from simia_gym.rl.serving.mcp_server import VERDICT, make_server  # noqa: E402
from simia_gym.rl.serving.tool_episode import SAY, START  # noqa: E402

RETAIL = "simia/retail-v0"


@asynccontextmanager
async def connected() -> AsyncIterator[Client]:
    """A client in memory of a server of its own."""
    episodes = HostedEpisodes(made(RETAIL).suite, most=8, idle=60.0)
    async with kept(episodes), Client(make_server(episodes)) as client:
        yield client


async def call(client: Client, name: str, arguments: dict[str, Any] | None = None) -> tuple[list[str], bool]:
    result = await client.call_tool(name, arguments or {})
    return [item.text for item in result.content], result.is_error  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        (START, {"pace": 1}, "'pace'"),
        (SAY, {"message": "Hello.", "tone": "kind"}, "'tone'"),
        (SAY, {"text": "Hello."}, "'text'"),
        (SAY, {}, "'message'"),
        ("get_order_details", {"order_id": "#W1", "verbose": True}, "verbose"),
        ("get_order_details", {"order_id": "#W0000000"}, ""),
        ("get_ordr", {}, "get_ordr"),
    ],
)
async def test_what_is_wrong_is_named_and_reaches_the_agent(name: str, arguments: dict[str, Any], said: str) -> None:
    async with connected() as client:
        if name != START:
            texts, error = await call(client, name, arguments)
            assert error
            assert START in texts[0] or said in texts[0]
            await call(client, START)
        texts, error = await call(client, name, arguments)
        assert error
        assert said in texts[0]


async def test_a_conversation_begins_once_and_has_a_verdict_after_its_end() -> None:
    async with connected() as client:
        assert not (await call(client, START))[1]
        texts, error = await call(client, START)
        assert (error, START in texts[0]) == (True, True)
        assert (await client.list_resources()).resources == []
        with pytest.raises(MCPError, match="verdict after the end"):
            await client.read_resource(VERDICT)


async def test_one_address_is_one_episode() -> None:
    task = made(RETAIL).suite.tasks[3].id
    async with served(over_mcp, made(RETAIL).suite) as server, httpx2.AsyncClient(base_url=server.base) as http:
        async with server.session(task, 1) as player:
            await player.start()
            found = (await http.get("/episodes/agent-1")).json()
            assert (found["task"], found["seed"], found["ended"], found["reward"]) == (task, 1, None, None)
            ended = (await http.post("/episodes/agent-1/end")).json()
            assert (ended["reward"], ended["valid"], ended["ended"]) == (0.0, True, "turn_limit")
            listed = (await player.client.list_resources()).resources
            assert [str(item.uri) for item in listed] == [VERDICT]
        assert (await http.get("/episodes/agent-1")).status_code == 404
        assert (await http.delete("/episodes/agent-1")).status_code == 404


@pytest.mark.parametrize("wanted", ["task=nowhere", "seed=-1", "seed=many"])
async def test_a_wrong_address_is_refused(wanted: str) -> None:
    async with served(over_mcp, made(RETAIL).suite) as server, over_mcp.session(server.base, f"x?{wanted}&") as player:
        with pytest.raises(MCPError, match=wanted.partition("=")[2]):
            await player.tools()


@pytest.fixture
def bought() -> Native:
    return native("simia/webshop-v0", 0)


@pytest.mark.slow
async def test_one_process_is_one_episode_over_standard_input_and_output(bought: Native) -> None:
    expected = bought
    words = ["-m", "simia_gym", "serve-mcp", "simia/webshop-v0", "--split", "train", "--stdio"]
    words += ["--task", expected.task, "--seed", str(expected.seed)]
    async with Client(StdioServerParameters(command=sys.executable, args=words)) as client:
        player = over_mcp.Session(client)
        await player.start()
        for made_call in expected.calls:
            await player.call(*made_call)
        assert await player.outcome() == expected.outcome
