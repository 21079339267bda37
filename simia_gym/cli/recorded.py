"""`simia verify-recorded`."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from simia_gym.cli.output import Output
from simia_gym.evaluation.recorded import verify_recorded


def verify(domain: str, *, data: Path, rollouts: Path, json: bool) -> int:
    """Execute recorded rollouts again and print how far they agree.

    Returns:
        The exit code: 0, or 1 where an observation or an outcome differs.

    Raises:
        InputError: Domain, data or file cannot be read.
    """
    output = Output(json)
    found = verify_recorded(domain, data=data, rollouts=rollouts)
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in found.items():
        table.add_row(name, str(value))
    output.console.print(table)
    output.result(found)
    agree = not found["mismatches"] and found["outcome_agree"] == found["outcome_checked"]
    return 0 if agree else 1
