"""`simia export`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import orjson
import typer

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import domain_of
from simia_gym.cli.options import AsJson
from simia_gym.cli.records.conversations import Chosen, export_conversations
from simia_gym.cli.records.show import find_episode
from simia_gym.common.dotted_names import foreign_code
from simia_gym.common.formatting import counted
from simia_gym.common.output import Output
from simia_gym.common.writing import check_output, write_whole
from simia_gym.domain.domain import Domain
from simia_gym.errors import InputError, StorageError
from simia_gym.record.records import read_records
from simia_gym.rollout.judge_again import finished_episode


def export_records(
    file: Annotated[Path, typer.Argument(metavar="RECORD", help="A record; with --format any file of conversations.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file or the folder to write.")],
    *,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Write conversations: openai, sharegpt, hermes, atif, adp, or that of a plugin, such as verl and trl.",
        ),
    ] = None,
    least_reward: Annotated[
        float | None, typer.Option(metavar="R", help="With --format: only what has a reward, and at least this one.")
    ] = None,
    task: Annotated[str | None, typer.Option(metavar="ID", help="The task of an episode; else the first one.")] = None,
    member: Annotated[int, typer.Option(metavar="N", min=0, help="Which episode of the task.")] = 0,
    data: Annotated[str | None, typer.Option(metavar="DIR", help="Your own data for the domain.")] = None,
    json: AsJson = False,
) -> int:
    """Write a record in another format: that of the domain's own benchmark, or conversations for other tools.

    Raises:
        InputError: The record cannot be read, its domain has no such format, or the file cannot be written.
    """
    output = Output(json)
    if format is not None:
        if data is not None:
            raise InputError("conversations need no data", where="--data", fix="Leave it out.")
        return export_conversations(file, out, format, Chosen(task, member, least_reward), output)
    if least_reward is not None:
        raise InputError("is for conversations", where="--least-reward", fix="Add --format NAME.")
    config = next((EnvConfig.from_json(record.config) for record in read_records(file, torn="skip")), None)
    if config is None:
        raise InputError("there is no finished episode in it", where=str(file), fix="Give another record.")
    domain = domain_of(replace(config, data=None))  # a record holds all that a folder needs
    if domain.hook("export_folder") is not None:
        return _export_folder(domain, file, out, task, member, output)
    if task is not None or member:
        what = f"{domain.name} exports whole records: its domain.yaml has no export_folder"
        raise InputError(what, where="--task", fix="Leave --task and --member out.")
    domain = domain_of(config if data is None else replace(config, data=data))
    write = domain.hook("export")
    if write is None:
        what = f"{domain.name} has no format of its own: its domain.yaml has neither export nor export_folder"
        raise InputError(what, where=str(file), fix="Write conversations, such as with --format openai.")
    check_output(out, "FILE", (), [file])
    records = list(read_records(file, torn="skip"))
    with foreign_code(domain.folder):
        value = write(domain, records)
    write_whole(out, orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")
    output.say(f"{out}: {counted(len(records), 'episode')}")
    output.result({"file": str(out), "episodes": len(records)})
    return 0


def _export_folder(domain: Domain, file: Path, out: Path, task: str | None, member: int, output: Output) -> int:
    """Write the end of an episode as a folder."""
    record, tasks = find_episode(file, task, member)
    finished = finished_episode(record)
    if finished is None:
        raise InputError("a fault ended the episode", where=f"{file}:{record.line}", fix="Give another --task.")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError("is there already, and no empty folder", where=str(out), fix="Give another OUT.")
    write: Any = domain.hook("export_folder")
    with foreign_code(domain.folder):
        files: Mapping[str, bytes] = write(domain, finished.final)
    paths = [PurePosixPath(name) for name in files]
    for path in paths:
        if path.is_absolute() or ".." in path.parts or not path.parts:
            what = f"the episode has a file {str(path)!r}, which is outside of every folder"
            raise InputError(what, where=f"{file}:{record.line}", fix="Give another --task.")
    try:
        out.mkdir(parents=True, exist_ok=True)
        for path, data in zip(paths, files.values(), strict=True):
            place = out / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
    except OSError as error:
        fix = "Make room, or give another OUT."
        raise StorageError(f"cannot be written ({error.strerror})", where=str(out), fix=fix) from error
    which = f"task {record.task}, episode {record.member}"
    others = f" (1 of {counted(len(tasks), 'episode')}; another one with --task)" if len(tasks) > 1 else ""
    output.say(f"{out}: {counted(len(files), 'file')} of {which}{others}")
    output.result({"folder": str(out), "task": record.task, "member": record.member, "files": sorted(map(str, paths))})
    return 0
