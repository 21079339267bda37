"""`simia verify-recorded`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from simia_gym.cli.options import AsJson
from simia_gym.common.formatting import one_line, shown
from simia_gym.common.output import Output
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_path
from simia_gym.errors import InputError
from simia_gym.evaluation.recorded import verify_recorded

_LONGEST = 70
_MOST = 5


def verify(
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="An id from `simia list`, or its short name.")],
    *,
    data: Annotated[Path, typer.Option(metavar="DIR", help="The benchmark's own data.")],
    rollouts: Annotated[Path, typer.Option(metavar="FILE", help="Recorded rollouts, one JSON object a line.")],
    json: AsJson = False,
) -> int:
    """Execute recorded rollouts of the real benchmark again and compare every observation and outcome.

    Returns:
        The exit code: 0, or 1 if an observation or an outcome differs.

    Raises:
        InputError: The domain, the data or the file cannot be read.
    """
    output = Output(json)
    folder = domain_path(domain if domain.startswith("simia/") else f"simia/{domain}-v0")
    if load_domain(folder).grammar.observation_role != "tool":
        what = "there are no recorded rollouts of this domain to verify: its actions are no tool calls"
        raise InputError(what, where=domain, fix="Prove your own records with `simia replay`.")
    found = verify_recorded(domain, data=data, rollouts=rollouts)
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in found.items():
        if not isinstance(value, list):
            table.add_row(name, str(value))
    output.console.print(table)
    for name in ("first_mismatches", "first_disagreements"):
        for item in found[name][:_MOST]:
            output.say(_describe(item))
    output.result(found)
    agree = not found["mismatches"] and found["outcome_agree"] == found["outcome_checked"]
    return 0 if agree else 1


def _describe(item: dict[str, Any]) -> str:
    """One short line about an observation or an outcome that differs."""
    what = "outcome"
    expected, got = item["expected"], item["got"]
    if "call" in item:
        what = f"{item['call']['name']} {shown(item['call']['arguments'], _LONGEST)}"
        # The common beginning of two long observations would fill the line: cut it.
        same = next((i for i, (one, other) in enumerate(zip(expected, got, strict=False)) if one != other), 0)
        begin = max(0, same - _LONGEST // 3)
        expected, got = (f"{'…' if begin else ''}{text[begin:]}" for text in (expected, got))
    expected, got = (one_line(str(value), _LONGEST) for value in (expected, got))
    return f"differs: episode {item['episode']}, {what}: expected {expected}, got {got}"
