"""CPU per step of served environments, beside the framework's own echo server plus a bare step, in one run.

    python benchmarks/serving_speed.py openenv --steps 400 --out benchmarks/results/serving_speed_openenv.json

Run it once where the extra mcp is installed (``mcp``) and once where openenv is. Client and server share this process
and one loop, and both servers run under uvicorn as `simia` runs it, so that the difference is what our side adds to a
step. Rounds alternate, and the smallest of each kind counts. A step is a read of one user of `simia/retail-v0`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from simia_gym.rl.serving import web
from simia_gym.rl.serving.hosted import HostedEpisodes
from simia_gym.types import Calls, ToolCall
from tests.serving.native import made

RETAIL = "simia/retail-v0"
NAME, ARGUMENTS = "get_user_details", {"user_id": "nobody_here_1234"}
Step = Callable[[], Awaitable[Any]]


def echo_openenv() -> Any:
    """OpenEnv's tool server, with a tool that gives back what it gets."""
    from fastmcp import FastMCP
    from openenv.core.env_server import (
        CallToolAction,
        CallToolObservation,
        MCPEnvironment,
        Observation,
        State,
        create_app,
    )

    class Echo(MCPEnvironment):  # type: ignore[misc]
        def __init__(self) -> None:
            server = FastMCP("echo")

            def get_user_details(user_id: str) -> str:
                return user_id

            server.tool(get_user_details)

            super().__init__(server)

        def reset(self, seed: Any = None, episode_id: Any = None, **_: Any) -> Any:
            return Observation()

        def _step_impl(self, action: Any, timeout_s: Any = None, **_: Any) -> Any:
            return Observation()

        @property
        def state(self) -> Any:
            return State()

    return create_app(Echo, CallToolAction, CallToolObservation, env_name="echo")


def echo_mcp() -> Any:
    """The SDK's low-level server, with a tool that gives back what it gets."""
    from mcp.server import Server
    from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

    async def list_tools(*_: Any) -> Any:
        return ListToolsResult(tools=[Tool(name=NAME, input_schema={"type": "object"})])

    async def call_tool(_: Any, params: Any) -> Any:
        return CallToolResult(content=[TextContent(type="text", text=str(params.arguments))])

    server: Any = Server("echo", on_list_tools=list_tools, on_call_tool=call_tool)
    return server.streamable_http_app(streamable_http_path="/mcp/{name}", json_response=True, stateless_http=True)


@asynccontextmanager
async def running(app: Any, episodes: HostedEpisodes) -> AsyncIterator[str]:
    with web.listen("127.0.0.1", 0) as listening:
        async with web.running(app, episodes, listening):
            yield web.base_url(listening)


async def cpu_us(step: Step, steps: int) -> float:
    """Microseconds of processor time a step."""
    before = time.process_time()
    for _ in range(steps):
        await step()
    return (time.process_time() - before) / steps * 1e6


async def measure(kind: str, steps: int, rounds: int) -> dict[str, Any]:
    """The smallest figure of each kind."""
    suite = made(RETAIL).suite
    module: Any = __import__(f"tests.serving.over_{kind}", fromlist=["app"])
    suite.max_turns = 10**6
    episode = suite.episode()
    await episode.reset(suite.tasks[0], seed=0)
    action = suite.domain.grammar.render(Calls((ToolCall(NAME, ARGUMENTS),)))
    async with AsyncExitStack() as stack:
        echo_base = await stack.enter_async_context(
            running({"mcp": echo_mcp, "openenv": echo_openenv}[kind](), HostedEpisodes(suite, most=8, idle=3600.0))
        )
        episodes = HostedEpisodes(suite, most=8, idle=3600.0)
        base = await stack.enter_async_context(running(module.app(episodes), episodes))
        echo = await stack.enter_async_context(module.session(echo_base, "a"))
        ours = await stack.enter_async_context(module.session(base, "a"))
        if kind == "openenv":
            await echo.client.reset()
        await ours.start()

        async def over(client: Any) -> None:
            if kind == "mcp":
                await client.call_tool(NAME, ARGUMENTS)
            else:
                await client.step({"type": "call_tool", "tool_name": NAME, "arguments": ARGUMENTS})

        kinds: dict[str, Step] = {
            "echo": lambda: over(echo.client),
            "bare_step": lambda: episode.step(action),
            "ours": lambda: over(ours.client),
        }
        found: dict[str, list[float]] = {name: [] for name in kinds}
        for _ in range(rounds):
            for name, step in kinds.items():
                found[name].append(await cpu_us(step, steps))
    least = {name: round(min(values), 1) for name, values in found.items()}
    ratio = least["ours"] / (least["echo"] + least["bare_step"])
    return {"kind": kind, "cpu_us_per_step": least, "ours_by_echo_plus_bare_step": round(ratio, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["mcp", "openenv"])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found = asyncio.run(measure(options.kind, options.steps, options.rounds))
    found |= {"steps": options.steps, "rounds": options.rounds, "load_at_the_end": os.getloadavg()[0]}
    text = json.dumps(found, indent=2)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
