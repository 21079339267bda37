#!/usr/bin/env bash
# A low-level MCP server of the Python SDK runs its tools/list handler before each tools/call with arguments over HTTP: it wants the
# tool's input schema, to check headers. A list that is costly to make is so paid for with each call. The high-level server
# has a look-up of its own; a low-level one needs `get_tool_input_schema`. In memory nothing is listed.
# Exit code 0: it still does.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet mcp==2.3.0 uvicorn==0.51.0
"$scratch/venv/bin/python" - <<'PYTHON'
import asyncio
import socket
from importlib.metadata import version

import uvicorn
from mcp import Client
from mcp.server import Server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

CALLS = 5


async def played(over_http, **options):
    listed = 0

    async def list_tools(context, params):
        nonlocal listed
        listed += 1
        return ListToolsResult(tools=[Tool(name="count", input_schema={"type": "object", "properties": {"by": {"type": "integer"}}})])

    async def call_tool(context, params):
        return CallToolResult(content=[TextContent(type="text", text="one more")])

    server = Server("counter", on_list_tools=list_tools, on_call_tool=call_tool, **options)

    async def play(where):
        async with Client(where) as client:
            await client.list_tools()
            before = listed
            for _ in range(CALLS):
                await client.call_tool("count", {"by": 1})
            return listed - before

    if not over_http:
        return await play(server)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    web = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), port=port, log_level="warning"))
    running = asyncio.create_task(web.serve())
    while not web.started:
        await asyncio.sleep(0.05)
    try:
        return await play(f"http://127.0.0.1:{port}/mcp")
    finally:
        web.should_exit = True
        await running


async def main():
    print(f"mcp {version('mcp')}: tools/list handled during {CALLS} calls of tools, after the client's own list")
    found = {
        "over HTTP": await played(True),
        "over HTTP, with get_tool_input_schema": await played(True, get_tool_input_schema=lambda name: None),
        "in memory": await played(False),
    }
    for name, listed in found.items():
        print(f"{name}: {listed}")
    return list(found.values()) != [CALLS, 0, 0]


raise SystemExit(asyncio.run(main()))
PYTHON
