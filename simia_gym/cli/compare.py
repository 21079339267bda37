"""`simia compare`: the same tasks on two sides, with figures of how far they agree."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from simia_gym.cli.options import AsJson
from simia_gym.common.json_encoding import encode
from simia_gym.common.output import Output
from simia_gym.common.writing import check_output, write_whole
from simia_gym.errors import InputError
from simia_gym.evaluation.comparing.compare import compare_records
from simia_gym.evaluation.comparing.comparison import MARK, Comparison
from simia_gym.evaluation.comparing.files import Records
from simia_gym.evaluation.comparing.page import comparison_page
from simia_gym.evaluation.comparing.tables import comparison_parts
from simia_gym.viewer.pages import MARK as PAGE
from simia_gym.viewer.pages import require_view, write_page

_BEGINNING = (encode({"made_by": MARK}).rstrip(b"}"),)


def compare_sides(
    words: Annotated[
        list[str],
        typer.Argument(metavar="LEFT RIGHT", help="The reference, and what is compared with it: records or folders."),
    ],
    *,
    min_agreement: Annotated[
        float | None,
        typer.Option(metavar="X", min=0, max=1, help="Exit with 1 if observations or rewards agree less (0 to 1)."),
    ] = None,
    max_flips: Annotated[int | None, typer.Option(metavar="N", min=0, help="Exit with 1 if more tasks flip.")] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the comparison with every pair there, as JSON.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write it there as a page, with each pair side by side; see `simia view`."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Random seed of the bootstrap.")] = 0,
    json: AsJson = False,
) -> int:
    """Compare two sides on the same tasks: observations, changes, rewards, first divergence, order of policies.

    Returns:
        The exit code: 0, or 1 if the comparison does not pass ``--min-agreement`` or ``--max-flips``.

    Raises:
        InputError: The records cannot be compared.
    """
    if len(words) != 2:
        what = f"two sides are compared, and here are {len(words)}"
        raise InputError(what, where="LEFT RIGHT", fix="Give the reference and what is compared with it.")
    records = [Path(word) for word in words if Path(word).is_file()]
    if report is not None:
        check_output(report, "--report", _BEGINNING, records)
    if html is not None:
        require_view()
        check_output(html, "--html", (PAGE,), records)
    output = Output(json)
    with closing(Records([Path(words[0])])) as left, closing(Records([Path(words[1])])) as right:
        found = compare_records(left, right, seed=seed)
        if html is not None:
            write_page(html, comparison_page(found, left, right))
            output.say(f"page: {html}")
    return _show(output, found, min_agreement, max_flips, report)


def _show(
    output: Output, found: Comparison, min_agreement: float | None, max_flips: int | None, report: Path | None
) -> int:
    for part in comparison_parts(found):
        output.console.print(part, soft_wrap=isinstance(part, Text))
    short = found.short_of(min_agreement=min_agreement, max_flips=max_flips)
    for line in short:
        output.say(f"not passed: {line}")
    output.result({**found.to_json(pairs=False), "not_passed": short})
    if report is not None:
        write_whole(report, encode(found.to_json()) + b"\n")
        output.say(f"report: {report}")
    return 1 if short else 0
