"""Plays a rollout in the terminal: what is about to be played, the progress, how it ended and how to continue it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.sources import ModelSources
from simia_gym.cli.options import Typed
from simia_gym.cli.terminal.person import PersonDisplay
from simia_gym.cli.terminal.progress import Display
from simia_gym.cli.terminal.results import fault_lines, results_json, route_lines, spending_lines
from simia_gym.common.formatting import counted
from simia_gym.common.output import Output, tell, to_continue
from simia_gym.domain.registration import resolve_env
from simia_gym.evaluation.estimate import estimate
from simia_gym.policies.load import HUMAN
from simia_gym.rollout.preflight import warnings
from simia_gym.rollout.run import Ended, Run, RunSettings
from simia_gym.rollout.stopping import Terminated
from simia_gym.rollout.store import RecordStore
from simia_gym.rollout.watch import to_play_again
from simia_gym.types import JsonObject

Show = Callable[[Output, Run, Ended, JsonObject, list[str]], None]
"""Prints the results of a finished rollout, with further facts for the JSON value and further lines for people."""


def ready(typed: Typed, env: str, settings: RunSettings, sources: ModelSources, resources: Resources) -> Run:
    """Make a rollout ready to start.

    Args:
        typed: The parsed options.
        env: The environment as typed: an id or a folder.
        settings: How the rollout goes.
        sources: The models.
        resources: The live resources, see `simia_gym.rollout.run.opened`.

    Raises:
        InputError: An option or the environment is wrong, or something that the rollout needs is missing.
    """
    chosen = typed.values(EnvConfig)
    env, domain = resolve_env(env, chosen.pop("domain", None))
    config = EnvConfig(env=env, domain=domain, roles=sources.roles(), **chosen)
    return Run(config, settings, sources, resources)


def play_and_show(output: Output, run: Run, show: Show, *, verbose: bool = False) -> int:
    """Play a rollout and show its results.

    Args:
        output: Where to print.
        run: The rollout.
        show: Prints the results; not called if the run is interrupted.
        verbose: Whether to print the traceback of every bug, not only the first.

    Returns:
        The exit code: 0, 1 (some episodes invalid, or stopped early), 130 (interrupted), 143 (SIGTERM).

    Raises:
        InputError: A model cannot be used, or the record cannot be written.
    """
    if run.plan.torn:
        what = f"the last group has {run.plan.torn} of {run.plan.group} episodes"
        output.say(f"{what}: --episodes is no multiple of --group")
    kind = PersonDisplay if run.settings.policy == HUMAN else Display
    display = kind(output, run.name, models=run.asks_models, verbose=verbose)
    for worry in run.look():
        output.say(f"{worry} Going on all the same.")
    ended = run.play(lambda store: _begin(output, run, display, store), display.done, display.failed)
    return _tell(output, run, ended, show)


def _begin(output: Output, run: Run, display: Display, store: RecordStore) -> AbstractContextManager[None]:
    """Print who plays, warnings and the expected calls of models; then show the progress inside the context."""
    suite, config, settings = run.suite, run.suite.config, run.settings
    user, judge = config.user or suite.domain.user, config.judge
    parts = [run.name, f"policy {run.policy}", f"simulator {suite.simulator_name}"]
    parts += [f"{role} {name}" for role, name in (("user", user), ("judge", judge)) if name]
    parts += [f"{role}'s model {model}" for role, model in suite.model_names.items()]
    output.say(" · ".join([*parts, f"prompt {config.prompt}", f"seed {settings.seed}"]))
    for warning in warnings(suite):
        output.say(f"warning: {warning}")
    if not run.sources.replaying and run.plan.forced is None:  # nobody knows beforehand what is forced
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
        proof = "their results are those of their events; `simia replay` proves the events"
        output.say(f"resuming {store.path}: episodes that are there already: {len(store.finished)} ({proof})")
    trained = run.trained_prompt
    if trained not in (None, config.prompt):
        output.say(f"warning: the policy was trained with --prompt {trained}, and plays with {config.prompt}")
    return display.progress(run.total)


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
    return 1 if summary.all.invalid or ended.stopped else 0


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
    elif ended.stopped == "faults":
        lines.append("--resume plays episodes with faults again: mend their cause first")
    else:
        lines.append("--resume plays episodes with faults again: mend the endpoint first, `simia doctor` looks at it")
    return lines
