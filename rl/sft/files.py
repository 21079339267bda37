"""Trajectories in files: record files of `simia rollout`, and data sets in JSON lines or Parquet, one in each row.

Trainers of chat models read the column ``messages``; the other columns describe the origin of the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson

from simia_gym.actions import Grammar, get_grammar
from simia_gym.actions.calls import call_from
from simia_gym.actions.thinking import CLOSE, OPEN
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import domain_of
from simia_gym.common.files import read_jsonl
from simia_gym.conversations.messages import normal_tools
from simia_gym.conversations.parquet import keeps_json, rows_with_nulls
from simia_gym.conversations.prompt import with_tools
from simia_gym.errors import ActionError, InputError
from simia_gym.record.records import Record, read_records
from simia_gym.record.transcript import transcript
from simia_gym.rl.chat.trajectories import Trajectory, trajectories_of
from simia_gym.rl.extras import require
from simia_gym.rl.sft.arrow_nulls import without_padding
from simia_gym.types import Calls, JsonObject, Message, ToolCall
from simia_gym.views.history import HistoryView

PARQUET = ".parquet"


def write_trajectories(path: Path | str, trajectories: Iterable[Trajectory]) -> int:
    """Write a data set as Parquet if the name ends in ``.parquet``, else as JSON lines; return the number of rows."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [asdict(trajectory) for trajectory in trajectories]
    if path.suffix == PARQUET:
        require("trl", "datasets")
        from datasets import Dataset

        Dataset.from_list(rows).to_parquet(str(path))
    else:
        path.write_bytes(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows))
    return len(rows)


def read_trajectories(
    path: Path | str,
    *,
    system: Callable[[str], str | None] | None = None,
    prompt: str = "",
    tools: Callable[[str], Sequence[JsonObject]] = lambda _: (),
) -> Iterator[Trajectory | None]:
    """Read a data set of conversations.

    Reads files of `write_trajectories` and any rows with ``messages`` in OpenAI's format. Calls in ``tool_calls`` are
    appended to the message's text, in the format in which a policy writes them, and ``reasoning_content`` is put before
    it as thinking. An assistant's greeting before the
    user's first message is removed, since episodes have none. Tools of a column ``tools`` are written into the row's
    system message, as policies see them. A row that says ``"valid": false``, as those of `simia
    export` do where a fault ended the episode, is ``None``, as in `recorded_trajectories`.

    Args:
        path: The file; Parquet if its name ends in ``.parquet``, else JSON lines.
        system: Returns the system message of an environment, given its id or short name, for rows without one; ``None``
            for an unknown environment. Without this function such rows stay unchanged.
        prompt: Kind of that system message, ``full`` or ``compact``.
        tools: Returns the tools of an environment, for rows of a Parquet file that have no column ``tools``: by their
            schemas the nulls go that Arrow puts into calls.

    Raises:
        InputError: The file is missing; or a row is no conversation, has a dev or test task, or needs a system message
            of an unknown environment, or has a null of which nobody can say whose it is; names the row.
    """
    path = Path(path)
    padded = path.suffix == PARQUET and path.is_file() and not keeps_json(path, "messages")
    for where, row in _rows(path):
        if isinstance(row, Mapping) and row.get("valid") is False:
            yield None
            continue
        if isinstance(row, Mapping) and isinstance(row.get("messages"), list):
            name = str(row.get("env") or row.get("domain") or "")
            messages = row["messages"]
            if padded and any(isinstance(one, dict) and one.get("tool_calls") for one in messages):
                known = _own_tools(row, where) or tools(name)
                messages = [without_padding(one, known, where) if isinstance(one, Mapping) else one for one in messages]
            messages = _with_tools(messages, _own_tools(row, where), where)
            row = {**row, "messages": _as_raw_text(messages, where), "env": name}
            row["source"] = row.get("source") or path.name
        found = Trajectory.from_json(row if isinstance(row, Mapping) else {}, where)
        if found.split in ("dev", "test"):
            fix = "Train on train tasks."
            raise InputError(f"task {found.task} is a {found.split} task", where=where, fix=fix)
        if system is not None and found.messages[0]["role"] != "system":
            text = system(found.env)
            if text is None:
                what = f"it has no system message, and its environment is {found.env!r}"
                fix = "Add a system message, or name a known environment in the column env."
                raise InputError(what, where=where, fix=fix)
            found = replace(found, messages=[{"role": "system", "content": text}, *found.messages], prompt=prompt)
        yield found


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    if path.suffix != PARQUET:
        for number, row in read_jsonl(path, what="file"):
            yield f"{path}:{number}", row
        return
    if not path.is_file():
        raise InputError("there is no such file", where=str(path), fix="Check the path.")
    yield from rows_with_nulls(path)


def _own_tools(row: Mapping[str, Any], where: str) -> list[JsonObject]:
    """The tools in a row's column ``tools``, without the nulls that Arrow puts into schemas."""
    found = row.get("tools")
    if isinstance(found, str):
        try:
            found = orjson.loads(found)
        except orjson.JSONDecodeError:
            raise InputError("its tools are no JSON", where=where, fix="Fix the row.") from None
    return [_without_nulls(tool) for tool in found if isinstance(tool, Mapping)] if isinstance(found, list) else []


def _with_tools(messages: list[Any], tools: list[JsonObject], where: str) -> list[Any]:
    """The messages with the tools of the row's column in the system message, as policies see them."""
    first = messages[0] if messages else None
    if not isinstance(first, dict) or first.get("role") != "system" or not isinstance(first.get("content"), str):
        return messages
    try:
        return [{**first, "content": with_tools(first["content"], normal_tools(tools))}, *messages[1:]]
    except InputError as error:
        raise InputError(error.what, where=where, fix="Fix the row.") from error


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _as_raw_text(messages: list[Any], where: str) -> list[Any]:
    """The messages with tool calls as text and without a greeting."""
    said = [_with_calls(message, where) if isinstance(message, dict) else message for message in messages]
    opening = said[0] if said and isinstance(said[0], dict) else {}
    return said[1:] if opening.get("role") == "assistant" else said


def _with_calls(message: Message, where: str) -> Message:
    listed, content = message.get("tool_calls"), message.get("content") or ""
    thought = message.get("reasoning_content")
    if isinstance(thought, str) and thought and isinstance(content, str):
        content = f"{OPEN}\n{thought}\n{CLOSE}\n\n{content}"
    if not listed or not isinstance(content, str):
        return {**message, "content": content}
    try:
        read = [call_from(item, lenient=True) for item in listed]
    except ActionError as error:
        raise InputError(f"a tool call cannot be read. {error}", where=where, fix="Fix the row.") from error
    text = get_grammar("tools").render(Calls(tuple(ToolCall(call.name, call.arguments) for call in read)))
    thinking, closed, said = content.rpartition(CLOSE)
    # As Qwen3's template: a blank line after thinking, whatever follows, and a line's end after a text.
    before = f"{thinking.lstrip()}{CLOSE}\n\n" if closed else ""
    return {"role": message["role"], "content": before + "\n".join(filter(None, [said.strip(), text]))}


def is_record_file(path: Path | str) -> bool:
    """Whether a file is a record file of `simia rollout`, of any version, by its first bytes."""
    try:
        with Path(path).open("rb") as file:
            return re.match(rb'{"v":\d+,"key":"', file.read(20)) is not None
    except OSError:
        return False


def recorded_trajectories(path: Path | str) -> Iterator[Trajectory | None]:
    """Read the conversations of a record file; with a ``history``, they are written by the domain's view of now.

    Yields:
        The conversation (with a ``history`` one for each turn); ``None`` for an episode that a fault left without a
        verdict. Those of a domain's `dev_of_train` say split ``dev``.

    Raises:
        InputError: The file or its blob file is broken, or was played with another split than train.
    """
    for record in read_records(path, torn="skip"):
        split = "dev" if record.config.get("split") == "dev" else record.split
        if split in ("dev", "test"):
            fix = "Train on train tasks; roll out with --split train."
            raise InputError(f"task {record.task} is a {split} task", where=f"{path}:{record.line}", fix=fix)
        if not record.valid or record.reward is None:
            yield None
            continue
        yield from trajectories_of(
            record.events,
            transcript(record, native=False),
            _history(record),
            record.content("task").get("instruction"),
            env=record.config["env"],
            split="dev" if record.start.get("dev") else record.split,
            source=record.policy,
        )


def _history(record: Record) -> tuple[HistoryView, Grammar] | None:
    """The view that wrote the prompts of a record, as its domain has it now; ``None`` for the whole transcript."""
    if "history" not in record.start:
        return None
    domain = domain_of(EnvConfig.from_json(record.config))
    view = domain.history_view(record.start["history"])
    return None if view is None else (view, domain.grammar)
