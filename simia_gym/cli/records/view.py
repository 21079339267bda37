"""`simia view`: records as a page to look at."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Annotated

import typer

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import domain_of
from simia_gym.cli.options import AsJson
from simia_gym.common.formatting import counted
from simia_gym.common.json_encoding import decode, encode
from simia_gym.common.output import Output
from simia_gym.common.writing import check_output
from simia_gym.errors import InputError, SimiaError
from simia_gym.evaluation.comparing.compare import compare_records
from simia_gym.evaluation.comparing.files import Records
from simia_gym.evaluation.comparing.page import comparison_page
from simia_gym.record.records import Record
from simia_gym.viewer.pages import MARK, list_page, render, require_view, write_page
from simia_gym.viewer.panels import panels_of_domain
from simia_gym.viewer.rows import overview_of, records_in
from simia_gym.viewer.serving import PageServer
from simia_gym.viewer.steps import Panels
from simia_gym.viewer.training import ROLLOUTS, curves_of, is_training


def view(
    words: Annotated[
        list[Path],
        typer.Argument(
            metavar="RECORD [RECORD2]",
            help="A record that `simia rollout` wrote, a folder of records, or that of a training; or two records,"
            " to see them side by side.",
        ),
    ],
    *,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the page there: one HTML file that loads nothing.")
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Show it at 127.0.0.1 instead, episode by episode; for large records.")
    ] = False,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Port of --serve; 0: a free one.")] = 0,
    json: AsJson = False,
) -> int:
    """Show records as a page: the list of episodes, and each episode with its changes and its verdict.

    Raises:
        InputError: There is nothing to show, or it cannot be written.
    """
    require_view()
    output = Output(json)
    if (out is None) is not serve:
        what = "it says both where to write and to serve" if serve else "it does not say where the page should be"
        raise InputError(what, where="--out", fix="Give either --out FILE or --serve.")
    if port and not serve:
        raise InputError("nothing is served", where="--port", fix="Give --serve, too.")
    if out is not None:
        check_output(out, "--out", (MARK,), [path for path in words if path.is_file()])
    if len(words) == 2 and out is not None:
        return _two(output, words, out)
    if len(words) != 1:
        what = f"{counted(len(words), 'record')}, and {'one is served' if serve else 'one or two are shown'}"
        raise InputError(what, where="RECORD", fix="Give a folder of records, to see all of them in one list.")
    return _one(output, words[0], out, port)


def _one(output: Output, path: Path, out: Path | None, port: int) -> int:
    """One list of episodes."""
    curves = curves_of(path) if path.is_dir() and is_training(path) else []
    within = path / ROLLOUTS if curves else path
    paths = [path]
    if path.is_dir():
        paths = records_in(within) if not curves or within.is_dir() else []
    title = path.resolve().name
    if not paths:
        if out is None:
            fix = "Give --out FILE to see its curves, or train with records of the episodes."
            raise InputError("the training has kept no records", where=str(path), fix=fix)
        write_page(out, render("curves", title=title, curves=curves))
        return _said(output, out, 0)
    overview = overview_of(paths)
    for torn in overview.torn:
        output.say(f"warning: {torn}: the last line is torn, its writer was stopped; it is left out")
    if out is not None:
        write_page(out, list_page(overview, title, panels_of, curves))
        return _said(output, out, len(overview.rows))
    with PageServer(overview, title, panels_of, port, curves) as server:
        output.say(f"{server.address} shows {counted(len(overview.rows), 'episode')}; Ctrl-C ends it")
        output.result({"address": server.address, "episodes": len(overview.rows)})
        server.serve_forever()
    return 0


def _two(output: Output, words: Sequence[Path], out: Path) -> int:
    """Two records side by side, as `simia compare --html` shows them."""
    with closing(Records([words[0]])) as left, closing(Records([words[1]])) as right:
        found = compare_records(left, right)
        write_page(out, comparison_page(found, left, right))
    for warning in found.warnings:
        output.say(f"warning: {warning}")
    output.say(f"{out}: {counted(len(found.pairs), 'pair')}")
    output.result({"file": str(out), "pairs": len(found.pairs)})
    return 0


def _said(output: Output, out: Path, episodes: int) -> int:
    output.say(f"{out}: {counted(episodes, 'episode')}")
    output.result({"file": str(out), "episodes": episodes})
    return 0


def panels_of(record: Record) -> Panels | None:
    """The domain's own view of a record's state; ``None`` if it has none or cannot be loaded any more."""
    return _panels(encode({**record.config, "data": None}))  # a record holds all of the data that a state needs


@cache
def _panels(config: bytes) -> Panels | None:
    try:
        return panels_of_domain(domain_of(EnvConfig.from_json(decode(config))))
    except SimiaError:
        return None
