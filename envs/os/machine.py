"""The machine at the beginning: its tables, the first message, and where the shell stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from simia_gym.common.files import read_yaml
from simia_gym.sandbox import Entry, Shell, Tree, folder, new_shell
from simia_gym.state import Draft, State
from simia_gym.trees import Clock, Moment, entry_of, path_text, row_of, text_path, time_text, time_value
from simia_gym.types import Row, Task

TREES = ("files", "scratch")
"""The tables that make up the tree."""
SCRATCH = "/tmp"


_KEPT = ("cwd", "variables", "functions", "aliases", "options")


def table_of(path: str) -> str:
    """The table in which a path stands."""
    return "scratch" if path == SCRATCH or path.startswith(f"{SCRATCH}/") else "files"


@cache
def base_tree() -> Tree:
    """The entries that every task begins with."""
    declared = read_yaml(Path(__file__).with_name("base.yaml"))
    tree = {path: folder(int(declared["modes"].get(path, "0755"), 8)) for path in declared["folders"]}
    tree |= {path: Entry("file", 0o644, text.encode()) for path, text in declared["files"].items()}
    return tree


def shell_row(shell: Shell | None = None, commands: int = 0) -> dict[str, Any]:
    """The row of a shell; by default of one that has run no command."""
    kept = asdict(new_shell() if shell is None else shell)
    return {**{name: path_text(text) for name, text in kept.items()}, "commands": commands}


def tables() -> Mapping[str, Mapping[str, Any]]:
    """The initial state that all tasks share."""
    made: dict[str, dict[str, Any]] = {"files": {}, "scratch": {}, "times": {}, "shell": {"main": shell_row()}}
    for path, entry in base_tree().items():
        made[table_of(path)][path] = row_of(entry)
    return made


def tree_of(state: State, clock: Clock) -> dict[str, Entry]:
    """The tree of a state, as it is laid out before a command."""
    standard = clock.laid(Moment())
    known = {path: clock.laid(_moment(row)) for path, row in state.rows("times")}
    return {
        text_path(path): entry_of(row, known.get(path, standard)) for table in TREES for path, row in state.rows(table)
    }


def write_tree(db: Draft, before: Tree, after: Tree, clock: Clock) -> None:
    """Write what differs between two trees into the rows."""
    laid = {clock.laid(moment): moment for moment in (Moment(), *(_moment(row) for _, row in db.rows("times")))}
    for path in before:
        if path not in after:
            key = path_text(path)
            db.remove(table_of(path), key)
            if db.has("times", key):
                db.remove("times", key)
    for path, entry in after.items():
        old = before.get(path)
        if entry == old:
            continue
        key, table = path_text(path), table_of(path)
        row = row_of(entry)
        if old is None or row != db.get(table, key):
            db.put(table, key, row)
        if old is None or entry.time != old.time:
            kept = clock.kept(entry.time, laid)
            if kept != Moment():
                db.put("times", key, {"time": time_text(kept.time), "fixed": kept.fixed})
            elif db.has("times", key):
                db.remove("times", key)


def _moment(row: Row) -> Moment:
    return Moment(time_value(row["time"]), row["fixed"])


def shell_of(state: State) -> Shell:
    """What the shell has kept."""
    row = state.at("/shell/main")
    return Shell(**{name: text_path(row[name]) for name in _KEPT})


def opening(state: State, task: Task) -> str:
    """Say the task, and where the shell stands."""
    return f"You are in a shell of bash, as root, in {state.at('/shell/main/cwd')}.\nTask: {task.instruction}"


def info(state: State) -> Mapping[str, Any]:
    """Give the working directory, and how many commands have run."""
    return {"cwd": state.at("/shell/main/cwd"), "commands": state.at("/shell/main/commands")}
