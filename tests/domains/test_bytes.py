"""Bytes that are no text, wherever a world, a policy or a simulator hands them over: recorded by one rule."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from simia_gym import EnvConfig, as_bytes, judge_again, load_suite
from simia_gym.domain.registration import CUSTOM
from simia_gym.rollout.replay import replay_file
from simia_gym.types import Message

from ..rollout.conftest import Roll
from .test_waiting import Says, written

FOLDER = Path(__file__).parent / "fixtures" / "files"


def observations(roll: Roll) -> list[str]:
    return [event["observation"] for event in roll.records[0].events if event["type"] == "transition"]


def test_a_file_that_is_no_text_keeps_its_bytes(tmp_path: Path) -> None:
    roll = Roll(load_suite(EnvConfig(env=CUSTOM, domain=str(FOLDER))), tmp_path / "r.jsonl")
    commands = [f"printf '{octal}' > {name}" for name, octal in (("a", r"\377"), ("b", r"\376"), ("c", "base64:/w=="))]
    looks = ["cat a", "cat b", "cat c"]
    roll(lambda: Says(*map(written, ["; ".join(commands), *looks]), "Done."), episodes=1)
    assert [as_bytes(text) for text in observations(roll)[1:]] == [b"\xff", b"\xfe", b"base64:/w=="]
    rows = {op["path"]: op["value"]["text"] for op in roll.records[0].events[3]["ops"] if "files" in op["path"]}
    assert [as_bytes(text) for text in rows.values()] == [b"\xff", b"\xfe", b"base64:/w=="]
    assert all(proof.proven for proof in replay_file(roll.path))
    assert judge_again(roll.records[0]).valid


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
def test_what_a_tool_returns_is_recorded_as_it_is_shown(tmp_path: Path, result: bytes, text: str) -> None:
    folder = tmp_path / "domain"
    shutil.copytree(FOLDER, folder)
    world = folder / "world.py"
    world.write_bytes(world.read_bytes().replace(b'str(db.row("files", name)["text"])', result))
    roll = Roll(load_suite(EnvConfig(env=CUSTOM, domain=str(folder))), tmp_path / "r.jsonl")
    call = json.dumps({"name": "show", "arguments": {"name": "notes.txt"}})
    seen: list[Any] = []

    class Looks:
        def act(self, messages: Sequence[Message]) -> str:
            seen.append(messages[-1]["content"])
            return f"<tool_call>{call}</tool_call>" if len(seen) == 1 else "Done."

    roll(Looks, episodes=1)
    assert observations(roll) == seen[1:] == [text]
    assert all(proof.proven for proof in replay_file(roll.path))


def test_an_action_that_is_no_text_is_answered_as_an_error(tmp_path: Path) -> None:
    roll = Roll(load_suite(EnvConfig(env=CUSTOM, domain=str(FOLDER))), tmp_path / "r.jsonl")
    escaped = '<tool_call>{"name": "show", "arguments": {"name": "\\ud800"}}</tool_call>'
    roll(lambda: Says("half \ud800", "half \ud801", escaped, "Done."), episodes=1)
    events = roll.records[0].events
    codes = [event["code"] for event in events if event["type"] == "invalid"]
    assert codes == ["not_text", "not_text", "malformed_call"]
    assert [as_bytes(event["text"]) for event in events if event["type"] == "action"] == [
        "half \ud800".encode("utf-8", "surrogatepass"),
        "half \ud801".encode("utf-8", "surrogatepass"),
        escaped.encode(),
        b"Done.",
    ]
    assert all(proof.proven for proof in replay_file(roll.path))
