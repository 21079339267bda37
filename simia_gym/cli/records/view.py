"""`simia view`: records as a page to look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated

import typer

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import domain_of
from simia_gym.cli.options import AsJson
from simia_gym.common.dotted_names import foreign_code
from simia_gym.common.formatting import counted
from simia_gym.common.json_encoding import decode, encode
from simia_gym.common.output import Output
from simia_gym.common.writing import check_output
from simia_gym.domain.domain import Domain
from simia_gym.errors import SimiaError
from simia_gym.record.records import Record
from simia_gym.state import State
from simia_gym.viewer.pages import MARK, list_page, require_view, titled, write_page
from simia_gym.viewer.rows import overview_of, records_in
from simia_gym.viewer.steps import Panels


def view(
    path: Annotated[Path, typer.Argument(metavar="RECORD", help="A record that `simia rollout` wrote, or a folder.")],
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Write the page there: one HTML file that loads nothing.")],
    json: AsJson = False,
) -> int:
    """Write records as a page to look at: the list of episodes, and each episode with its verdict.

    Raises:
        InputError: There is nothing to show, or it cannot be written.
    """
    require_view()
    output = Output(json)
    paths = records_in(path) if path.is_dir() else [path]
    check_output(out, "--out", (MARK,), paths)
    overview = overview_of(paths)
    write_page(out, list_page(overview, titled([path]), panels_of))
    output.say(f"{out}: {counted(len(overview.rows), 'episode')}")
    output.result({"file": str(out), "episodes": len(overview.rows)})
    return 0


def panels_of(record: Record) -> Panels | None:
    """The domain's own view of a record's state; ``None`` if it has none or cannot be loaded any more."""
    return _panels(encode({**record.config, "data": None}))  # a record holds all of the data that a state needs


@cache
def _panels(config: bytes) -> Panels | None:
    try:
        domain = domain_of(EnvConfig.from_json(decode(config)))
        show = domain.hook("view")
    except SimiaError:
        return None
    return None if show is None else _guarded(domain, show)


def _guarded(domain: Domain, show: Callable[..., Sequence[tuple[str, str]]]) -> Panels:
    def panels(state: State) -> Sequence[tuple[str, str]]:
        with foreign_code(domain.folder):
            return show(domain, state)

    return panels
