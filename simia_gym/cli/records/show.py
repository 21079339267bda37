"""`simia show`: a recorded episode as a conversation, with its verdict."""

from __future__ import annotations

import json as jsonlib
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from simia_gym.cli.options import AsJson
from simia_gym.common.formatting import counted
from simia_gym.common.output import Output
from simia_gym.errors import InputError, did_you_mean
from simia_gym.record.events import check_form
from simia_gym.record.explain import report
from simia_gym.record.records import Record, read_records
from simia_gym.types import JsonObject

_CALL, _CALL_END = "<tool_call>", "</tool_call>"
_BEGINNING = re.compile(r"^([+!?~-] \S+)? *")
"""What stands before the text of a line of a verdict: mark and criterion, or white space."""
_MOST = 4_000
"""The longest text that is shown whole, in characters."""
_STYLES = {"agent": "cyan", "user": "green", "tool": "yellow", "error": "red", "model": "magenta"}


def show_episode(
    path: Annotated[Path, typer.Argument(metavar="RECORD", help="A record that `simia rollout` wrote.")],
    task: Annotated[str | None, typer.Argument(metavar="[TASK]", help="A task's id; else the first episode.")] = None,
    *,
    member: Annotated[int, typer.Option(metavar="N", min=0, help="Which episode of the task.")] = 0,
    json: AsJson = False,
) -> int:
    """Print a recorded episode as a conversation, with its verdict.

    Raises:
        InputError: The record cannot be read, or has no such episode.
    """
    record, tasks = find_episode(path, task, member)
    output = Output(json)
    output.say(f"{_title(record)} · task {record.task} ({record.kind}) · policy {record.policy} · seed {record.seed}")
    grid = Table.grid(padding=(0, 1))
    grid.add_column(justify="right", style="dim")
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for number, speaker, text in _conversation(record):
        more = len(text) - _MOST
        shown = text if more <= 0 else f"{text[:_MOST]}… {more} more characters; --json prints all"
        grid.add_row(str(number), Text(speaker, style=_STYLES.get(speaker, "")), Text(shown))
    output.console.print(grid)
    output.say(f"\nended by {record.ended} after {counted(record.turns, 'turn')}")
    for row in report(record.verdict).splitlines():
        under = " " * (len(row) - len(_BEGINNING.sub("", row)))
        output.console.print(Text("\n".join(wrap(row, output.console.width, subsequent_indent=under))))
    if task is None and len(tasks) > 1:
        output.say(f"\n1 of {counted(len(tasks), 'episode')}; another one: simia show {path} {tasks[-1]}")
    output.result(record.to_json())
    return 0


def find_episode(path: Path, task: str | None, member: int) -> tuple[Record, list[str]]:
    """The episode that is asked for, and the task of each episode; of a long record, no other one is kept."""
    found: Record | None = None
    tasks: list[str] = []
    for record in read_records(path, torn="skip"):
        tasks.append(record.task)
        if found is None and record.task == (tasks[0] if task is None else task) and record.member == member:
            found = record
    if not tasks:
        raise InputError("there is no finished episode in it", where=str(path), fix="Give another record.")
    if found is None:
        wanted, known = tasks[0] if task is None else task, list(dict.fromkeys(tasks))
        fix = f"{did_you_mean(wanted, known)}It holds {counted(len(known), 'task')}, such as {known[0]}."
        raise InputError(f"there is no episode {member} of task {wanted!r}", where=str(path), fix=fix)
    check_form(found, f"{path}:{found.line}")
    return found, tasks


def _title(record: Record) -> str:
    """The environment's id, or the name of a domain of one's own."""
    return str(record.start.get("env", "custom") if "domain" in record.config else record.config["env"]).removeprefix(
        "simia/"
    )


def _conversation(record: Record) -> Iterator[tuple[int, str, str]]:
    """What was said: the number of the event, to which the verdict's evidence refers, the speaker, and the text."""
    written_out = False
    for number, event in enumerate(record.events):
        kind = event["type"]
        if kind == "message":
            yield number, event["speaker"], event["text"]
        elif kind == "action":
            answer = _answer(record, number)
            # An action that could not be read is shown as it came.
            spoken = event["text"].strip() if answer.get("type") == "invalid" else _beside_calls(event["text"])
            written_out = spoken == event["text"].strip()
            if spoken and answer.get("say") is None:
                yield number, "agent", spoken
        elif kind == "invalid":
            yield number, "error", event["text"]
        elif kind == "transition":
            if event["say"] is not None:
                yield number, "agent", event["say"]
            elif not written_out:
                yield number, "agent", _call_text(event["call"])
            speaker = "error" if event["outcome"] == "error" else event["speaker"]
            yield number, speaker, event["observation"]
        elif kind == "rejected":
            yield number, "model", "an answer that broke the rules and was not used"
        elif kind == "unread":
            said = f"a reply of the {event['role']} that could not be read, since {event['problem']}"
            yield number, "model", f"{said}: {event['reply']}"
        elif kind == "fault":
            yield number, "error", f"{event['role']} fault ({event['kind']}): {event['message']}"


def _answer(record: Record, action: int) -> JsonObject:
    """The first answer to an action; a model's replies may stand between them. Empty if a fault came first."""
    for event in record.events[action + 1 :]:
        if event["type"] in ("transition", "invalid"):
            return event
        if event["type"] == "action":
            break
    return {}


def _beside_calls(action: str) -> str:
    """The text of an action besides its tool calls."""
    kept, position = list[str](), 0
    while (begin := action.find(_CALL, position)) >= 0 and (end := action.find(_CALL_END, begin)) >= 0:
        kept.append(action[position:begin])
        position = end + len(_CALL_END)
    text = "".join([*kept, action[position:]]).strip()
    try:
        message = jsonlib.loads(text)
    except ValueError:
        return text
    return str(message.get("content") or "") if isinstance(message, dict) else ""


def _call_text(call: dict[str, Any]) -> str:
    arguments = ", ".join(
        f"{name}={jsonlib.dumps(value, ensure_ascii=False)}" for name, value in call["arguments"].items()
    )
    return f"→ {call['name']}({arguments})"
