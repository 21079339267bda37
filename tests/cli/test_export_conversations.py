"""`simia export --format` writes what is asked for, and says what it left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simia_gym.conversations import Conversation, read_conversations
from simia_gym.rl.sft.files import read_trajectories, recorded_trajectories

from .conftest import Simia

PLAY = ("rollout", "retail", "--split", "train", "--episodes")
ODD = "class Odd:\n    def act(self, messages):\n        raise KeyError('odd')\n"


@pytest.fixture
def record(simia: Simia) -> Path:
    """Episodes of an expert, and one that a fault ended."""
    assert simia(*PLAY, 3, "--out", "r.jsonl", "--policy", "expert").code == 0
    Path("odd.py").write_text(ODD)
    assert simia(*PLAY, 1, "--out", "f.jsonl", "--policy", "odd:Odd").code != 2
    with Path("r.jsonl").open("ab") as file:
        file.write(Path("f.jsonl").read_bytes())
    return Path("r.jsonl")


@pytest.mark.slow
def test_a_record_is_exported_for_other_tools(record: Path, simia: Simia) -> None:
    known = [each for each in read_conversations(record) if isinstance(each, Conversation)]
    assert [each.valid for each in known] == [True, True, True, False]
    done = simia("export", record, "all.jsonl", "--format", "atif", "--json")
    counts = {"conversations": 4, "faults": 1, "left_out": 0, "unreadable": 0}
    assert done.json == {"file": "all.jsonl", "format": "atif", **counts}
    assert list(read_conversations("all.jsonl")) == known
    # From one format to another, and only what was good.
    assert simia("export", "all.jsonl", "good.jsonl", "--format", "openai", "--least-reward", 1).code == 0
    assert list(read_conversations("good.jsonl")) == known[:3]
    done = simia("export", record, "one.jsonl", "--format", "sharegpt", "--task", known[1].task)
    assert "one.jsonl: 1 conversation; 3 left out" in done.out
    assert list(read_conversations("one.jsonl")) == [known[1]]
    # Supervised training never learns from a fault.
    assert simia("export", record, "rows.jsonl", "--format", "openai").code == 0
    assert [each and each.reward for each in read_trajectories("rows.jsonl")] == [1.0, 1.0, 1.0, None]
    # It sees what the policy saw: the tools stand in its system message.
    read = [each and (each.messages, each.env, each.task) for each in read_trajectories("rows.jsonl")]
    assert read == [each and (each.messages, each.env, each.task) for each in recorded_trajectories(record)]
    # What cannot be read is told, and the rest is written.
    with Path("rows.jsonl").open("a") as file:
        file.write('{"messages": [3]}\n')
    done = simia("export", "rows.jsonl", "out.jsonl", "--format", "hermes")
    assert done.code == 1
    assert "not read: rows.jsonl:5: message 1 is no object" in done.err
    assert "out.jsonl: 4 conversations; 1 of them ended by a fault, without a reward; 1 not read" in done.out


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--format", "atiff"), "Did you mean 'atif'"),
        (("--format", "record"), "is only read"),
        (("--format", "openai", "--member", 1), "--member: needs a task"),
        (("--format", "openai", "--data", "x"), "--data: conversations need no data"),
        (("--format", "openai", "--task", "no"), "c.jsonl: holds no such conversation"),
        (("--least-reward", 1), "--least-reward: is for conversations"),
    ],
)
def test_what_makes_no_sense_is_refused(words: tuple[object, ...], what: str, simia: Simia) -> None:
    Path("c.jsonl").write_text(json.dumps({"messages": [{"role": "user", "content": "hi"}]}) + "\n")
    done = simia("export", "c.jsonl", "out.jsonl", *words)
    assert done.code == 2
    assert what in done.err
    assert not Path("out.jsonl").exists()
