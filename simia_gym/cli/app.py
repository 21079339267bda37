"""The commands and their options. What they do is imported when they run, so that ``--help`` is quick."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from simia_gym.cli.extra_commands import INTERRUPTED, Commands, extra_commands
from simia_gym.cli.options.episode import MOST, AsJson, DataDir, SplitName, episode_options, with_options
from simia_gym.cli.serve_oracle import serve_oracle
from simia_gym.common.output import complain, tell
from simia_gym.errors import SimiaError

EXIT_INVALID = 1
EXIT_INPUT = 2
EXIT_INTERRUPTED = INTERRUPTED

app = typer.Typer(
    name="simia",
    cls=Commands,
    help="Environments for tool-using agents, with rewards that can be traced to evidence.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


Environment = Annotated[str, typer.Argument(metavar="ENV", help="An id from `simia list`, or the folder of a domain.")]


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
    from simia_gym.cli.list_envs import list_environments

    raise typer.Exit(list_environments(json=json))


@app.command()
@with_options(episode_options)
def rollout(
    shared: dict[str, Any],
    env: Environment,
    episodes: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=1, max=MOST, help="Episodes in total, whole groups. [default: tasks x group]"),
    ] = None,
    split: Annotated[SplitName, typer.Option(help="Which fixed tasks.")] = SplitName.train,
    group: Annotated[int, typer.Option(metavar="N", min=1, max=MOST, help="Episodes per task.")] = 1,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="The record. [default: a new file in runs/]"),
    ] = None,
    svg: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Write the table of results as a picture."),
    ] = None,
) -> None:
    """Run a policy in an environment and record every episode."""
    from simia_gym.cli.rollout import RolloutOptions, run_rollout

    asked = RolloutOptions(env=env, episodes=episodes, split=split.value, group=group, out=out, svg=svg, **shared)
    raise typer.Exit(run_rollout(asked))


_PLAYED = {"trials": 1, "split": SplitName.test, "out": None}
"""What `simia evaluate` has besides, as it comes, where it plays."""


@app.command()
@with_options(episode_options)
def evaluate(
    shared: dict[str, Any],
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="ENV | RECORD...",
            help="What to play: an id from `simia list`, or the folder of a domain. Or records to read and compare.",
        ),
    ],
    trials: Annotated[int, typer.Option(metavar="K", min=1, max=MOST, help="Episodes per task.")] = 1,
    split: Annotated[SplitName, typer.Option(help="Which fixed tasks.")] = SplitName.test,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="The record that is written. [default: a new file in runs/]"),
    ] = None,
    report: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Write the report there, as JSON."),
    ] = None,
) -> None:
    """Measure a policy, or compare records: pass@1, pass^k, rewards and turns, with 95% intervals over tasks."""
    from simia_gym.cli.evaluate import check_alone, evaluate_policy, evaluate_records, records_among
    from simia_gym.cli.rollout import RolloutOptions

    if records := records_among(words):
        check_alone({**shared, "trials": trials, "split": split, "out": out}, {**episode_options(), **_PLAYED})
        raise typer.Exit(evaluate_records(records, seed=shared["seed"], report=report, json=shared["json"]))
    asked = RolloutOptions(env=words[0], rounds=trials, split=split.value, out=out, **shared)
    raise typer.Exit(evaluate_policy(asked, report=report))


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A record that `simia rollout` wrote.")],
    data: DataDir = None,
    json: AsJson = False,
) -> None:
    """Run a record again and prove it bit for bit, or show the first divergence."""
    from simia_gym.cli.replay import replay_record

    raise typer.Exit(replay_record(file, data=data, json=json))


@app.command()
def show(
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="A record that `simia rollout` wrote.")],
    task: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(metavar="[TASK]", help="The id of a task. [default: the first episode]"),
    ] = None,
    member: Annotated[int, typer.Option(metavar="N", min=0, help="Which episode of the task.")] = 0,
    json: AsJson = False,
) -> None:
    """Print a recorded episode as a conversation, with its verdict."""
    from simia_gym.cli.show import show_episode

    raise typer.Exit(show_episode(record, task, member=member, json=json))


@app.command("verify-recorded")
def verify_recorded(
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="An id from `simia list`, or its short name.")],
    data: Annotated[Path, typer.Option(metavar="DIR", help="The benchmark's own data.")],
    rollouts: Annotated[Path, typer.Option(metavar="FILE", help="Recorded rollouts, one JSON object a line.")],
    json: AsJson = False,
) -> None:
    """Execute recorded rollouts of the real benchmark again and compare every observation and outcome."""
    from simia_gym.cli.verify_recorded import verify

    raise typer.Exit(verify(domain, data=data, rollouts=rollouts, json=json))


@app.command()
def check(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The folder of a domain.")],
    write_tools: Annotated[
        bool, typer.Option("--write-tools", help="Rewrite tools.json from what the world declares.")
    ] = False,
    write_goals: Annotated[
        bool,
        typer.Option(
            "--write-goals", help="Write the goals of tasks from their gold actions, where missing or not reached."
        ),
    ] = False,
    json: AsJson = False,
) -> None:
    """Check a domain: its files, its tools' self-tests, and every task with expert, null, claimer and refuser."""
    from simia_gym.cli.check import check_domain

    raise typer.Exit(check_domain(path, write_tools=write_tools, write_goals=write_goals, json=json))


@app.command("new-domain")
def new_domain(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The folder to make.")],
    json: AsJson = False,
) -> None:
    """Write a small, complete, commented domain to start from."""
    from simia_gym.cli.new_domain import write_domain

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
