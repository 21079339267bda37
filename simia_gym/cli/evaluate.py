"""`simia evaluate`: plays a policy or reads records, and reports scores with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.sources import ModelSources
from simia_gym.cli.options import AsJson, Typed, Verbose, with_options
from simia_gym.cli.records.view import panels_of
from simia_gym.cli.terminal.playing import play_and_show, ready
from simia_gym.common.json_encoding import encode
from simia_gym.common.output import Output
from simia_gym.common.writing import check_output, write_whole
from simia_gym.errors import InputError
from simia_gym.evaluation.report import MARK, make_report
from simia_gym.evaluation.score_page import score_page
from simia_gym.evaluation.score_tables import score_parts
from simia_gym.evaluation.trials import read_series
from simia_gym.rollout.run import Ended, Run, RunSettings, opened
from simia_gym.rollout.summary import spending_json
from simia_gym.types import JsonObject
from simia_gym.viewer.pages import MARK as PAGE
from simia_gym.viewer.pages import require_view, write_page

_PLAY = {"trials": 1, "split": "test"}
_BEGINNING = (encode({"made_by": MARK}).rstrip(b"}"),)


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
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report there, as JSON.")] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write it there as a page, with the list of episodes; see `simia view`."),
    ] = None,
    verbose: Verbose = False,
    json: AsJson = False,
) -> int:
    """Measure a policy, or compare records: pass@1, pass^k, rewards and turns, with 95% intervals over tasks."""
    settings, sources = typed.make(RunSettings), typed.make(ModelSources)
    outs = [] if settings.out is None else [settings.out]
    if records := _records_among(words):
        for option in typed.changed():
            if option.name != "seed":
                fix = "Leave it out, or name an environment to play instead of records."
                raise InputError("nothing is played where records are read", where=option.flag, fix=fix)
    if report is not None:
        check_output(report, "--report", _BEGINNING, records or outs)
    if html is not None:
        require_view()
        check_output(html, "--html", (PAGE,), records or outs)
    if records:
        series, warnings = read_series(records)
        made = make_report(series, seed=settings.seed)
        _show(Output(json), made, report, html, records, [f"warning: {warning}" for warning in warnings])
        return 1 if any(one["invalid"] for one in made["series"]) else 0

    def show(output: Output, run: Run, ended: Ended, facts: JsonObject, lines: list[str]) -> None:
        series, _ = read_series([ended.path])
        spent = spending_json(ended.summary, ended.spent)
        more = {**facts, **spent, "reused": ended.summary.reused, "seconds": round(ended.seconds, 3)}
        more["record"] = str(ended.path)
        _show(output, make_report(series, seed=settings.seed, run=more), report, html, [ended.path], lines)

    with opened(settings, sources, outs) as resources:
        return play_and_show(Output(json), ready(typed, words[0], settings, sources, resources), show, verbose=verbose)


def _records_among(words: list[str]) -> list[Path]:
    """The records among the arguments: existing files and names that end in ``.jsonl``; none if one is an environment.

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


def _show(
    output: Output, report: JsonObject, out: Path | None, html: Path | None, records: Sequence[Path], lines: list[str]
) -> None:
    for part in score_parts(report, faults="run" not in report):  # after a run, ``lines`` describe the faults
        output.console.print(part, soft_wrap=isinstance(part, Text))
    for line in lines:
        output.say(line)
    output.result(report)
    if out is not None:
        write_whole(out, encode(report) + b"\n")
        output.say(f"report: {out}")
    if html is not None:
        write_page(html, score_page(report, records, panels_of))
        output.say(f"page: {html}")
