"""What a record proves when it is run again: that it is whole, or where it is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import Simia

Line = dict[str, Any]


@pytest.fixture
def record(desk: str, simia: Simia) -> Path:
    return Path(simia("rollout", desk, "--json").json["record"])


def test_a_record_answers_in_place_of_the_world(desk: str, simia: Simia, record: Path) -> None:
    answered = ["rollout", desk, "--simulator", "replay", "--replay-from", record, "--json"]
    again = simia(*answered).json
    assert (again["valid"], again["success_rate"]) == (4, 1.0)
    other = simia(*answered, "--policy", "random").json
    assert other["valid"] < 4
    assert other["faults"]


def _tamper(path: Path, number: int, change: Callable[[Line], None]) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change(lines[number])
    path.write_text("".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines))


def _first(line: Line, kind: str) -> Line:
    return next(event for event in line["events"] if event["type"] == kind)


def _observation(line: Line) -> None:
    _first(line, "transition")["observation"] += " "


def _operation(line: Line) -> None:
    next(event for event in line["events"] if event.get("ops"))["ops"][0]["value"] = 7


def _action(line: Line) -> None:
    _first(line, "action")["text"] = "hello"


def _missing(line: Line) -> None:
    del line["events"][3:5]
    for number, event in enumerate(line["events"]):
        event["i"] = number


def _more(line: Line) -> None:
    line["events"].append({"i": len(line["events"]), "type": "action", "turn": 99, "text": "again"})


def _order(line: Line) -> None:
    line["events"][2] = dict(reversed(line["events"][2].items()))


@pytest.mark.parametrize(
    ("change", "event", "path"),
    [
        (_observation, 3, "/observation"),
        (_operation, None, None),
        (_action, 3, None),
        (_missing, None, None),
        (_more, None, ""),
        (_order, 2, None),
        ({"reward": 0.5}, None, "/reward"),
        ({"success": False}, None, "/success"),
        ({"turns": 99}, None, "/turns"),
        ({"head": "0" * 64}, None, "/head"),
        ({"seed": 7}, 0, "/seed"),
        ({"kind": "other"}, None, "/kind"),
        ({"task": "train-lend"}, 0, "/task"),
        ({"task": "no-such-task"}, None, "/task"),
        ({"domain_hash": "0" * 16}, None, "/domain_hash"),
        ({"policy": "llm:better"}, None, "/key"),
        ({"key": "0" * 32}, None, "/key"),
        ({"member": 3}, None, "/seed"),
        ({"group": "train-return#7"}, None, "/group"),
        ({"run": {"seed": 9, "group": 1}}, None, "/seed"),
        ({"run": {"seed": 0, "group": 1}}, None, "/key"),
        ({"run": {"seed": 0}}, None, "/run"),
        ({"run": {"seed": 0, "group": 1, "by": "me"}}, None, "/run"),
        ({"note": "mine"}, None, "/note"),
    ],
)
@pytest.mark.sampled
def test_tampered_record_is_found(
    record: Path, simia: Simia, change: Callable[[Line], None] | Line, event: int | None, path: str | None
) -> None:
    assert simia("replay", record).code == 0
    _tamper(record, 1, change if callable(change) else lambda line: line.update(change))
    found, told = simia("replay", record, "--json"), simia("replay", record)
    assert (found.code, found.json["records"], found.json["proven"]) == (1, 4, 3)
    divergence = found.json["divergence"]
    assert divergence["line"] == 2
    assert event is None or divergence["event"] == event
    assert path is None or divergence["path"] == path
    assert (told.code, f"first divergence: {record}:2" in told.out) == (1, True)


def test_lines_that_are_there_twice_or_written_another_way_are_named(record: Path, simia: Simia) -> None:
    whole = record.read_bytes()
    record.write_bytes(whole + whole.splitlines(keepends=True)[1])
    twice = simia("replay", record)
    assert (twice.code, f"{record}:5" in twice.out, "line 2 holds the same" in twice.out) == (1, True, True)
    record.write_bytes(whole.replace(b'"policy":"expert"', b'"policy": "expert"', 1))
    other = simia("replay", record)
    assert (other.code, "from byte" in other.out) == (1, True)


def test_broken_and_torn_lines_are_named(record: Path, simia: Simia) -> None:
    whole = record.read_bytes()
    record.write_bytes(whole[:-5])
    assert f"{record}:4: the line is torn" in simia("replay", record).err
    record.write_bytes(whole.replace(b"}\n", b"\n", 3))
    result = simia("replay", record)
    assert (result.code, f"{record}:1: not valid JSON" in result.err) == (2, True)
    assert simia("rollout", "desk", "--resume").code == 2


def test_an_environment_or_a_task_that_is_gone_is_named(record: Path, simia: Simia) -> None:
    _tamper(record, 0, lambda line: line.update(config={"env": "simia/retail-v0", "data": "/gone/away"}))
    result = simia("replay", record)
    assert (result.code, result.err.count("\n"), "/gone/away" in result.err) == (2, 1, True)
    words = ["rollout", "retail", "--generated", 1000000000, "--policy", "null", "--out", "a.jsonl"]
    assert simia(*words, "--episodes", 1).code == 0
    _tamper(Path("a.jsonl"), 0, lambda line: line.update(task="no-such-task"))
    result = simia("replay", "a.jsonl")  # it does not go through all tasks that can be generated
    assert (result.code, "there is no such task" in result.out) == (1, True)


BAD_POLICIES = """
import sys
from desk.expert import Expert

class Tired(Expert):
    def act(self, messages):
        if len(messages) > 4: raise RuntimeError('tired')
        return super().act(messages)

class Stuck(Expert):
    def act(self, messages):
        while len(messages) > 4: pass
        return super().act(messages)

class Leaves:
    def act(self, messages):
        sys.exit(0)

class Unmade(Leaves):
    def __init__(self):
        raise KeyError('no')
"""


@pytest.mark.parametrize(
    ("policy", "faults"), [("Tired", 4), ("Stuck", 4), ("Leaves", 6), ("Unmade", 6), ("expert", 1)]
)
def test_faults_are_proven_too(policy: str, faults: int, desk: str, simia: Simia) -> None:
    Path("bad.py").write_text(BAD_POLICIES)
    words = ("--timeout", 0.05) if policy == "Stuck" else ()
    tasks = Path(desk, "tasks", "test.jsonl")
    tasks.write_text(tasks.read_text().replace("/members/M-104", "/staff/x/M-104", 1))
    named = policy if policy == "expert" else f"bad:{policy}"
    result = simia("rollout", desk, "--split", "all", "--policy", named, "--json", *words)
    assert (result.code, result.json["faults"]) == (1, faults)
    assert simia("replay", result.json["record"], "--json").json["proven"] == 6


def test_changed_domain_is_named(record: Path, simia: Simia) -> None:
    policy = Path("desk/policy.md")
    policy.write_text(policy.read_text() + "\nBe kind.\n")
    result = simia("replay", record)
    assert result.code == 1
    assert "the domain or its data has changed" in result.out


def test_recorded_rollouts_of_the_real_benchmark(shared_data: Path, finish: Simia) -> None:
    words = ["verify-recorded", "retail", "--data", shared_data / "tau2" / "retail"]
    words += ["--rollouts", shared_data / "rollouts" / "retail_tau2.jsonl"]
    result = finish(*words, "--json")
    assert result.code == 0, result.err
    found = result.json
    assert found["pairs"] == found["identical"] > 400
    assert found["mismatches"] == 0
    assert found["outcome_checked"] == found["outcome_agree"] > 50
