"""`simia rollout`, and the part of `simia evaluate` that plays."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import RenderableType
from rich.text import Text

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.sources import ModelSources
from simia_gym.cli.options import AsJson, Environment, Typed, Verbose, with_options
from simia_gym.cli.terminal.progress import Display
from simia_gym.cli.terminal.results import (
    fault_lines,
    results_json,
    results_table,
    route_lines,
    spending_lines,
    write_picture,
)
from simia_gym.common.formatting import counted
from simia_gym.common.output import Output, tell, to_continue
from simia_gym.common.writing import check_output
from simia_gym.domain.registration import resolve_env
from simia_gym.errors import InputError
from simia_gym.evaluation.estimate import estimate
from simia_gym.rollout.preflight import warnings
from simia_gym.rollout.run import Ended, Run, RunSettings, prepared
from simia_gym.rollout.stopping import Terminated
from simia_gym.rollout.store import RecordStore
from simia_gym.rollout.summary import spending_json
from simia_gym.rollout.watch import to_play_again
from simia_gym.types import JsonObject

Show = Callable[[Output, Run, Ended, JsonObject, list[str]], None]
"""Prints the results of a finished rollout, with further facts for the JSON value and further lines for people."""


@with_options(RunSettings, EnvConfig, ModelSources, omit=("trials",))
def rollout(
    typed: Typed,
    env: Environment,
    svg: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Write the table of results as a picture."),
    ] = None,
    verbose: Verbose = False,
    json: AsJson = False,
) -> int:
    """Run a policy in an environment and record every episode."""

    def show(output: Output, run: Run, ended: Ended, facts: JsonObject, lines: list[str]) -> None:
        title = f"{run.name} · {run.policy} · {run.suite.config.split}"
        shown: list[RenderableType] = [results_table(title, ended.summary), *map(Text, lines)]
        for part in shown:
            output.console.print(part, soft_wrap=isinstance(part, Text))
        # Print the JSON value before anything else can fail, so that scripts always get it.
        more = {**facts, **spending_json(ended.summary, ended.spent)}
        output.result(results_json(run.suite.config.env, ended.summary, ended.seconds, ended.path, **more))
        if svg is not None:
            write_picture(svg, shlex.join(["simia", "rollout", env, *typed.words()]), *shown)
            output.say(f"picture: {svg}")

    return play_and_show(typed, env, show, json=json, picture=svg, verbose=verbose)


def play_and_show(
    typed: Typed, env: str, show: Show, *, json: bool, picture: Path | None = None, verbose: bool = False
) -> int:
    """Play a rollout and show its results.

    Args:
        typed: The parsed options.
        env: The environment as typed: an id or a folder.
        show: Prints the results; not called if the run is interrupted.
        json: Whether to print one JSON value for scripts.
        picture: File that ``show`` will write, if any.
        verbose: Whether to print the traceback of every bug, not only the first.

    Returns:
        The exit code: 0, 1 (some episodes invalid, or stopped early), 130 (interrupted), 143 (SIGTERM).

    Raises:
        InputError: An option or the environment is wrong.
    """
    output = Output(json)
    settings, sources = typed.make(RunSettings), typed.make(ModelSources)
    chosen = typed.values(EnvConfig)
    env, domain = resolve_env(env, chosen.pop("domain", None))
    config = EnvConfig(env=env, domain=domain, roles=sources.roles(), **chosen)
    with prepared(config, settings, sources) as run:
        if run.plan.torn:
            what = f"the last group has {run.plan.torn} of {run.plan.group} episodes"
            output.say(f"{what}: --episodes is no multiple of --group")
        if picture is not None:
            if picture.suffix.lower() != ".svg":
                fix = "Give a name that ends in .svg."
                raise InputError("the picture is written as SVG", where=f"--svg {picture}", fix=fix)
            check_output(picture, "--svg", (b"<svg", b"<?xml"), [run.path])
        display = Display(output, run.name, models=run.asks_models, verbose=verbose)
        for worry in run.look():
            output.say(f"{worry} Going on all the same.")
        ended = run.play(display, lambda store: _announce(output, run, store))
        return _tell(output, run, ended, show)


def _announce(output: Output, run: Run, store: RecordStore) -> None:
    """Print what is about to be played: one line on who plays, warnings, the expected calls of models."""
    suite, config, settings = run.suite, run.suite.config, run.settings
    user, judge = config.user or suite.domain.user, config.judge
    parts = [run.name, f"policy {run.policy}", f"simulator {suite.simulator_name}"]
    parts += [f"{role} {name}" for role, name in (("user", user), ("judge", judge)) if name]
    parts += [f"{role}'s model {model}" for role, model in suite.model_names.items()]
    output.say(" · ".join([*parts, f"prompt {config.prompt}", f"seed {settings.seed}"]))
    for warning in warnings(suite):
        output.say(f"warning: {warning}")
    if not run.sources.replaying:
        expected = estimate(
            suite,
            run.total - len(store.finished),
            group=settings.group,
            player=settings.policy,
            policy=run.options if run.places else None,
        )
        if expected is not None:
            output.say(str(expected))
    if store.finished:
        output.say(f"resuming {store.path}: episodes that are there already: {len(store.finished)}")
    trained = run.trained_prompt
    if trained not in (None, config.prompt):
        output.say(f"warning: the policy was trained with --prompt {trained}, and plays with {config.prompt}")


def _tell(output: Output, run: Run, ended: Ended, show: Show) -> int:
    """Print how the rollout ended and how to continue it; return the exit code."""
    env, summary, path, total = run.suite.config.env, ended.summary, ended.path, ended.total
    facts: JsonObject = {"policy": run.policy, "split": run.suite.config.split, "prompt": run.suite.config.prompt}
    again = to_continue(path)
    saved = f"{summary.all.episodes} of {total} episodes are saved in {path}"
    if isinstance(ended.error, KeyboardInterrupt):
        output.say(f"interrupted: {saved}")
        tell(f"interrupted; continue with: {again}")
        output.result(results_json(env, summary, ended.seconds, path, interrupted=True, **facts))
        return 143 if isinstance(ended.error, Terminated) else 130
    if ended.error is not None:
        if summary.all.episodes:
            output.say(saved)
            output.result(results_json(env, summary, ended.seconds, path, error=str(ended.error), **facts))
        raise ended.error
    calls = None if summary.reused else ended.spent.get("simulator", {}).get("calls")
    stateless = bool(run.suite.model_names) and run.suite.strategy == "reference"
    lines = [*fault_lines(summary), *route_lines(summary, asked=calls, stateless=stateless)]
    lines += spending_lines(ended.spent, resumed=summary.reused > 0)
    if ended.stopped is not None:
        facts["stopped"] = ended.stopped
        lines.append(f"stopped: {ended.message}; {summary.all.valid} of {total} episodes are done")
    lines += _to_go_on(run, ended, again)
    show(output, run, ended, facts, [*lines, f"record: {path}"])
    return 1 if summary.invalid or ended.stopped else 0


def _to_go_on(run: Run, ended: Ended, command: str) -> list[str]:
    """Lines on how to play missing episodes, and faulty episodes whose fault may be transient."""
    again = to_play_again(ended.summary)
    if ended.stopped is None:
        return [f"to play {counted(again, 'episode')} with such faults again: {command}"] if again else []
    if ended.stopped == "bug":
        return ["mend the policy and begin a new record: a record holds episodes of one version of a policy"]
    lines = [f"continue with: {command}"]
    if ended.stopped == "budget":
        kept = (
            "" if run.sources.record_cassette else "; --record-cassette keeps answers, so that none is paid for twice"
        )
        lines.append(f"--resume plays episodes with faults again, and the budget counts anew{kept}")
    else:
        lines.append("--resume plays episodes with faults again: mend the endpoint first, `simia doctor` looks at it")
    return lines
