"""`simia verify-recorded`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from simia_gym.cli.options import AsJson
from simia_gym.common.dotted_names import foreign_code
from simia_gym.common.output import Output
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_path, resolve_env
from simia_gym.errors import InputError

_MOST = 10


def verify(
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="An id from `simia list`, or a domain's folder.")],
    *,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="The benchmark's own data.")] = None,
    rollouts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Recorded rollouts of the real benchmark.")
    ] = None,
    json: AsJson = False,
) -> int:
    """Execute recorded rollouts of the real benchmark again and compare every observation and outcome.

    Where a benchmark has tasks and no rollouts, its checks run on its data.

    Returns:
        The exit code: 0, or 1 if an observation or an outcome differs, or a check cannot run.

    Raises:
        InputError: The domain, the data or the file cannot be read, or the domain has no such rollouts.
    """
    output = Output(json)
    env, own = resolve_env(domain)
    loaded = load_domain(own or domain_path(env), data=data)
    check = loaded.hook("verify")
    if check is None:
        what = "there are no recorded rollouts of this domain to verify: its domain.yaml has no verify"
        raise InputError(what, where=domain, fix="Prove your own records with `simia replay`.")
    with foreign_code(loaded.folder):
        found = check(loaded, data=data, rollouts=rollouts)
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in _single(found):
        table.add_row(name, value)
    output.console.print(table)
    for text in found["differences"][:_MOST]:
        output.say(f"differs: {text}")
    output.result(found)
    return 0 if found["agree"] else 1


def _single(found: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, str]]:
    """The values that are no lists, and the numbers within mappings, by their dotted names."""
    for name, value in found.items():
        if isinstance(value, Mapping):
            yield from _single(value, f"{within}{name}.")
        elif isinstance(value, float):
            yield f"{within}{name}", f"{value:.4g}"
        elif isinstance(value, int) or not (within or isinstance(value, list)):
            yield f"{within}{name}", str(value)
