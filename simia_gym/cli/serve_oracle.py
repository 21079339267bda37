"""`simia serve-oracle`: serves the oracle until it is stopped by a signal."""

from __future__ import annotations

import asyncio
import signal
from typing import Annotated

import typer

from simia_gym.cli.options import Typed, with_options
from simia_gym.common.output import Output
from simia_gym.oracle.options import OracleOptions
from simia_gym.oracle.server import OracleServer


@with_options(OracleOptions)
def serve_oracle(
    typed: Typed,
    json: Annotated[bool, typer.Option("--json", help="Print address and counts as JSON lines.")] = False,
) -> int:
    """Serve an OpenAI-compatible endpoint whose model executes the domains' own code, with faults on request.

    Returns:
        The exit code: 0 after SIGTERM, 130 after Ctrl-C.
    """
    return asyncio.run(_serve(typed.make(OracleOptions), Output(json)))


async def _serve(options: OracleOptions, output: Output) -> int:
    stopped: asyncio.Queue[int] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.put_nowait, int(number))
    async with OracleServer(options) as server:
        name = options.model or "oracle"
        output.say(f"The oracle answers at {server.base_url}")
        output.say(f"Try: simia rollout ENV --simulator llm --model {name} --base-url {server.base_url}")
        output.result({"base_url": server.base_url})
        asked_to_stop = await stopped.get()
    counts = server.counts
    output.say(f"Stopped after {sum(counts['requests'].values())} answers.")
    output.result(counts)
    return 130 if asked_to_stop == signal.SIGINT else 0
