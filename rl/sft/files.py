"""Data sets of conversations as files: JSON lines or Parquet, one conversation a row.

The column ``messages`` is what trainers of chat models read; the others say where a conversation comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from simia_gym.actions import get_grammar
from simia_gym.errors import InputError
from simia_gym.files import parse_json
from simia_gym.rl.extras import require
from simia_gym.rl.sft.trajectories import Trajectory
from simia_gym.types import Calls, Message, ToolCall

PARQUET = ".parquet"


def write_trajectories(path: Path | str, trajectories: Iterable[Trajectory]) -> int:
    """Write a data set.

    Args:
        path: The file; Parquet if it ends so, else JSON lines.
        trajectories: The conversations.

    Returns:
        How many there were.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [trajectory.to_json() for trajectory in trajectories]
    if path.suffix == PARQUET:
        require("trl", "datasets")
        from datasets import Dataset

        Dataset.from_list(rows).to_parquet(str(path))
    else:
        path.write_bytes(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows))
    return len(rows)


def read_trajectories(path: Path | str, *, system: Mapping[str, str] | None = None) -> Iterator[Trajectory]:
    """Read a data set of conversations.

    Besides what `write_trajectories` wrote it takes any rows with ``messages`` in the OpenAI layout: calls in
    ``tool_calls`` are written out as text, as a policy says them, and a greeting before the user's first message is
    left out, since nobody greets in an episode.

    Args:
        path: The file; Parquet if it ends so, else JSON lines.
        system: System messages by environment id or by the name in it, for rows that have none.

    Raises:
        InputError: The file is missing, or a row is no conversation; names the row.
    """
    path = Path(path)
    for where, row in _rows(path):
        if isinstance(row, Mapping) and isinstance(row.get("messages"), list):
            name = str(row.get("env") or row.get("domain") or "")
            row = {**row, "messages": _as_said(row["messages"], (system or {}).get(name), where)}
            row.setdefault("env", name)
            row.setdefault("source", path.name)
        yield Trajectory.from_json(row if isinstance(row, Mapping) else {}, where)


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    if not path.is_file():
        raise InputError("there is no such file", where=str(path), fix="Check the path.")
    if path.suffix == PARQUET:
        require("trl", "datasets")
        from datasets import Dataset

        for number, row in enumerate(Dataset.from_parquet(str(path)), start=1):
            yield f"{path}, row {number}", row
        return
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield f"{path}:{number}", parse_json(line, where=str(path), line=number)


def _as_said(messages: list[Any], system: str | None, where: str) -> list[Any]:
    """The messages with calls as text, and with the system message in front."""
    said = [_with_calls(message, where) if isinstance(message, dict) else message for message in messages]
    opening = said[0] if said and isinstance(said[0], dict) else {}
    if opening.get("role") == "system":
        return said
    if opening.get("role") == "assistant":
        said = said[1:]
    return said if system is None else [{"role": "system", "content": system}, *said]


def _with_calls(message: Message, where: str) -> Message:
    listed = message.get("tool_calls")
    if not listed:
        return {**message, "content": message.get("content") or ""}
    calls = []
    for item in listed:
        function = item.get("function") or item
        arguments = function.get("arguments")
        decoded = parse_json(arguments, where=where) if isinstance(arguments, str) else arguments
        if not isinstance(function.get("name"), str) or not isinstance(decoded, dict):
            raise InputError("a tool call has no name or no arguments", where=where, fix="Mend the row.")
        calls.append(ToolCall(function["name"], decoded))
    text = get_grammar("tools").render(Calls(tuple(calls)))
    return {"role": message["role"], "content": text}
