"""`simia export`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import orjson
import typer

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import domain_of
from simia_gym.cli.options import AsJson
from simia_gym.common.dotted_names import foreign_code
from simia_gym.common.formatting import counted
from simia_gym.common.output import Output
from simia_gym.common.writing import check_output, write_whole
from simia_gym.errors import InputError
from simia_gym.record.records import read_records


def export_records(
    file: Annotated[Path, typer.Argument(metavar="RECORD", help="A record that `simia rollout` wrote.")],
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    *,
    data: Annotated[str | None, typer.Option(metavar="DIR", help="Your own data for the domain.")] = None,
    json: AsJson = False,
) -> int:
    """Write a record in the format of the domain's own benchmark, as JSON.

    Raises:
        InputError: The record cannot be read, its domain has no such format, or the file cannot be written.
    """
    output = Output(json)
    records = list(read_records(file, torn="skip"))
    if not records:
        raise InputError("there is no finished episode in it", where=str(file), fix="Give another record.")
    config = EnvConfig.from_json(records[0].config)
    domain = domain_of(config if data is None else replace(config, data=data))
    write = domain.hook("export")
    if write is None:
        what = f"{domain.name} has no format of its own: its domain.yaml has no export"
        raise InputError(what, where=str(file), fix="Read the record as it is, with simia_gym.read_records.")
    check_output(out, "FILE", (), [file])
    with foreign_code(domain.folder):
        value = write(domain, records)
    write_whole(out, orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")
    output.say(f"{out}: {counted(len(records), 'episode')}")
    output.result({"file": str(out), "episodes": len(records)})
    return 0
