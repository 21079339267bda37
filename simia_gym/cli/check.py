"""`simia check`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from simia_gym.cli.options import AsJson
from simia_gym.common.formatting import counted, one_line
from simia_gym.common.output import Output, complain
from simia_gym.domain.registration import domain_folders
from simia_gym.errors import InputError
from simia_gym.evaluation.cheats import load_cheats
from simia_gym.evaluation.checker import IDLE, REFUSER, Report
from simia_gym.evaluation.watched import PATIENCE, check_watched


def check_domain(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The folder of a domain, or the id of an environment.")],
    *,
    write_tools: Annotated[
        bool, typer.Option("--write-tools", help="Rewrite tools.json from what the world declares.")
    ] = False,
    write_goals: Annotated[
        bool,
        typer.Option(
            "--write-goals", help="Write the goals of tasks from their gold actions, where missing or not reached."
        ),
    ] = False,
    cheats: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE", help="A module or file.py; play each policy of its list CHEATS, and the twin of each."
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Time for one step, or one call of a tool.")
    ] = PATIENCE,
    json: AsJson = False,
) -> int:
    """Check a domain: its files, its tools' self-tests, and every task with expert, null, claimer and refuser.

    Returns:
        The exit code: 0; 1 if a check fails; 2 if the folder cannot be loaded.

    Raises:
        InputError: The path is a file, not a folder, or no cheats can be loaded.
    """
    output = Output(json)
    listed = [] if cheats is None else load_cheats(cheats)
    known = domain_folders()
    own = (path / "domain.yaml").is_file()
    folder = path if own else known.get(f"simia/{path}-v0", known.get(str(path), path))
    if folder.exists() and not folder.is_dir():
        raise InputError("is a file", where=str(folder), fix="Name the folder of a domain.")
    status = output.console.status("checking")

    def show(step: str) -> None:
        status.update(f"checking: {step}")
        status.start()  # not before: its thread must not run when the process of the check begins

    try:
        report = check_watched(
            folder, write_tools=write_tools, write_goals=write_goals, cheats=listed, patience=timeout, progress=show
        )
    finally:
        status.stop()
    if not report.loaded:
        for problem in report.problems:
            complain(f"{folder} cannot be loaded: {_from_here(problem)}")
        output.result(report.to_json())
        return 2
    output.console.print(_table(report))
    if report.cheats:
        output.console.print()
        output.console.print(_cheats(report))
    for note in report.notes:
        output.say(f"note: {one_line(_from_here(note))}")
    for problem in report.problems:
        output.say(f"problem: {one_line(_from_here(problem))}")
    sound = "sound" if report.played else "its files are sound; nothing could be played"
    output.say(f"{folder}: {sound if report.ok else counted(len(report.problems), 'problem')}")
    output.result(report.to_json())
    return 0 if report.ok else 1


def _from_here(text: object) -> str:
    """A text whose paths begin in the current folder."""
    return str(text).replace(f"{Path.cwd()}{os.sep}", "")


def _table(report: Report) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_row("tools", str(report.tools))
    table.add_row("rows in the initial state", str(report.rows))
    passed = sum(test.problem is None for test in report.selftests)
    table.add_row("self-tests", f"{passed} of {len(report.selftests)} pass")
    gold = [item["gold"] for item in report.tasks if item["gold"] is not None]
    if gold:
        table.add_row("gold actions", f"{sum(gold)} of {len(gold)} reach their goal")
    for name in ("expert", *IDLE, REFUSER):
        won = [item[name] for item in report.tasks if name in item]
        if won:
            text = f"succeeds in {won.count(True)} of {len(won)}{' (should be 0)' if name in IDLE else ''}"
            table.add_row(name, f"{text}, {won.count(None)} not judged" if None in won else text)
    return table


def _cheats(report: Report) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("cheat", overflow="fold")
    table.add_column("succeeds", no_wrap=True)
    table.add_column("twin fails", no_wrap=True)
    for score in report.cheats:
        of = f"of {score.bent}"
        table.add_row(score.cheat, *((f"{score.succeeded} {of}", f"{score.lost} {of}") if score.bent else ("-", "-")))
    return table
