"""`simia evaluate`: plays a policy or reads records, and reports scores with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.text import Text

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.sources import ModelSources
from simia_gym.cli.options.generate import AsJson, Typed, Verbose, with_options
from simia_gym.cli.rollout import play_and_show
from simia_gym.common.json_encoding import decode, encode
from simia_gym.common.output import Output
from simia_gym.errors import InputError
from simia_gym.evaluation.report import MARK, make_report
from simia_gym.evaluation.score_tables import score_parts
from simia_gym.evaluation.trials import read_series
from simia_gym.rollout.run import Ended, Run, RunSettings
from simia_gym.rollout.summary import spending_json
from simia_gym.types import JsonObject

_PLAY = {"trials": 1, "split": "test"}


@with_options(RunSettings, EnvConfig, ModelSources, omit=("episodes", "group"), defaults=_PLAY)
def evaluate(
    typed: Typed,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="ENV | RECORD...",
            help="What to play: an id from `simia list`, or the folder of a domain. Or records to read and compare.",
        ),
    ],
    report: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Write the report there, as JSON."),
    ] = None,
    verbose: Verbose = False,
    json: AsJson = False,
) -> int:
    """Measure a policy, or compare records: pass@1, pass^k, rewards and turns, with 95% intervals over tasks."""
    settings = typed.make(RunSettings)
    if records := records_among(words):
        for option in typed.changed():
            if option.name != "seed":
                fix = "Leave it out, or name an environment to play instead of records."
                raise InputError("nothing is played where records are read", where=option.flag, fix=fix)
        return evaluate_records(records, seed=settings.seed, report=report, json=json)
    if report is not None:
        check_report(report, [settings.out] if settings.out is not None else [])

    def show(output: Output, run: Run, ended: Ended, facts: JsonObject, lines: list[str]) -> None:
        series, _ = read_series([ended.path])
        spent = spending_json(ended.summary, ended.spent)
        more = {**facts, **spent, "reused": ended.summary.reused, "seconds": round(ended.seconds, 3)}
        more["record"] = str(ended.path)
        _show(output, make_report(series, seed=settings.seed, run=more), report, lines)

    return play_and_show(typed, words[0], show, json=json, verbose=verbose)


def evaluate_records(files: list[Path], *, seed: int, report: Path | None, json: bool) -> int:
    """Report the scores of existing records.

    Args:
        files: The record files; each further one is compared with the first.
        seed: Random seed of the bootstrap.
        report: File to which the report is also written, as JSON; ``None`` for no file.
        json: Whether to print one JSON value for scripts.

    Returns:
        The exit code: 0, or 1 if some episodes are invalid.

    Raises:
        InputError: A record cannot be read, or the report cannot be written.
    """
    if report is not None:
        check_report(report, files)
    output = Output(json)
    series, warnings = read_series(files)
    made = make_report(series, seed=seed)
    _show(output, made, report, [f"warning: {warning}" for warning in warnings])
    return 1 if any(one["invalid"] for one in made["series"]) else 0


def records_among(words: list[str]) -> list[Path]:
    """Distinguish records from environments among the arguments.

    Args:
        words: The arguments; an existing file or a name that ends in ``.jsonl`` is a record, anything else an
            environment.

    Returns:
        The records; empty if the argument is one environment.

    Raises:
        InputError: The arguments mix records and environments, or name several environments.
    """
    records = [Path(word) for word in words if word.endswith(".jsonl") or Path(word).is_file()]
    others = [word for word in words if Path(word) not in records]
    if records and others:
        what = f"{str(records[0])!r} is a record and {others[0]!r} is none"
        raise InputError(what, where="ENV | RECORD...", fix="Name one environment to play, or records to compare.")
    if len(others) > 1:
        what = f"environments are played one at a time, and here are {len(others)}"
        raise InputError(what, where="ENV | RECORD...", fix="Name one environment, or records to compare.")
    return records


def check_report(path: Path, records: list[Path]) -> None:
    """Check before a long run that the report can be written.

    Args:
        path: The report's file.
        records: Record files, which must not be overwritten.

    Raises:
        InputError: The file cannot be written, or exists and is not a report.
    """
    fix = "Give another --report."
    try:
        if path.resolve() in [record.resolve() for record in records]:
            raise InputError("is a record", where=str(path), fix=fix)
        if path.is_dir():
            raise InputError("is a folder", where=str(path), fix="Give --report a file in it.")
        if path.exists() and not _is_report(path):
            raise InputError("the file exists already and is no report", where=str(path), fix=fix)
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", where=str(path), fix=fix) from error


def _is_report(path: Path) -> bool:
    try:
        value = decode(path.read_bytes())
    except ValueError:
        return False
    return isinstance(value, dict) and value.get("made_by") == MARK


def _show(output: Output, report: JsonObject, out: Path | None, lines: list[str]) -> None:
    for part in score_parts(report, faults="run" not in report):  # after a run, ``lines`` describe the faults
        output.console.print(part, soft_wrap=isinstance(part, Text))
    for line in lines:
        output.say(line)
    output.result(report)
    if out is not None:
        try:
            out.write_bytes(encode(report) + b"\n")
        except OSError as error:
            raise InputError(
                f"cannot be written ({error.strerror})", where=str(out), fix="Give another --report."
            ) from error
        output.say(f"report: {out}")
