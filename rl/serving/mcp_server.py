"""Episodes as an MCP server: over standard input and output, or over HTTP with one address an episode.

Written for the official SDK, `mcp` 2.x. Its newest protocol has no sessions over HTTP, so an episode is what its
address names: ``/mcp/NAME``. The low-level server is used, because the high-level one drops arguments that a tool
does not know and hides the texts of errors.
"""

from __future__ import annotations

import hmac
import json
from typing import Any

from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextContent,
    TextResourceContents,
    Tool,
)
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from simia_gym.actions.signatures import without_keywords
from simia_gym.errors import Fault, InputError
from simia_gym.rl.serving.hosted import HostedEpisodes, result
from simia_gym.rl.serving.tool_episode import ToolEpisode
from simia_gym.rl.serving.web import HEALTH, guarded
from simia_gym.version import __version__

VERDICT = "simia://verdict"
_STDIO = "stdio"
Context = ServerRequestContext[Any, Any]


def make_server(episodes: HostedEpisodes) -> Server[Any]:
    """The MCP server of these episodes."""

    def episode_of(context: Context) -> ToolEpisode:
        request = context.request
        try:
            if not isinstance(request, Request):
                return episodes.get(_STDIO)
            return episodes.get(request.path_params["name"], dict(request.query_params))
        except InputError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error

    async def list_tools(context: Context, _: PaginatedRequestParams | None) -> ListToolsResult:
        functions = [without_keywords(tool, "x-")["function"] for tool in episode_of(context).tools]
        return ListToolsResult(
            tools=[
                Tool(name=f["name"], description=f.get("description"), input_schema=f["parameters"]) for f in functions
            ]
        )

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        try:
            said = await episode_of(context).call(params.name, params.arguments or {})
        except Fault as fault:
            texts: tuple[str, ...] = (f"The environment failed, and the episode is over without a reward: {fault}",)
            return CallToolResult(content=_content(texts), is_error=True)
        return CallToolResult(content=_content(said.texts), is_error=said.error)

    async def list_resources(context: Context, _: PaginatedRequestParams | None) -> ListResourcesResult:
        about = "Reward and verdict of the episode, as JSON."
        there = episode_of(context).verdict is not None
        listed = [Resource(uri=VERDICT, name="verdict", description=about, mime_type="application/json")]
        return ListResourcesResult(resources=listed if there else [])

    async def read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        episode = episode_of(context)
        if str(params.uri) != VERDICT or episode.verdict is None:
            why = "there is a verdict after the end of the episode" if str(params.uri) == VERDICT else "unknown"
            raise MCPError(INVALID_PARAMS, f"{params.uri}: {why}")
        text = json.dumps(result(episode), ensure_ascii=False)
        return ReadResourceResult(contents=[TextResourceContents(uri=VERDICT, mime_type="application/json", text=text)])

    return Server(
        "simia_gym",
        version=__version__,
        instructions="Call start_conversation first: it gives the rules and the task. All you do is a tool call.",
        get_tool_input_schema=lambda name: None,  # else the SDK lists all tools before every call
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


def make_app(
    episodes: HostedEpisodes, *, host: str, token: str | None = None, verdict_token: str | None = None
) -> ASGIApp:
    """The web application: ``/mcp/NAME`` for agents, ``/episodes/NAME`` for who started them, and ``/health``.

    Args:
        episodes: The episodes.
        host: The address that is listened on; on the loopback address requests of other sites' pages are refused.
        token: The token that all but ``/health`` ask for, as ``Authorization: Bearer TOKEN``.
        verdict_token: The token that ``/episodes/NAME`` asks for beside it, as ``X-Verdict-Token``, where agents are
            not to end or see their episodes themselves.
    """

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "env": episodes.suite.config.env, "episodes": len(episodes)})

    async def episode(request: Request) -> Response:
        name = request.path_params["name"]
        given = request.headers.get("x-verdict-token", "").encode()
        if verdict_token is not None and not hmac.compare_digest(given, verdict_token.encode()):
            return JSONResponse({"error": "the verdict's token is missing or wrong"}, status_code=401)
        found = await episodes.remove(name) if request.method == "DELETE" else episodes.find(name)
        if found is None:
            return JSONResponse({"error": f"there is no episode {name!r}"}, status_code=404)
        if request.method == "POST" and isinstance(found, ToolEpisode):
            await found.close()
        return JSONResponse(result(found) if isinstance(found, ToolEpisode) else found)

    routes = [
        Route(HEALTH, health),
        Route("/episodes/{name}", episode, methods=["GET", "DELETE"]),
        Route("/episodes/{name}/end", episode, methods=["POST"]),
    ]
    app = make_server(episodes).streamable_http_app(
        streamable_http_path="/mcp/{name}",
        json_response=True,
        stateless_http=True,
        host=host,
        custom_starlette_routes=routes,
    )
    return guarded(app, token)


def _content(texts: tuple[str, ...]) -> list[Any]:
    return [TextContent(type="text", text=text) for text in texts]
