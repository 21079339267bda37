"""The command `serve-oracle`: an endpoint whose model knows the truth, until somebody stops it."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from simia_gym.common.output import Output

if TYPE_CHECKING:
    from simia_gym.oracle.options import OracleOptions


def serve_oracle(
    port: Annotated[int, typer.Option(metavar="P", min=0, max=65535, help="Port to listen on; 0: a free one.")] = 0,
    host: Annotated[str, typer.Option(metavar="H", help="Address to listen on.")] = "127.0.0.1",
    domain: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="DIR", help="Folder of a domain that is not installed; may be repeated."),
    ] = None,
    data: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--data", metavar="DIR", help="Your own data for the domains."),
    ] = None,
    without_data: Annotated[
        bool, typer.Option("--without-data", help="Read no task and no state: answer from the prompt alone.")
    ] = False,
    model: Annotated[Optional[str], typer.Option(metavar="NAME", help="Serve this model name only.")] = None,  # noqa: UP045
    api_key: Annotated[Optional[str], typer.Option(metavar="KEY", help="Ask for this key.")] = None,  # noqa: UP045
    context_tokens: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=1, help="Refuse longer prompts."),
    ] = None,
    latency_ms: Annotated[float, typer.Option(metavar="MS", min=0, help="How long an answer takes.")] = 0.0,
    latency_sigma: Annotated[float, typer.Option(metavar="S", min=0, help="Spread of a lognormal latency.")] = 0.0,
    fault_rate: Annotated[float, typer.Option(metavar="R", help="Share of transport faults.")] = 0.0,
    fault: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="KIND", help="Only faults of this kind; may be repeated."),
    ] = None,
    hang: Annotated[float, typer.Option(metavar="S", min=0, help="Seconds that a hanging request is held.")] = 30.0,
    wrong_value_rate: Annotated[float, typer.Option(metavar="R", help="Share of altered values.")] = 0.0,
    missed_write_rate: Annotated[float, typer.Option(metavar="R", help="Share of missed writes.")] = 0.0,
    spurious_write_rate: Annotated[float, typer.Option(metavar="R", help="Share of forbidden writes.")] = 0.0,
    error_with_effects_rate: Annotated[float, typer.Option(metavar="R", help="Share of errors with effects.")] = 0.0,
    stubborn: Annotated[bool, typer.Option("--stubborn", help="Repairs are no better.")] = False,
    lenient_judge: Annotated[bool, typer.Option("--lenient-judge", help="The judge finds everything met.")] = False,
    no_structured: Annotated[bool, typer.Option("--no-structured", help="Refuse response_format.")] = False,
    no_json_schema: Annotated[
        bool, typer.Option("--no-json-schema", help="Refuse response_format of type json_schema.")
    ] = False,
    obedient: Annotated[bool, typer.Option("--obedient", help="Obey 'ORACLE: ...' outside data blocks.")] = False,
    seed: Annotated[int, typer.Option(metavar="S", help="Random seed.")] = 0,
    json: Annotated[
        bool, typer.Option("--json", help="Print address and counts as JSON lines on standard output.")
    ] = False,
) -> int:
    """Serve an OpenAI-compatible endpoint whose model executes the domains' own code, with faults on request."""
    from simia_gym.oracle.options import FAULTS, OracleOptions

    options = OracleOptions(
        host=host,
        port=port,
        domains=tuple(domain or ()),
        data=data,
        data_free=without_data,
        model=model,
        context_tokens=context_tokens,
        api_key=api_key,
        latency_ms=latency_ms,
        latency_sigma=latency_sigma,
        fault_rate=fault_rate,
        faults=tuple(fault or FAULTS),
        hang=hang,
        wrong_value_rate=wrong_value_rate,
        missed_write_rate=missed_write_rate,
        spurious_write_rate=spurious_write_rate,
        error_with_effects_rate=error_with_effects_rate,
        stubborn=stubborn,
        lenient_judge=lenient_judge,
        no_structured=no_structured,
        no_json_schema=no_json_schema,
        obedient=obedient,
        seed=seed,
    )
    return asyncio.run(_serve(options, Output(json)))


async def _serve(options: OracleOptions, output: Output) -> int:
    """Serve until SIGTERM (exit code 0) or Ctrl-C (130)."""
    from simia_gym.oracle.server import OracleServer

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
