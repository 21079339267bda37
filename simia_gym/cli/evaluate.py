"""`simia evaluate`: plays a policy, or reads what was played, and reports scores with intervals."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from rich.text import Text

from simia_gym.cli.rollout import Played, RolloutOptions, play_and_show
from simia_gym.common.json_encoding import decode, encode
from simia_gym.common.output import Output
from simia_gym.errors import InputError
from simia_gym.evaluation.report import MARK, make_report
from simia_gym.evaluation.score_tables import score_parts
from simia_gym.evaluation.trials import read_series
from simia_gym.rollout.summary import spending_json
from simia_gym.types import JsonObject

_OF_ALL = ("seed", "json")


def evaluate_policy(asked: RolloutOptions, *, report: Path | None) -> int:
    """Play a policy and report its scores.

    Args:
        asked: What to play.
        report: Where the report goes, besides the terminal.

    Returns:
        The exit code, as of `simia_gym.cli.rollout.run_rollout`.

    Raises:
        InputError: Something that was typed is wrong.
    """
    if report is not None:
        check_report(report, [asked.out] if asked.out is not None else [])

    def show(output: Output, asked: RolloutOptions, played: Played) -> None:
        series, _ = read_series([played.path])
        spent = spending_json(played.summary, played.spent)
        run = {**played.facts, **spent, "reused": played.summary.reused, "seconds": round(played.seconds, 3)}
        run |= {"record": str(played.path)}
        _show(output, make_report(series, seed=asked.seed, run=run), report, played.lines)

    return play_and_show(asked, show)


def evaluate_records(files: list[Path], *, seed: int, report: Path | None, json: bool) -> int:
    """Report the scores of records that are there.

    Args:
        files: The records; the others are compared with the first.
        seed: Seed of the bootstrap.
        report: Where the report goes, besides the terminal.
        json: Whether a script listens.

    Returns:
        The exit code: 0, or 1 where some episodes are invalid.

    Raises:
        InputError: A record cannot be read, or the report not be written.
    """
    if report is not None:
        check_report(report, files)
    output = Output(json)
    series, warnings = read_series(files)
    made = make_report(series, seed=seed)
    _show(output, made, report, [f"warning: {warning}" for warning in warnings])
    return 1 if any(one["invalid"] for one in made["series"]) else 0


def records_among(words: list[str]) -> list[Path]:
    """Tell records from environments among what was typed.

    Args:
        words: Files that exist, or whose name ends in ``.jsonl``, are records; anything else is an environment.

    Returns:
        The records; nothing where one environment is named.

    Raises:
        InputError: There are records and environments among them, or several environments.
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


def check_alone(typed: dict[str, Any], default: dict[str, Any]) -> None:
    """Refuse what is about playing where records are only read.

    Args:
        typed: Fields of `RolloutOptions` as they were typed.
        default: The same where nothing was.

    Raises:
        InputError: Names the option.
    """
    for name, value in typed.items():
        if value == default[name] or name in _OF_ALL:
            continue
        if name == "models":
            one, other = dataclasses.asdict(value), dataclasses.asdict(default[name])
            name = next(key for key in one if one[key] != other[key])
        option = f"--{name.replace('_', '-')}"
        raise InputError(
            "nothing is played where records are read",
            where=option,
            fix="Leave it out, or name an environment to play instead of records.",
        )


def check_report(path: Path, records: list[Path]) -> None:
    """Make sure that a report can be written there, before a long run and not after it.

    Args:
        path: The report.
        records: What must not be overwritten.

    Raises:
        InputError: It cannot, or would take the place of something else than an older report.
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
    for part in score_parts(report, faults="run" not in report):  # of a run, the lines say more about them
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
