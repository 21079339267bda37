"""`simia synth`: from traces to checked training trajectories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from simia_gym.assembly.roles import RoleModels
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.sources import ModelSources
from simia_gym.assembly.suite import domain_of, load_suite
from simia_gym.cli.app import EXIT_INTERRUPTED
from simia_gym.cli.options import AsJson, Environment, Typed, with_options
from simia_gym.cli.terminal.progress import counting
from simia_gym.common.json_encoding import decode
from simia_gym.common.output import Output, tell
from simia_gym.common.writing import check_output
from simia_gym.domain.registration import CUSTOM, resolve_env
from simia_gym.errors import InputError
from simia_gym.llm.accounts import Mark, accounts
from simia_gym.record.records import Record, read_records
from simia_gym.rollout.run import Run, RunSettings, opened
from simia_gym.synth.domains import bare_subject, is_bare, subject_of_domain
from simia_gym.synth.drafts import Attempt
from simia_gym.synth.mix import described, mix, read_part
from simia_gym.synth.pipeline import Made, Synthesis
from simia_gym.synth.played import TasksOfKind
from simia_gym.synth.postprocess import KEPT
from simia_gym.synth.report import write_report
from simia_gym.synth.seeds import DroppedSeed
from simia_gym.synth.settings import SynthSettings
from simia_gym.synth.single import TEACHER
from simia_gym.types import JsonObject

synth = typer.Typer(
    name="synth",
    help="Make training trajectories from a few traces.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_GENERATED = 2_000_000_000
"""So many generated tasks can be played: all."""
_OMIT_RUN = (
    "task",
    "limit",
    "episodes",
    "group",
    "trials",
    "seed",
    "concurrency",
    "out",
    "resume",
    "ray",
    "ray_address",
    "ray_workers",
)
_OMIT_ENV = ("split", "generated", "without_dev", "replay_from")
_OF_EPISODES = (
    "simulator",
    "user",
    "history",
    "max_turns",
    "strategy",
    "judge",
    "votes",
    "feedback",
    "routes",
    "pins",
    "render",
    "shadow",
    "shadow_faults",
    "dialect",
)
"""Settings of environments that decide nothing where no episode is played."""
_OMIT_ALL = (*_OMIT_RUN, *_OMIT_ENV)
Seeds = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Traces in any format of `simia export`, or records.")
]
Format = Annotated[
    str | None,
    typer.Option("--seed-format", metavar="NAME", help="Format of the traces. Else what fits their content."),
]


@synth.command("filter")
@with_options(SynthSettings, EnvConfig, ModelSources, omit=_OMIT_ALL)
def filter_seeds(typed: Typed, env: Environment, files: Seeds, seed_format: Format = None, json: AsJson = False) -> int:
    """Read traces and keep those that are good enough to begin from; the others with their reasons."""
    output = Output(json)
    with _begun(typed, env) as synthesis:
        seeds, dropped = synthesis.filter(files, seed_format)
    _say_seeds(output, len(seeds), dropped)
    output.result({"seeds": len(seeds), "dropped": [item.to_json() for item in dropped]})
    return 0


@synth.command("prompt")
@with_options(SynthSettings, EnvConfig, ModelSources, omit=_OMIT_ALL)
def show_prompt(
    typed: Typed,
    env: Environment,
    show: Annotated[int, typer.Option(metavar="N", min=0, help="The number of the attempt.")] = 0,
    kind: Annotated[str, typer.Option(metavar="KIND", help="The kind of task.")] = "",
    json: AsJson = False,
) -> int:
    """Print the prompt of one attempt, as the teacher gets it."""
    output = Output(json)
    with _begun(typed, env) as synthesis:
        prompt, seed, vary = synthesis.teacher().prompt(Attempt(f"single-{kind or 'any'}-{show}", show, kind, show))
    messages = decode(prompt.messages_json())
    for message in messages:
        output.say(f"--- {message['role']}\n{message['content']}\n")
    output.result({"messages": messages, "seed": seed.id, "vary": vary})
    return 0


@synth.command()
@with_options(SynthSettings, RunSettings, EnvConfig, ModelSources, omit=_OMIT_ALL)
def simulate(typed: Typed, env: Environment, json: AsJson = False) -> int:
    """Write or play trajectories until each kind has its target; what is there already is kept."""
    return _simulate(typed, env, None, None, json)


@synth.command()
@with_options(SynthSettings, EnvConfig, ModelSources, omit=_OMIT_ALL)
def postprocess(typed: Typed, env: Environment, json: AsJson = False) -> int:
    """Check the drafts that are there again, under the settings of now."""
    before = accounts().mark()
    with _begun(typed, env) as synthesis:
        made = synthesis.postprocess()
    return _tell(Output(json), synthesis, made, before)


@synth.command()
@with_options(SynthSettings, RunSettings, EnvConfig, ModelSources, omit=_OMIT_ALL)
def trajectories(
    typed: Typed,
    env: Environment,
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE...", help="Traces; none needed to play an environment's tasks.")
    ] = None,
    seed_format: Format = None,
    json: AsJson = False,
) -> int:
    """All stages: filter traces, make trajectories, check them, report."""
    return _simulate(typed, env, files or [], seed_format, json)


def _say_seeds(output: Output, kept: int, dropped: Sequence[DroppedSeed]) -> None:
    """Say where each trace stands that is no seed, and why; and how many there are."""
    for item in dropped:
        output.say(f"{item.where}: {item.findings[0].code}: {item.findings[0].what}")
    output.say(f"{kept} seeds of {kept + len(dropped)} traces")


@synth.command("mix")
def mix_folders(
    folders: Annotated[
        list[str],
        typer.Argument(metavar="FOLDER[=WEIGHT]...", help="Folders of syntheses, each with its share of the file (1)."),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write.")],
    size: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Trajectories in it. Else as many as there are with these weights."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Random seed.")] = 0,
    json: AsJson = False,
) -> int:
    """Mix the trajectories of several syntheses with weights into one training file; none is taken twice."""
    output = Output(json)
    parts = [read_part(typed) for typed in folders]
    check_output(out, "--out", (b"{",), ())
    mixed = mix(parts, out, size=size, seed=seed)
    output.say(f"{out}: {described(mixed)}")
    output.result({"file": str(out), **asdict(mixed)})
    return 0


@contextmanager
def _begun(typed: Typed, env: str, *, writes: bool = False) -> Iterator[Synthesis]:
    """A synthesis from the options of a command; at the end its cassette is closed.

    Args:
        typed: The options.
        env: The environment as typed: an id, or a folder.
        writes: Whether trajectories are made, so that the teacher's model is needed.
    """
    settings, sources = typed.make(SynthSettings), typed.make(ModelSources)
    playing = typed.make(RunSettings)
    if settings.way == "single":
        _refuse_playing(typed)
    with opened(playing, sources, []) as resources:
        chosen, folder = typed.values(EnvConfig), Path(env)
        if folder.is_dir() and is_bare(folder):
            if settings.way == "played":
                fix = "Give --way single, or write a domain: simia new-domain."
                raise InputError("a folder with tools and a policy alone has no tasks to play", where="--way", fix=fix)
            if any(option.name == "prompt" for option in typed.changed()):
                what = "a folder with tools and a policy alone has one system message"
                raise InputError(what, where="--prompt", fix="Leave it out.")
            config = EnvConfig(env=CUSTOM, domain=folder, roles=sources.roles(), model=chosen.get("model"))
            subject = bare_subject(folder)
        else:
            name, domain = resolve_env(env, chosen.pop("domain", None))
            config = EnvConfig(env=name, domain=domain, roles=sources.roles(), **chosen)
            subject = subject_of_domain(name, domain_of(config), config.prompt)
        models = RoleModels(config, resources, (TEACHER,))
        judge = models.get("judge") if settings.check == "model" else None
        if settings.way == "single":
            teacher = models.get(TEACHER) if writes else None
            yield Synthesis(subject, settings, teacher=teacher, judge=judge)
            return
        more = _GENERATED if subject.domain is not None and subject.domain.generator is not None else 0
        config = replace(config, split="train", generated=more)
        tasks = TasksOfKind(load_suite(config, resources))

        def play(tasks: Sequence[str], name: str) -> Iterable[Record]:
            path = settings.folder / name
            run = Run(
                config,
                replace(
                    playing,
                    task=tuple(tasks),
                    out=path,
                    seed=settings.drawn,
                    concurrency=settings.at_once,
                    resume=path.exists(),
                ),
                sources,
                resources,
            )
            ended = run.play(lambda store: nullcontext(), lambda record: synthesis.on_made(), tell)
            if ended.error is not None:
                raise ended.error
            if ended.stopped is not None:
                raise InputError(
                    f"the episodes stopped: {ended.message}", where=str(path), fix="Run it again to go on."
                )
            return read_records(path, torn="skip")

        synthesis = Synthesis(subject, settings, judge=judge, play=play, tasks=tasks)
        yield synthesis


def _refuse_playing(typed: Typed) -> None:
    """Refuse options about episodes where none is played.

    Raises:
        InputError: One is given.
    """
    for option in typed.changed():
        if option.field is RunSettings.fields().get(option.name) or option.name in _OF_EPISODES:
            fix = "Add --way played, or leave it out."
            raise InputError("it is for trajectories that are played", where=option.flag, fix=fix)


def _simulate(typed: Typed, env: str, files: list[Path] | None, seed_format: str | None, json: bool) -> int:
    output, before = Output(json), accounts().mark()
    try:
        with _begun(typed, env, writes=True) as synthesis:
            if files:
                seeds, dropped = synthesis.filter(files, seed_format)
                _say_seeds(output, len(seeds), dropped)
            with counting(output, "drafts") as synthesis.on_made:
                made = synthesis.simulate()
    except KeyboardInterrupt:
        tell(f"interrupted; what is there is in {typed.make(SynthSettings).folder}: the same command goes on")
        return EXIT_INTERRUPTED
    return _tell(output, synthesis, made, before)


def _tell(output: Output, synthesis: Synthesis, made: Made, before: Mark) -> int:
    """Print what was made and what it has cost since a mark, and write the report."""
    spent = accounts().snapshot(before)
    facts: JsonObject = {**made.to_json(), "spent": spent}
    report = write_report(synthesis.folder, synthesis.subject.env, facts)
    table = Table("stage", "reason", "number", box=None)
    table.add_row("seeds", "kept", str(made.seeds))
    for code, number in made.seeds_dropped.items():
        table.add_row("seeds", code, str(number))
    counts = made.counts
    table.add_row("drafts", "made", str(counts.drafts))
    for reason, number in counts.faults.most_common():
        table.add_row("drafts", reason, str(number))
    for code, number in counts.dropped.most_common():
        table.add_row("checks", code, str(number))
    for kind, number in sorted(counts.kept.items()):
        table.add_row("kept", kind or "all", str(number))
    output.console.print(table)
    for kind, number in made.missing.items():
        output.say(f"{kind}: {number} fewer than the target; give more --tries, or other seeds")
    output.say(f"trajectories: {synthesis.folder / KEPT} · report: {report}")
    output.result(facts)
    return 1 if made.missing else 0
