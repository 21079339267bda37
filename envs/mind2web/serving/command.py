"""`simia serve-site`: shows a site to a person until they leave it."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Annotated

import typer

from simia_gym.common.output import Output
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_folders
from simia_gym.envs.mind2web.serving.visitor import Visitor, freely, on_task
from simia_gym.envs.mind2web.serving.web import TASK_PATH, SiteServer
from simia_gym.envs.mind2web.sites.loading import load_site, sites
from simia_gym.errors import InputError, did_you_mean
from simia_gym.record.explain import report
from simia_gym.record.verdict import to_json
from simia_gym.types import Task


def serve_site(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A site of Mind2Web, or the file of a site.")],
    task: Annotated[str | None, typer.Option(metavar="ID", help="Play this task, and be judged in the end.")] = None,
    theme: Annotated[
        str | None, typer.Option(metavar="T", help="Draw pages in this theme. Else that of the task, or plain.")
    ] = None,
    port: Annotated[int, typer.Option(metavar="P", min=0, max=65535, help="Port to listen on; 0: a free one.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print address and verdict as JSON lines.")] = False,
) -> int:
    """Show a site of Mind2Web at 127.0.0.1, so that a person can play it; on leaving, print the verdict of the task.

    Returns:
        The exit code: 0 after the end of the visit or SIGTERM, 130 after Ctrl-C.

    Raises:
        InputError: There is no such site, task or theme, or the port cannot be used.
    """
    own = Path(name) if name not in sites() and Path(name).suffix == ".yaml" else None
    if own is None and name not in sites():
        fix = f"{did_you_mean(name, sites())}Name one of: {', '.join(sites())}; or the file of a site."
        raise InputError(f"there is no site {name!r}", where="NAME", fix=fix)
    if task is None:
        site = sites()[name] if own is None else load_site(own)
        return asyncio.run(_serve(freely(site, theme), port, Output(json), None))
    domain = load_domain(domain_folders()["simia/mind2web-v0"], data=own)
    found = domain.find_task(task)
    visitor = on_task(domain, found, name if own is None else None, theme)
    return asyncio.run(_serve(visitor, port, Output(json), (domain, found)))


async def _serve(visitor: Visitor, port: int, output: Output, played: tuple[Domain, Task] | None) -> int:
    left: asyncio.Queue[int | str] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, left.put_nowait, int(number))

    def ended(said: str) -> None:
        loop.call_soon_threadsafe(left.put_nowait, said)

    with SiteServer(visitor, port, None if played is None else ended) as server:
        output.say(f"{visitor.site.title} is open at {server.url}{visitor.site.start}")
        if played is not None:
            output.say(f"Your task: {visitor.request}")
            output.say(f"End the visit at {server.url}{TASK_PATH}, or here with Ctrl-C.")
        output.result({"base_url": server.url, "request": visitor.request})
        how = await left.get()
    if played is not None:
        verdict = await visitor.verdict(*played, how if isinstance(how, str) else None)
        output.say(report(verdict))
        output.result(to_json(verdict))
    return 130 if how == signal.SIGINT else 0
