"""The rows that a model sees for a script: the whole tree if it is small, else its listing and the files concerned."""

from __future__ import annotations

import re
from typing import Any

from simia_gym.sandbox import ROOTS
from simia_gym.state import State
from simia_gym.trees import size_of
from simia_gym.types import JsonObject, Row, ToolCall

FILES: JsonObject = {"view": "simia_gym.envs.os.slices:files", "table": "files"}
SCRATCH: JsonObject = {"view": "simia_gym.envs.os.slices:scratch", "table": "scratch"}
LISTING: JsonObject = {"view": "simia_gym.envs.os.slices:listing", "table": "listing"}
_ROOM = 40_000  # characters of a table
_NAME = re.compile(r"[\w.+@%-]+")


def files(state: State, call: ToolCall) -> dict[str, Row]:
    """All rows of a small tree; of a large one the folders, and the files whose names or folders the script names."""
    return _shown("files", state, call)


def scratch(state: State, call: ToolCall) -> dict[str, Row]:
    """The same below /tmp."""
    return _shown("scratch", state, call)


def listing(state: State, call: ToolCall) -> dict[str, Any]:
    """Kind, mode and bytes of every file whose row is not shown; empty where all are."""
    hidden: dict[str, Any] = {}
    for table in ("files", "scratch"):
        shown = _shown(table, state, call)
        for path, row in state.rows(table):
            if path not in shown:
                hidden[path] = {**{key: row[key] for key in ("kind", "mode") if key in row}, "bytes": size_of(row)}
    return hidden


def _shown(table: str, state: State, call: ToolCall) -> dict[str, Row]:
    rows: dict[str, Row] = dict(state.rows(table))
    if sum(len(path) + len(row.get("text", "")) for path, row in rows.items()) <= _ROOM:
        return rows
    script = str(call.arguments.get("script", ""))
    names = {*_NAME.findall(script), state.at("/shell/main/cwd").rpartition("/")[2]} - {root[1:] for root in ROOTS}
    shown: dict[str, Row] = {}
    room = _ROOM
    for path, row in rows.items():
        named = row["kind"] != "file" or bool(names.intersection(path.split("/")))
        size = len(path) + len(row.get("text", ""))
        if named and size <= room:
            room -= size
            shown[path] = row
    return shown
