"""Bytes that are no text, wherever a world, a policy or a simulator hands them over: recorded by one rule."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from simia_gym import as_bytes, judge_again
from simia_gym.record.records import Record
from simia_gym.rollout.replay import replay_file
from simia_gym.types import Message

from ..simulators.desk import tool_call
from .shell import Says, played, rolled, transitions, written


def observations(record: Record) -> list[str]:
    return [event["observation"] for event in transitions(record)]


def test_a_file_that_is_no_text_keeps_its_bytes(files: Path, tmp_path: Path) -> None:
    commands = [f"printf '{octal}' > {name}" for name, octal in (("a", r"\377"), ("b", r"\376"), ("c", "base64:/w=="))]
    record = played(files, tmp_path / "r", *map(written, ["; ".join(commands), "cat a", "cat b", "cat c"]))
    assert [as_bytes(text) for text in observations(record)[1:]] == [b"\xff", b"\xfe", b"base64:/w=="]
    rows = {op["path"]: op["value"]["text"] for op in transitions(record)[0]["ops"] if "files" in op["path"]}
    assert [as_bytes(text) for text in rows.values()] == [b"\xff", b"\xfe", b"base64:/w=="]
    assert judge_again(record).valid


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (rb'b"\xff"', "base64:/w=="),
        (rb'b"\xfe"', "base64:/g=="),
        (rb'b"plain"', "plain"),
        (rb'"\ud800"', "base64:7aCA"),
        (rb'"\ud801"', "base64:7aCB"),
        (rb'"\ufffd"', "\ufffd"),
        (rb'{"a": b"\xff"}', '{"a": "base64:/w=="}'),
    ],
)
@pytest.mark.sampled
def test_what_a_tool_returns_is_recorded_as_it_is_shown(files: Path, tmp_path: Path, result: bytes, text: str) -> None:
    world = files / "world.py"
    world.write_bytes(world.read_bytes().replace(b'str(db.row("files", name)["text"])', result))
    seen: list[Any] = []

    class Looks(Says):
        def act(self, messages: Sequence[Message]) -> str:
            seen.append(messages[-1]["content"])
            return super().act(messages)

    roll = rolled(files, tmp_path / "r", lambda: Looks(tool_call("show", name="notes.txt"), "Done."))
    assert observations(roll.records[0]) == seen[1:] == [text]
    assert all(proof.proven for proof in replay_file(roll.path))


def test_an_action_that_is_no_text_is_answered_as_an_error(files: Path, tmp_path: Path) -> None:
    escaped = '<tool_call>{"name": "show", "arguments": {"name": "\\ud800"}}</tool_call>'
    events = played(files, tmp_path / "r", "half \ud800", "half \ud801", escaped).events
    codes = [event["code"] for event in events if event["type"] == "invalid"]
    assert codes == ["not_text", "not_text", "malformed_call"]
    assert [as_bytes(event["text"]) for event in events if event["type"] == "action"] == [
        "half \ud800".encode("utf-8", "surrogatepass"),
        "half \ud801".encode("utf-8", "surrogatepass"),
        escaped.encode(),
        b"Done.",
    ]
