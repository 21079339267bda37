"""The commands and their options. What they do is imported when they run, so that ``--help`` is quick."""

from __future__ import annotations

import logging
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Optional

import typer

from simia_gym.cli.extra import INTERRUPTED, Commands, extra_commands
from simia_gym.cli.oracle import serve_oracle
from simia_gym.cli.output import complain, tell
from simia_gym.errors import SimiaError

EXIT_INVALID = 1
EXIT_INPUT = 2
EXIT_INTERRUPTED = INTERRUPTED

MOST = 10**12
MODELS = "Models"
MOST_AT_ONCE = 10_000

app = typer.Typer(
    name="simia",
    cls=Commands,
    help="Environments for tool-using agents, with rewards that can be traced to evidence.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class SplitName(StrEnum):
    """Choices of --split."""

    train = "train"
    test = "test"
    all = "all"


class PromptName(StrEnum):
    """Choices of --prompt."""

    full = "full"
    compact = "compact"


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value as the last line of standard output.")]
DataDir = Annotated[Optional[str], typer.Option("--data", metavar="DIR", help="Your own data for the domain.")]  # noqa: UP045


def run(arguments: list[str]) -> int:
    """Run one command.

    Args:
        arguments: Words after the program's name.

    Returns:
        The exit code: 0, 1 (some episodes invalid, some check failed), 2 (bad input), 130 (interrupted), 143 (SIGTERM).
    """
    # What a suite warns of is said by the commands themselves; without this the logger would say it a second time.
    logger = logging.getLogger("simia_gym")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    try:
        code = typer.main.get_command(app).main(args=arguments, prog_name="simia", standalone_mode=False)
    except SimiaError as error:
        complain(str(error))
        return EXIT_INPUT
    except (KeyboardInterrupt, typer.Abort):
        tell("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the reader has gone; keep the exit silent
        return EXIT_INVALID
    except OSError as error:
        if error.filename is None:
            raise
        complain(f"{error.filename}: {error.strerror}. Check the path and what you may do there.")
        return EXIT_INPUT
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        usage = error.format_message()  # the option parser's own complaints
        if usage:
            complain(f"{usage} (see `simia {_command(arguments)}--help`)")
        return EXIT_INPUT
    return code if isinstance(code, int) else 0


def _command(arguments: list[str]) -> str:
    """The command that was meant, if the first word is one."""
    known = {item.name or getattr(item.callback, "__name__", "") for item in app.registered_commands}
    return f"{arguments[0]} " if arguments and arguments[0] in known | set(extra_commands()) else ""


def _version(asked: bool) -> None:
    if asked:
        from simia_gym.version import __version__

        typer.echo(f"simia-gym {__version__}")
        raise typer.Exit


@app.callback()
def simia(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Environments for tool-using agents, with rewards that can be traced to evidence."""


@app.command("list")
def list_(json: AsJson = False) -> None:
    """List the environments: tools, tasks, grammar."""
    from simia_gym.cli.listing import list_environments

    raise typer.Exit(list_environments(json=json))


@app.command()
def rollout(
    env: Annotated[str, typer.Argument(metavar="ENV", help="An id from `simia list`, or the folder of a domain.")],
    policy: Annotated[
        str, typer.Option(metavar="P", help="expert, random, null, claimer, refuser, llm, or module:Class.")
    ] = "expert",
    policy_model: Annotated[Optional[str], typer.Option(metavar="NAME", help="Model of --policy llm.")] = None,  # noqa: UP045
    policy_base_url: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="URL", help="OpenAI-compatible endpoint of --policy llm."),
    ] = None,
    episodes: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=1, max=MOST, help="Episodes in total, whole groups. [default: tasks x group]"),
    ] = None,
    split: Annotated[SplitName, typer.Option(help="Which fixed tasks.")] = SplitName.train,
    generated: Annotated[
        int, typer.Option(metavar="N", min=0, max=MOST, help="Generated tasks besides the fixed ones.")
    ] = 0,
    group: Annotated[int, typer.Option(metavar="N", min=1, max=MOST, help="Episodes per task.")] = 1,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Where all variety comes from.")] = 0,
    concurrency: Annotated[
        int, typer.Option(metavar="C", min=1, max=MOST_AT_ONCE, help="Most episodes in flight.")
    ] = 8,
    simulator: Annotated[
        str, typer.Option(metavar="KIND", help="Who answers tool calls: auto, world, llm, hybrid, replay.")
    ] = "auto",
    model: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="Model of simulator, user and judge.", rich_help_panel=MODELS),
    ] = None,
    base_url: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="URL", help="Their OpenAI-compatible endpoint.", rich_help_panel=MODELS),
    ] = None,
    user: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="KIND", help="Who plays the user: scripted, brief, llm. [default: the domain's]"),
    ] = None,
    user_model: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="Another model for the user.", rich_help_panel=MODELS),
    ] = None,
    user_base_url: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="URL", help="Another endpoint for the user.", rich_help_panel=MODELS),
    ] = None,
    judge: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="KIND", help="Who judges what no program can: llm; llm-all judges everything."),
    ] = None,
    votes: Annotated[
        int, typer.Option(metavar="N", min=1, help="Judge's votes on a gating criterion, odd.", rich_help_panel=MODELS)
    ] = 1,
    judge_model: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="Another model for the judge.", rich_help_panel=MODELS),
    ] = None,
    judge_base_url: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="URL", help="Another endpoint for the judge.", rich_help_panel=MODELS),
    ] = None,
    strategy: Annotated[
        str,
        typer.Option(metavar="KIND", help="How a model simulates: auto, ledger, reference.", rich_help_panel=MODELS),
    ] = "auto",
    route: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="TOOL=KIND",
            help="Who answers a tool's calls in a hybrid: world, llm; may be repeated.",
            rich_help_panel=MODELS,
        ),
    ] = None,
    role: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="ROLE.KEY=VALUE",  # such as judge.temperature=0
            help="Setting of the model of simulator, escalation, user, judge or policy; may be repeated.",
            rich_help_panel=MODELS,
        ),
    ] = None,
    pins: Annotated[
        bool, typer.Option(help="Same call, same state, same group: same answer of the model.", rich_help_panel=MODELS)
    ] = True,
    shadow: Annotated[
        bool,
        typer.Option(
            "--shadow", help="Count how the world would have answered otherwise than the model.", rich_help_panel=MODELS
        ),
    ] = False,
    recorded: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="FILE", help="The record that --simulator replay answers from."),
    ] = None,
    record_cassette: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Write every model's answers there.", rich_help_panel=MODELS),
    ] = None,
    replay_cassette: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Take every model's answers from there.", rich_help_panel=MODELS),
    ] = None,
    max_cost: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(metavar="USD", help="Most that the run may cost.", rich_help_panel=MODELS),
    ] = None,
    max_calls: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", help="Most requests to models.", rich_help_panel=MODELS),
    ] = None,
    max_tokens: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", help="Most tokens, prompts and replies together.", rich_help_panel=MODELS),
    ] = None,
    feedback: Annotated[
        str, typer.Option(metavar="KIND", help="What errors say: terse, or explain: also why and what would do.")
    ] = "terse",
    data: DataDir = None,
    domain: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="DIR", help="Folder of the domain of simia/custom-v0."),
    ] = None,
    option: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="KEY=VALUE", help="Option of the domain; may be repeated."),
    ] = None,
    prompt: Annotated[PromptName, typer.Option(help="How much the system message says.")] = PromptName.full,
    max_turns: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=1, max=MOST, help="Turn limit. [default: the domain's]"),
    ] = None,
    timeout: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(metavar="S", help="Seconds that one episode may take."),
    ] = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="The record. [default: a new file in runs/]"),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the record where it stopped.")] = False,
    json: AsJson = False,
    svg: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Write the table of results as a picture."),
    ] = None,
) -> None:
    """Run a policy in an environment and record every episode."""
    from simia_gym.cli.model_options import ModelOptions
    from simia_gym.cli.rollout import RolloutOptions, run_rollout

    models = ModelOptions(
        model=model,
        base_url=base_url,
        user_model=user_model,
        user_base_url=user_base_url,
        judge=judge,
        votes=votes,
        judge_model=judge_model,
        judge_base_url=judge_base_url,
        strategy=strategy,
        feedback=feedback,
        route=tuple(route or ()),
        role=tuple(role or ()),
        pins=pins,
        recorded=recorded,
        shadow=shadow,
        record_cassette=record_cassette,
        replay_cassette=replay_cassette,
        max_cost=max_cost,
        max_calls=max_calls,
        max_tokens=max_tokens,
    )
    asked = RolloutOptions(
        env=env,
        policy=policy,
        policy_model=policy_model,
        policy_base_url=policy_base_url,
        episodes=episodes,
        split=split.value,
        generated=generated,
        group=group,
        seed=seed,
        concurrency=concurrency,
        simulator=simulator,
        models=models,
        user=user,
        data=data,
        domain=domain,
        option=tuple(option or ()),
        prompt=prompt.value,
        max_turns=max_turns,
        timeout=timeout,
        out=out,
        resume=resume,
        json=json,
        svg=svg,
    )
    raise typer.Exit(run_rollout(asked))


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A record that `simia rollout` wrote.")],
    data: DataDir = None,
    json: AsJson = False,
) -> None:
    """Run a record again and prove it bit for bit, or show the first divergence."""
    from simia_gym.cli.replaying import replay_record

    raise typer.Exit(replay_record(file, data=data, json=json))


@app.command("verify-recorded")
def verify_recorded(
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="An id from `simia list`, or its short name.")],
    data: Annotated[Path, typer.Option(metavar="DIR", help="The benchmark's own data.")],
    rollouts: Annotated[Path, typer.Option(metavar="FILE", help="Recorded rollouts, one JSON object a line.")],
    json: AsJson = False,
) -> None:
    """Execute recorded rollouts of the real benchmark again and compare every observation and outcome."""
    from simia_gym.cli.recorded import verify

    raise typer.Exit(verify(domain, data=data, rollouts=rollouts, json=json))


@app.command()
def check(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The folder of a domain.")],
    write_tools: Annotated[
        bool, typer.Option("--write-tools", help="Rewrite tools.json from what the world declares.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Check a domain: its files, its tools' self-tests, and every task with expert, null, claimer and refuser."""
    from simia_gym.cli.checking import check_domain

    raise typer.Exit(check_domain(path, write_tools=write_tools, json=json))


@app.command("new-domain")
def new_domain(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The folder to make.")],
    json: AsJson = False,
) -> None:
    """Write a small, complete, commented domain to start from."""
    from simia_gym.cli.scaffold import write_domain

    raise typer.Exit(write_domain(path, json=json))


@app.command()
def doctor(
    model: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="Try this model. [default: those that the variables name]"),
    ] = None,
    base_url: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="URL", help="Its OpenAI-compatible endpoint."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Check this installation, and what the endpoints of models can do."""
    from simia_gym.cli.doctor import examine

    raise typer.Exit(examine(json=json, model=model, base_url=base_url))


app.command("serve-oracle")(serve_oracle)
