"""`simia serve-mcp`, `simia serve-openenv` and `simia export-tasks`: environments for agents of other programs."""

from __future__ import annotations

import asyncio
import os
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

import typer

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.sources import ModelSources
from simia_gym.assembly.suite import load_suite
from simia_gym.cli.options import Environment, Typed, with_options
from simia_gym.common.output import Output
from simia_gym.domain.registration import resolve_env
from simia_gym.errors import InputError
from simia_gym.rl.extras import require
from simia_gym.rl.serving.hosted import HostedEpisodes, kept

Host = Annotated[str, typer.Option(metavar="H", help="Address to listen on.")]
Port = Annotated[int, typer.Option(metavar="P", min=0, max=65535, help="Port to listen on; 0: a free one.")]
OneTask = Annotated[
    str | None, typer.Option(metavar="ID", help="Task of episodes that name none. Else those of the split in turn.")
]
Seed = Annotated[int, typer.Option(metavar="S", min=0, help="Seed of episodes that name none.")]
Most = Annotated[int, typer.Option(metavar="N", min=1, help="Most episodes at the same time.")]
Idle = Annotated[
    float, typer.Option(metavar="S", min=0.1, help="Seconds without a call after which an episode is given up.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the address as a line of JSON.")]


@with_options(EnvConfig, ModelSources)
def serve_mcp(
    typed: Typed,
    env: Environment,
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Serve one episode over standard input and output instead of HTTP.")
    ] = False,
    host: Host = "127.0.0.1",
    port: Port = 0,
    task: OneTask = None,
    seed: Seed = 0,
    max_sessions: Most = 256,
    idle: Idle = 1800.0,
    json: AsJson = False,
) -> int:
    """Serve an environment to MCP agents: one address, or with --stdio one process, is one episode. Extra: mcp.

    Over HTTP agents connect to /mcp/NAME, where NAME is theirs to choose; GET /episodes/NAME gives the verdict. If the
    variable SIMIA_SERVE_TOKEN is set, requests need it as bearer token; if SIMIA_VERDICT_TOKEN is, those for verdicts
    need it as X-Verdict-Token.

    Returns:
        The exit code: 0 at the end of the input or after SIGTERM, 130 after Ctrl-C.
    """
    require("mcp", "mcp", "uvicorn", place="serving")
    if int(version("mcp").partition(".")[0]) < 2:
        fix = "Install the extra mcp in an environment of its own; openenv, for one, wants an older mcp."
        raise InputError(f"mcp is {version('mcp')}, and 2.3 or later is needed", where="serving", fix=fix)
    episodes = _episodes(typed, env, max_sessions, idle, task, seed)
    if stdio:
        return asyncio.run(_over_stdio(episodes))
    from simia_gym.rl.serving import web
    from simia_gym.rl.serving.mcp_server import make_app

    verdict_token = os.environ.get("SIMIA_VERDICT_TOKEN") or None
    app = make_app(episodes, host=host, token=web.token_for(host), verdict_token=verdict_token)
    with web.listen(host, port) as listening:
        base = web.base_url(listening)
        output = Output(json)
        output.say(f"{episodes.suite.config.env} is served at {base}/mcp/NAME, one episode a NAME.")
        output.say(f"Verdicts: {base}/episodes/NAME")
        output.result({"base_url": base})
        code = asyncio.run(web.serve(app, episodes, listening))
        output.say(f"Stopped after {episodes.made} episodes.")
    return code


@with_options(EnvConfig, ModelSources)
def serve_openenv(
    typed: Typed,
    env: Environment,
    host: Host = "127.0.0.1",
    port: Port = 0,
    task: OneTask = None,
    seed: Seed = 0,
    max_sessions: Most = 256,
    idle: Idle = 1800.0,
    json: AsJson = False,
) -> int:
    """Serve an environment to OpenEnv's clients: one session is one player. Extra: openenv.

    A reset takes seed, episode_id, task, index, split and group. If the variable SIMIA_SERVE_TOKEN is set,
    requests need it as bearer token.

    Returns:
        The exit code: 0 after SIGTERM, 130 after Ctrl-C.
    """
    require("openenv", "openenv", "uvicorn", place="serving")
    episodes = _episodes(typed, env, max_sessions, idle, task, seed)
    from simia_gym.rl.serving import web
    from simia_gym.rl.serving.openenv_server import make_app

    app = make_app(episodes, token=web.token_for(host))
    with web.listen(host, port) as listening:
        base = web.base_url(listening)
        output = Output(json)
        output.say(f"{episodes.suite.config.env} is served at {base} to OpenEnv's clients.")
        output.result({"base_url": base})
        code = asyncio.run(web.serve(app, episodes, listening))
        output.say(f"Stopped after {episodes.made} episodes.")
    return code


@with_options(EnvConfig, omit=[name for name in EnvConfig.fields() if name not in ("split", "prompt")])
def export_tasks(
    typed: Typed,
    env: Environment,
    out: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write.")],
    format: Annotated[
        Literal["harbor"], typer.Option("--format", help="harbor: task folders whose agents play over MCP.")
    ] = "harbor",
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Only the first N tasks.")] = None,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of the episodes.")] = 0,
    image: Annotated[
        str | None, typer.Option(metavar="NAME", help="Image that serves them. Default: simia-gym:VERSION.")
    ] = None,
    json: AsJson = False,
) -> int:
    """Write the tasks of an environment as task folders of another program.

    Raises:
        InputError: There is no such environment, or the folder holds something.
    """
    from simia_gym.rl.serving.harbor import default_image, write_harbor

    chosen = typed.values(EnvConfig)
    suite = load_suite(EnvConfig(env=resolve_env(env, None)[0], history="transcript", **chosen))
    tasks = [suite.tasks[place] for place in range(min(len(suite.tasks), limit or len(suite.tasks)))]
    words = [word for name, value in chosen.items() for word in (f"--{name}", str(value))]
    write_harbor(out, suite.config.env, tasks, words, seed, image or default_image())
    output = Output(json)
    output.say(f"{out}: {len(tasks)} tasks")
    output.result({"folder": str(out), "tasks": len(tasks)})
    return 0


def _episodes(typed: Typed, env: str, max_sessions: int, idle: float, task: str | None, seed: int) -> HostedEpisodes:
    sources = typed.make(ModelSources)
    chosen = typed.values(EnvConfig)
    name, domain = resolve_env(env, chosen.pop("domain", None))
    if chosen.get("history") is None:  # whoever calls tools sees all that they answer
        chosen["history"] = "transcript"
    config = EnvConfig(env=name, domain=domain, roles=sources.roles(), **chosen)
    suite = load_suite(config, sources.resources())
    return HostedEpisodes(suite, most=max_sessions, idle=idle, task=task, seed=seed)


async def _over_stdio(episodes: HostedEpisodes) -> int:
    from mcp.server.stdio import stdio_server

    from simia_gym.rl.serving.mcp_server import make_server

    server = make_server(episodes)
    async with kept(episodes), stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
    return 0
