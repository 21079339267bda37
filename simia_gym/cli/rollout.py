"""`simia rollout`: plays one environment, or all."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.sources import ModelSources
from simia_gym.cli.app import EXIT_INPUT, EXIT_INTERRUPTED
from simia_gym.cli.options import AsJson, Typed, Verbose, with_options
from simia_gym.cli.terminal.playing import play_and_show, ready
from simia_gym.cli.terminal.results import environments_table, results_json, results_table, write_picture
from simia_gym.common.output import Output, complain, shown_command, tell, to_continue
from simia_gym.common.writing import check_output
from simia_gym.domain.registration import env_ids
from simia_gym.errors import InputError, SandboxUnavailable, SimiaError
from simia_gym.rollout.run import Ended, Run, RunSettings, opened
from simia_gym.rollout.summary import spending_json
from simia_gym.types import JsonObject

ALL = "all"
OF_ONE_DOMAIN = ("task", "domain", "data", "options", "routes", "grammar", "replay_from")
"""Options whose values are names, tasks or files of one domain."""


@with_options(RunSettings, EnvConfig, ModelSources, omit=("trials", "limit"))
def rollout(
    typed: Typed,
    env: Annotated[
        str,
        typer.Argument(
            metavar="ENV", help=f"An id from `simia list`, the folder of a domain, or {ALL}: each of the list."
        ),
    ],
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table of results as a picture.")] = None,
    verbose: Verbose = False,
    json: AsJson = False,
) -> int:
    """Run a policy in an environment, or in all, and record every episode."""
    if env == ALL:
        return _play_all(typed, svg, verbose=verbose, json=json)
    settings, sources = typed.make(RunSettings), typed.make(ModelSources)

    def show(output: Output, run: Run, ended: Ended, facts: JsonObject, lines: list[str]) -> None:
        title = f"{run.name} · {run.policy} · {run.suite.config.split}"
        shown: list[RenderableType] = [results_table(title, ended.summary), *map(Text, lines)]
        for part in shown:
            output.console.print(part, soft_wrap=isinstance(part, Text))
        # Print the JSON value before anything else can fail, so that scripts always get it.
        output.result(_value(run, ended, facts))
        _draw(output, svg, typed, env, shown)

    with opened(settings, sources, [] if settings.out is None else [settings.out]) as resources:
        run = ready(typed, env, settings, sources, resources)
        _check_picture(svg, [run.path])
        return play_and_show(Output(json), run, show, verbose=verbose)


class _Together(Output):
    """Output of several rollouts, whose JSON values are printed together at the end."""

    def __init__(self, json: bool) -> None:
        super().__init__(json)
        self.results: list[JsonObject] = []

    def result(self, value: Any) -> None:
        """Keep the value of one rollout."""
        self.results.append(value)


def _play_all(typed: Typed, svg: Path | None, *, verbose: bool, json: bool) -> int:
    """Play every registered environment, one after the other, each with a record of its own.

    Returns:
        The highest of the environments' exit codes, 2 for one that cannot be played; one that needs a sandbox, on a
        machine that has none, does not count.

    Raises:
        InputError: An option cannot hold for all environments.
    """
    for option in typed.changed():
        if option.name in OF_ONE_DOMAIN:
            what = "it is for one environment, and all are to be played"
            raise InputError(what, where=option.flag, fix=f"Leave it out, or name an environment instead of {ALL}.")
    settings, sources, output = typed.make(RunSettings), typed.make(ModelSources), _Together(json)
    folder = settings.out
    if folder is None or folder.suffix == ".jsonl" or folder.is_file():
        what = "every environment gets a record of its own"
        raise InputError(what, where="--out", fix="Give --out DIR, the folder of the records.")
    records = {env: folder / f"{env.removeprefix('simia/')}.jsonl" for env in env_ids()}
    _check_picture(svg, records.values())

    def show(output: Output, run: Run, ended: Ended, facts: JsonObject, lines: list[str]) -> None:
        for line in lines:
            output.say(line)
        output.result(_value(run, ended, facts))

    codes = [0]
    with opened(settings, sources, records.values()) as resources:
        for env, record in records.items():
            told = len(output.results)
            try:
                run = ready(typed, env, replace(settings, out=record), sources, resources)
                codes.append(play_and_show(output, run, show, verbose=verbose))
            except SandboxUnavailable as error:
                complain(f"{env}: {error}")
                output.result({"env": env, "unavailable": str(error)})
            except (SimiaError, OSError) as error:
                known = typed.as_typed(error) if isinstance(error, InputError) else error
                complain(f"{env}: {known}")
                if len(output.results) == told:
                    output.result({"env": env, "error": str(known)})
                codes.append(EXIT_INPUT)
            except KeyboardInterrupt:  # before its first episode
                tell(f"interrupted; continue with: {to_continue(folder)}")
                output.result({"env": env, "interrupted": True})
                codes.append(EXIT_INTERRUPTED)
            if codes[-1] >= EXIT_INTERRUPTED:
                break
    split = typed.values(EnvConfig)["split"]
    table = environments_table(f"all environments · {settings.policy} · {split}", output.results)
    output.console.print(table)
    Output(json).result({"folder": str(folder), "environments": output.results})
    _draw(output, svg, typed, ALL, [table])
    return max(codes)


def _value(run: Run, ended: Ended, facts: JsonObject) -> JsonObject:
    """The JSON value of a finished rollout."""
    more = {**facts, **spending_json(ended.summary, ended.spent)}
    return results_json(run.suite.config.env, ended.summary, ended.seconds, ended.path, **more)


def _check_picture(svg: Path | None, records: Collection[Path]) -> None:
    if svg is None:
        return
    if svg.suffix.lower() != ".svg":
        raise InputError("the picture is written as SVG", where=f"--svg {svg}", fix="Give a name that ends in .svg.")
    check_output(svg, "--svg", (b"<svg", b"<?xml"), records)


def _draw(output: Output, svg: Path | None, typed: Typed, env: str, shown: Collection[RenderableType]) -> None:
    if svg is not None:
        write_picture(svg, shown_command(["rollout", env, *typed.words()]), *shown)
        output.say(f"picture: {svg}")
