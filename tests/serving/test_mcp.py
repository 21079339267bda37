"""Episodes as an MCP server, played by the SDK's own client: the rewards of `gym.make`, faults, limits, isolation."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from simia_gym import Calls, End, EnvConfig, Resources, Say, Suite, load_suite, play_episode
from simia_gym.domain.registration import env_ids
from simia_gym.rl.serving.hosted import HostedEpisodes
from simia_gym.rl.serving.mcp_server import VERDICT, kept, make_server
from simia_gym.rl.serving.tool_episode import FINISH, SAY, START
from simia_gym.types import Action, PolicyAction

from ..model_server import serving

WORLDS = [name for name in env_ids() if "custom" not in name]
TOKEN = {"Authorization": "Bearer let-me-in"}
PROGRAM = [sys.executable, "-m", "simia_gym", "serve-mcp"]
Call = tuple[str, dict[str, Any]]


def loaded(env: str, **settings: Any) -> Suite:
    return load_suite(EnvConfig(env, split="train", history="transcript", **settings))


@asynccontextmanager
async def connected(suite: Suite, **wanted: Any) -> AsyncIterator[Client]:
    """A client in memory of a server of its own."""
    episodes = HostedEpisodes(suite, **{"most": 8, "idle": 60.0, **wanted})
    async with kept(episodes), Client(make_server(episodes)) as client:
        yield client


async def call(client: Client, name: str, arguments: dict[str, Any] | None = None) -> tuple[list[str], bool]:
    result = await client.call_tool(name, arguments or {})
    return [item.text for item in result.content], result.is_error  # type: ignore[union-attr]


async def verdict(client: Client) -> Any:
    (content,) = (await client.read_resource(VERDICT)).contents
    return json.loads(content.text)  # type: ignore[union-attr]


def calls_of(suite: Suite, action: PolicyAction) -> Iterator[Call]:
    """The tool calls that do what an action does."""
    if not isinstance(action, str):
        for item in action["tool_calls"]:
            arguments = item["function"]["arguments"]
            yield item["function"]["name"], json.loads(arguments) if isinstance(arguments, str) else arguments
        return
    parsed: Action | Any = suite.domain.grammar.parse(action)
    if isinstance(parsed, Calls):
        yield from ((made.name, dict(made.arguments)) for made in parsed.calls)
    elif isinstance(parsed, Say) and suite.domain.replies != "end":
        yield SAY, {"message": parsed.text}
    else:
        assert isinstance(parsed, Say | End)
        yield FINISH, {"answer": parsed.text if isinstance(parsed, Say) else parsed.answer}


async def expert_calls(suite: Suite, task: str, seed: int) -> list[Call]:
    played = await play_episode(suite, task, "expert", seed=seed)
    assert played.reward == 1.0
    said = [message for message in played.messages if message["role"] == "assistant"]
    actions = [message if message.get("tool_calls") else message["content"] for message in said]
    return [made for action in actions for made in calls_of(suite, action)]


@pytest.mark.parametrize("env", WORLDS)
async def test_the_expert_earns_the_same_through_the_tools(env: str) -> None:
    suite = loaded(env)
    task = suite.tasks[2]
    async with connected(suite, task=task.id, seed=5) as client:
        named = {tool.name for tool in (await client.list_tools()).tools}
        assert (await client.list_resources()).resources == []
        texts, error = await call(client, START)
        assert (error, texts[-1]) == (False, (await play_episode(suite, task, "null", seed=5)).messages[1]["content"])
        for name, arguments in await expert_calls(suite, task.id, 5):
            assert name in named
            texts, _ = await call(client, name, arguments)
        assert texts[-1] == "The episode is over."
        found = await verdict(client)
        assert (found["reward"], found["valid"], found["task"], found["seed"]) == (1.0, True, task.id, 5)
        assert (await call(client, name, arguments)) == (["The episode is over."], True)
        assert [str(item.uri) for item in (await client.list_resources()).resources] == [VERDICT]


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
    async with connected(loaded("simia/retail-v0")) as client:
        if name != START:
            texts, error = await call(client, name, arguments)
            assert error
            assert START in texts[0] or said in texts[0]
            await call(client, START)
        texts, error = await call(client, name, arguments)
        assert error
        assert said in texts[0]


async def test_a_conversation_begins_once() -> None:
    async with connected(loaded("simia/retail-v0")) as client:
        assert not (await call(client, START))[1]
        texts, error = await call(client, START)
        assert (error, START in texts[0]) == (True, True)
        with pytest.raises(MCPError, match="verdict after the end"):
            await client.read_resource(VERDICT)


async def test_a_fault_is_said_and_has_no_reward() -> None:
    async with serving(lambda asked: "no world today") as server:
        config = EnvConfig("simia/retail-v0", simulator="llm", model="m", user="scripted")
        suite = load_suite(config, Resources(base_url=server.url, api_key="k"))
        async with connected(suite) as client:
            await call(client, START)
            texts, error = await call(client, "get_user_details", {"user_id": "mei_li_1234"})
            assert (error, "environment failed" in texts[0]) == (True, True)
            found = await verdict(client)
    assert (found["reward"], found["valid"], found["ended"]) == (None, False, "fault")


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """The address of a server that was started from the command line."""
    words = ["simia/retail-v0", "--split", "train", "--max-sessions", "3", "--json"]
    env = {**os.environ, "SIMIA_SERVE_TOKEN": "let-me-in"}
    with subprocess.Popen([*PROGRAM, *words], stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["base_url"]
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130


@asynccontextmanager
async def client_of(base: str, name: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=TOKEN) as http,
        Client(streamable_http_client(f"{base}/mcp/{name}", http_client=http)) as client,
    ):
        yield client


async def asked(method: str, address: str, **headers: str) -> tuple[int, Any]:
    """Status and JSON value of an answer."""
    async with aiohttp.ClientSession() as http, http.request(method, address, headers=headers) as answer:
        return answer.status, await answer.json()


async def test_two_addresses_are_two_episodes(served: str) -> None:
    suite = loaded("simia/retail-v0")
    tasks = [suite.tasks[number].id for number in (3, 4)]
    names = [f"{place}?task={task}&seed=1" for place, task in zip("ab", tasks, strict=True)]
    calls = [await expert_calls(suite, task, 1) for task in tasks]
    async with client_of(served, names[0]) as one, client_of(served, names[1]) as two:
        await call(one, START)
        await call(two, START)
        for mine, other in zip(*calls, strict=False):
            await call(one, *mine)
            await call(two, *other)
        shorter = min(map(len, calls))
        for client, left in ((one, calls[0][shorter:]), (two, calls[1][shorter:])):
            for made in left:
                await call(client, *made)
        assert [(await verdict(client))["reward"] for client in (one, two)] == [1.0, 1.0]
    for name, task in zip("ab", tasks, strict=True):
        _, found = await asked("GET", f"{served}/episodes/{name}", **TOKEN)
        assert (found["task"], found["reward"]) == (task, 1.0)
        assert (await asked("DELETE", f"{served}/episodes/{name}", **TOKEN))[0] == 200
        assert (await asked("GET", f"{served}/episodes/{name}", **TOKEN))[0] == 404


async def test_an_agent_that_stops_is_judged_as_it_stands(served: str) -> None:
    async with client_of(served, "stops") as client:
        await call(client, START)
    _, found = await asked("POST", f"{served}/episodes/stops/end", **TOKEN)
    assert (found["reward"], found["valid"], found["ended"]) == (0.0, True, "turn_limit")
    await asked("DELETE", f"{served}/episodes/stops", **TOKEN)


async def test_a_token_and_a_health_address(served: str) -> None:
    assert (await asked("GET", f"{served}/health"))[1]["status"] == "ok"
    assert (await asked("GET", f"{served}/episodes/x"))[0] == 401
    assert (await asked("POST", f"{served}/mcp/x"))[0] == 401
    assert (await asked("POST", f"{served}/mcp/x", Authorization="Bearer no"))[0] == 401


async def test_a_cap_on_episodes(served: str) -> None:
    for name in "pqr":
        async with client_of(served, name) as client:
            await client.list_tools()
    async with client_of(served, "s") as client:
        with pytest.raises(MCPError, match="3 episodes are open"):
            await client.list_tools()
        await asked("DELETE", f"{served}/episodes/p", **TOKEN)
        await client.list_tools()
    for name in "qrs":
        await asked("DELETE", f"{served}/episodes/{name}", **TOKEN)


@pytest.mark.parametrize("wanted", ["task=nowhere", "seed=-1", "seed=many"])
async def test_a_wrong_address_is_refused(served: str, wanted: str) -> None:
    async with client_of(served, f"wrong?{wanted}") as client:
        with pytest.raises(MCPError, match=wanted.partition("=")[2]):
            await client.list_tools()


async def test_an_idle_episode_is_given_up_without_a_reward() -> None:
    suite = loaded("simia/retail-v0")
    episodes = HostedEpisodes(suite, most=2, idle=0.1)
    async with kept(episodes):
        left = episodes.get("left")
        await left.call(START, {})
        while len(episodes):
            await asyncio.sleep(0.05)
    assert left.verdict is not None
    assert (left.verdict.valid, left.verdict.reward) == (False, None)


async def test_one_process_is_one_episode_over_standard_input_and_output() -> None:
    suite = loaded("simia/webshop-v0")
    task = suite.tasks[0].id
    words = ["simia/webshop-v0", "--split", "train", "--stdio", "--task", task]
    command, *arguments = [*PROGRAM, *words]
    async with Client(StdioServerParameters(command=command, args=arguments)) as client:
        await call(client, START)
        for made in await expert_calls(suite, task, 0):
            await call(client, *made)
        assert (await verdict(client))["reward"] == 1.0


def test_an_open_address_needs_a_token() -> None:
    env = {name: value for name, value in os.environ.items() if name != "SIMIA_SERVE_TOKEN"}
    words = [*PROGRAM, "simia/retail-v0", "--host", "0.0.0.0"]
    done = subprocess.run(words, capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, "SIMIA_SERVE_TOKEN" in done.stderr) == (2, True)
