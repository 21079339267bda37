"""`simia serve-mcp`: serves an environment to MCP agents until it is stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import nullcontext
from typing import Annotated, Any

import typer

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.sources import ModelSources
from simia_gym.assembly.suite import load_suite
from simia_gym.cli.options import Environment, Typed, with_options
from simia_gym.common.output import Output
from simia_gym.domain.registration import resolve_env
from simia_gym.errors import InputError
from simia_gym.rl.extras import require
from simia_gym.rl.serving.hosted import HostedEpisodes


@with_options(EnvConfig, ModelSources)
def serve_mcp(
    typed: Typed,
    env: Environment,
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Serve one episode over standard input and output instead of HTTP.")
    ] = False,
    host: Annotated[str, typer.Option(metavar="H", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="P", min=0, max=65535, help="Port to listen on; 0: a free one.")] = 0,
    task: Annotated[
        str | None, typer.Option(metavar="ID", help="Task of episodes that name none. Else those of the split in turn.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of episodes that name none.")] = 0,
    max_sessions: Annotated[int, typer.Option(metavar="N", min=1, help="Most episodes at the same time.")] = 256,
    idle: Annotated[
        float, typer.Option(metavar="S", min=0.1, help="Seconds without a call after which an episode is given up.")
    ] = 1800.0,
    json: Annotated[bool, typer.Option("--json", help="Print the address as a line of JSON.")] = False,
) -> int:
    """Serve an environment to MCP agents: one address, or with --stdio one process, is one episode. Extra: mcp.

    Over HTTP agents connect to /mcp/NAME, where NAME is theirs to choose; GET /episodes/NAME gives the verdict. If the
    variable SIMIA_SERVE_TOKEN is set, requests need it as bearer token.

    Returns:
        The exit code: 0 at the end of the input or after SIGTERM, 130 after Ctrl-C.
    """
    require("mcp", "mcp", "uvicorn", place="serving")
    sources = typed.make(ModelSources)
    chosen = typed.values(EnvConfig)
    name, domain = resolve_env(env, chosen.pop("domain", None))
    if chosen.get("history") is None:  # whoever calls tools sees all that they answer
        chosen["history"] = "transcript"
    config = EnvConfig(env=name, domain=domain, roles=sources.roles(), **chosen)
    suite = load_suite(config, sources.resources())
    episodes = HostedEpisodes(suite, most=max_sessions, idle=idle, task=task, seed=seed)
    if stdio:
        return asyncio.run(_over_stdio(episodes))
    token = os.environ.get("SIMIA_SERVE_TOKEN") or None
    if token is None and not _is_loopback(host):
        fix = "Set SIMIA_SERVE_TOKEN, which agents send as bearer token."
        raise InputError(f"{host} can be reached by others, and there is no token", where="--host", fix=fix)
    return asyncio.run(_over_http(episodes, host, port, token, Output(json)))


async def _over_stdio(episodes: HostedEpisodes) -> int:
    from mcp.server.stdio import stdio_server

    from simia_gym.rl.serving.mcp_server import kept, make_server

    server = make_server(episodes)
    async with kept(episodes), stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
    return 0


async def _over_http(episodes: HostedEpisodes, host: str, port: int, token: str | None, output: Output) -> int:
    import uvicorn

    from simia_gym.rl.serving.mcp_server import kept, make_app

    class Server(uvicorn.Server):
        def capture_signals(self) -> Any:
            """Leave signals to the command, which has an exit code for each."""
            return nullcontext()

    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        fix = "Give another --port, or 0 for a free one."
        raise InputError(f"cannot listen on {host}:{port}: {error.strerror}", where="--port", fix=fix) from error
    app = make_app(episodes, host=host, token=token)
    server = Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5))
    stopped: list[int] = []

    def stop(number: int) -> None:
        stopped.append(number)
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop, int(number))
    shown = f"[{host}]" if ":" in host else host
    base = f"http://{shown}:{listening.getsockname()[1]}"
    output.say(f"{episodes.suite.config.env} is served at {base}/mcp/NAME, one episode a NAME.")
    output.say(f"Verdicts: {base}/episodes/NAME")
    output.result({"base_url": base})
    async with kept(episodes):
        await server.serve(sockets=[listening])
    output.say(f"Stopped after {episodes.made} episodes.")
    return 130 if stopped and stopped[0] == signal.SIGINT else 0


def _is_loopback(host: str) -> bool:
    return host in ("127.0.0.1", "localhost", "::1")
