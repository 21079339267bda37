"""A record that somebody changed is refused with its place: nothing crashes, and no score is believed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia_gym.types import JsonObject

from .conftest import Simia

ODD: tuple[Any, ...] = (None, -1, 1.5, "x", [], {}, [{}])
COMMANDS = ("show", "evaluate", "replay")


@pytest.fixture
def line(simia: Simia) -> JsonObject:
    """The line of one episode, whose record is r.jsonl."""
    assert simia("rollout", "retail", "--episodes", 1, "--out", "r.jsonl").code == 0
    found: JsonObject = json.loads(Path("r.jsonl").read_bytes())
    return found


def changes(line: JsonObject, place: Callable[[JsonObject], JsonObject]) -> list[tuple[str, JsonObject]]:
    """The line with each key of one of its objects taken out, or with an odd value."""
    made = []
    for key in place(line):
        for odd in ODD:
            changed = json.loads(json.dumps(line))
            place(changed)[key] = odd
            made.append((f"{key}={odd!r}", changed))
        changed = json.loads(json.dumps(line))
        del place(changed)[key]
        made.append((f"no {key}", changed))
    return made


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(lambda line: line, id="line"),
        pytest.param(lambda line: line["config"], id="config"),
        pytest.param(lambda line: line["run"], id="run"),
        pytest.param(lambda line: line["verdict"], id="verdict"),
        *(pytest.param(lambda line, at=at: line["events"][at], id=f"event {at}") for at in (0, 1, 2, 3, -1)),
    ],
)
@pytest.mark.slow
def test_odd_values_are_shown_or_refused(
    line: JsonObject, place: Callable[[JsonObject], JsonObject], simia: Simia
) -> None:
    for what, changed in changes(line, place):
        Path("r.jsonl").write_text(json.dumps(changed) + "\n")
        for command in COMMANDS[:2]:
            result = simia(command, "r.jsonl")
            assert result.code in (0, 1, 2), (what, command)
            assert "Traceback" not in result.err, (what, command)
            assert result.code != 2 or "r.jsonl" in result.err, (what, command, result.err)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("reward", 1.5, "'reward' is 1.5"),
        ("reward", -1, "'reward' is -1"),
        ("reward", None, "has no reward"),
        ("config", {}, "'env'"),
        ("run", {"seed": "x"}, "seed"),
    ],
)
def test_a_result_that_no_episode_has_is_refused(
    command: str, key: str, value: Any, words: str, line: JsonObject, simia: Simia
) -> None:
    Path("r.jsonl").write_text(json.dumps({**line, key: value}) + "\n")
    result = simia(command, "r.jsonl")
    assert result.code == 2
    assert "r.jsonl:1" in result.err
    assert words in result.err


@pytest.mark.parametrize("command", COMMANDS)
def test_an_infinite_reward_is_no_number(command: str, line: JsonObject, simia: Simia) -> None:
    text = Path("r.jsonl").read_text().replace('"reward":1.0', '"reward":1e999', 1)
    Path("r.jsonl").write_text(text)
    assert "1e999" in text
    assert simia(command, "r.jsonl").code == 2
