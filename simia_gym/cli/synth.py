"""`simia synth`: from traces to checked training trajectories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.roles import RoleModels
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.sources import ModelSources
from simia_gym.assembly.suite import domain_of, load_suite
from simia_gym.cli.options import AsJson, Environment, Typed, with_options
from simia_gym.common.output import Output, tell
from simia_gym.domain.registration import CUSTOM, resolve_env
from simia_gym.errors import InputError
from simia_gym.llm.accounts import accounts
from simia_gym.record.records import Record, read_records
from simia_gym.rollout.run import Run, RunSettings, opened
from simia_gym.synth.domains import Subject, bare_subject, is_bare, subject_of_domain
from simia_gym.synth.drafts import Attempt
from simia_gym.synth.pipeline import Made, Synthesis
from simia_gym.synth.played import TasksOfKind
from simia_gym.synth.postprocess import KEPT
from simia_gym.synth.report import write_report
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
_GENERATED = 1_000_000
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
    with _Begun(typed, env) as begun:
        seeds, dropped = begun.synthesis.filter(files, seed_format)
    for item in dropped:
        output.say(f"{item.where}: {item.findings[0].code}: {item.findings[0].what}")
    output.say(f"{len(seeds)} seeds of {len(seeds) + len(dropped)} traces are in {begun.synthesis.folder}")
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
    with _Begun(typed, env, needs_models=False) as begun:
        teacher = begun.synthesis.teacher()
        prompt, seed, vary = teacher.prompt(Attempt(f"single-{kind or 'any'}-{show}", show, kind, show))
    import orjson

    messages = orjson.loads(prompt.messages_json())
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
    with _Begun(typed, env) as begun:
        made = begun.synthesis.postprocess()
    return _tell(Output(json), begun.synthesis, made)


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


class _Begun:
    """A synthesis from the options of a command; on leaving, its cassette is closed."""

    def __init__(self, typed: Typed, env: str, *, needs_models: bool = True) -> None:
        settings = typed.make(SynthSettings)
        sources = typed.make(ModelSources)
        self._run_settings = typed.make(RunSettings)
        self._opened = opened(self._run_settings, sources, [])
        self._typed, self._env, self._settings, self._sources = typed, env, settings, sources
        self._needs = needs_models

    def __enter__(self) -> _Begun:
        resources = self._opened.__enter__()
        self.synthesis = self._made(resources)
        return self

    def __exit__(self, *raised: Any) -> None:
        self._opened.__exit__(*raised)

    def _made(self, resources: Resources) -> Synthesis:
        settings, folder = self._settings, Path(self._env)
        chosen = self._typed.values(EnvConfig)
        if folder.is_dir() and is_bare(folder):
            if settings.way == "played":
                fix = "Give --way single, or write a domain: simia new-domain."
                raise InputError("a folder with tools and a policy alone has no tasks to play", where="--way", fix=fix)
            config = EnvConfig(env=CUSTOM, domain=folder, roles=self._sources.roles(), model=chosen.get("model"))
            return self._with_models(bare_subject(folder), config, resources)
        env, domain = resolve_env(self._env, chosen.pop("domain", None))
        config = EnvConfig(env=env, domain=domain, roles=self._sources.roles(), **chosen)
        if settings.way == "single":
            return self._with_models(subject_of_domain(env, domain_of(config)), config, resources)
        return self._playing(env, config, resources)

    def _with_models(self, subject: Subject, config: EnvConfig, resources: Resources) -> Synthesis:
        models = RoleModels(config, resources, (TEACHER,))
        teacher = models.get(TEACHER) if self._needs else _Nobody()
        return Synthesis(subject, self._settings, teacher=teacher, judge=self._judge(models))

    def _judge(self, models: RoleModels) -> Any:
        return models.get("judge") if self._settings.check == "model" and self._needs else None

    def _playing(self, env: str, config: EnvConfig, resources: Resources) -> Synthesis:
        fixed = load_suite(config, resources)
        more = fixed.domain.generator is not None
        config = replace(config, split="train", generated=_GENERATED if more else 0)
        suite = load_suite(config, resources) if more else fixed

        def play(tasks: Sequence[str], name: str) -> Iterable[Record]:
            path = self._settings.folder / name
            settings = replace(
                self._run_settings,
                task=tuple(tasks),
                out=path,
                seed=self._settings.drawn,
                concurrency=self._settings.at_once,
                resume=path.exists(),
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            run = Run(config, settings, self._sources, resources)
            ended = run.play(lambda store: nullcontext(), lambda record: None, lambda text: None)
            if ended.error is not None:
                raise ended.error
            if ended.stopped is not None:
                raise InputError(
                    f"the episodes stopped: {ended.message}", where=str(path), fix="Run it again to go on."
                )
            return read_records(path, torn="skip")

        models = RoleModels(config, resources)
        return Synthesis(
            subject_of_domain(env, suite.domain),
            self._settings,
            judge=self._judge(models),
            play=play,
            tasks=TasksOfKind(suite),
        )


class _Nobody:
    """Stands where no model is asked."""

    async def complete(self, request: Any) -> Any:
        raise AssertionError("no model is asked here")


def _simulate(typed: Typed, env: str, files: list[Path] | None, seed_format: str | None, json: bool) -> int:
    output = Output(json)
    try:
        with _Begun(typed, env) as begun:
            synthesis = begun.synthesis
            if files:
                seeds, dropped = synthesis.filter(files, seed_format)
                output.say(f"{len(seeds)} seeds of {len(seeds) + len(dropped)} traces")
            made = synthesis.simulate()
    except KeyboardInterrupt:
        tell(f"interrupted; what is there is in {typed.make(SynthSettings).folder}: the same command goes on")
        return 130
    return _tell(output, synthesis, made)


def _tell(output: Output, synthesis: Synthesis, made: Made) -> int:
    """Print what was made, and write the report."""
    spent = accounts().snapshot()
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
