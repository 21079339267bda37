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


def _tamper(path: Path, number: int, change: Callable[[Line], None]) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change(lines[number])
    path.write_text("".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines))


def _first(line: Line, kind: str) -> Line:
    return next(event for event in line["events"] if event["type"] == kind)


def _observation(line: Line) -> None:
    _first(line, "transition")["observation"] += " "


def _operation(line: Line) -> None:
    _first({"events": [e for e in line["events"] if e.get("ops")]}, "transition")["ops"][0]["value"] = 7


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


def _setter(name: str, value: Any) -> Callable[[Line], None]:
    def change(line: Line) -> None:
        line[name] = value

    return change


@pytest.mark.parametrize(
    ("change", "event", "path"),
    [
        (_observation, 3, "/observation"),
        (_operation, None, None),
        (_action, 3, None),
        (_missing, None, None),
        (_more, None, ""),
        (_order, 2, None),
        (_setter("reward", 0.5), None, "/reward"),
        (_setter("success", False), None, "/success"),
        (_setter("turns", 99), None, "/turns"),
        (_setter("head", "0" * 64), None, "/head"),
        (_setter("seed", 7), 0, "/seed"),
        (_setter("kind", "other"), None, "/kind"),
        (_setter("task", "train-lend"), 0, "/task"),
        (_setter("task", "no-such-task"), None, "/task"),
        (_setter("domain_hash", "0" * 16), None, "/domain_hash"),
        (_setter("policy", "llm:better"), None, "/key"),
        (_setter("key", "0" * 32), None, "/key"),
        (_setter("member", 3), None, "/seed"),
        (_setter("group", "train-return#7"), None, "/group"),
        (_setter("run", {"seed": 9, "group": 1}), None, "/seed"),
        (_setter("run", {"seed": 0, "group": 1}), None, "/key"),
        (_setter("run", {"seed": 0}), None, "/run"),
        (_setter("run", {"seed": 0, "group": 1, "by": "me"}), None, "/run"),
        (_setter("note", "mine"), None, "/note"),
    ],
)
def test_tampered_record_is_found(
    record: Path, simia: Simia, change: Callable[[Line], None], event: int | None, path: str | None
) -> None:
    assert simia("replay", record).code == 0
    _tamper(record, 1, change)
    result = simia("replay", record, "--json")
    assert result.code == 1
    found = result.json
    assert (found["records"], found["proven"]) == (4, 3)
    assert found["divergence"]["line"] == 2
    if event is not None:
        assert found["divergence"]["event"] == event
    if path is not None:
        assert found["divergence"]["path"] == path
    told = simia("replay", record)
    assert told.code == 1
    assert f"first divergence: {record}:2" in told.out


def test_line_that_is_there_twice_is_named(record: Path, simia: Simia) -> None:
    lines = record.read_bytes().splitlines(keepends=True)
    record.write_bytes(b"".join([*lines, lines[1]]))
    result = simia("replay", record)
    assert result.code == 1
    assert "proven 4 of 5" in result.out
    assert f"{record}:5" in result.out
    assert "line 2 holds the same episode" in result.out


def test_line_written_another_way_is_named(record: Path, simia: Simia) -> None:
    record.write_bytes(record.read_bytes().replace(b'"policy":"expert"', b'"policy": "expert"', 1))
    result = simia("replay", record)
    assert result.code == 1
    assert "the line is written another way, from byte" in result.out


def test_generated_task_that_is_missing_is_not_searched_for(simia: Simia) -> None:
    words = ["rollout", "retail", "--generated", 1000000000, "--policy", "null", "--out", "a.jsonl"]
    assert simia(*words, "--episodes", 1).code == 0
    _tamper(Path("a.jsonl"), 0, _setter("task", "no-such-task"))
    result = simia("replay", "a.jsonl")
    assert result.code == 1
    assert "there is no such task" in result.out


def test_changed_domain_is_named(record: Path, simia: Simia) -> None:
    policy = Path("desk/policy.md")
    policy.write_text(policy.read_text() + "\nBe kind.\n")
    from simia_gym.domain import loading

    loading._load.cache_clear()  # another process would not have it
    result = simia("replay", record)
    assert result.code == 1
    assert "the domain or its data has changed" in result.out


def test_broken_line_is_named(record: Path, simia: Simia) -> None:
    lines = record.read_text().splitlines()
    lines[2] = lines[2][:-5]
    record.write_text("\n".join(lines) + "\n")
    result = simia("replay", record)
    assert result.code == 2
    assert f"{record}:3: not valid JSON" in result.err
    assert simia("rollout", "desk", "--resume").code == 2


def test_torn_line_is_named(record: Path, simia: Simia) -> None:
    record.write_bytes(record.read_bytes()[:-5])
    result = simia("replay", record)
    assert result.code == 2
    assert f"{record}:4: the line is torn" in result.err


def test_faulted_episodes_replay_too(desk: str, simia: Simia) -> None:
    Path("third.py").write_text(
        "from desk.expert import Expert\n"
        "class Third(Expert):\n"
        "    def act(self, messages):\n"
        "        if len(messages) > 4: raise RuntimeError('tired')\n"
        "        return super().act(messages)\n"
        "class Stuck(Expert):\n"
        "    def act(self, messages):\n"
        "        while len(messages) > 4: pass\n"
        "        return super().act(messages)\n"
    )
    for policy, words in (("third:Third", ()), ("third:Stuck", ("--timeout", "0.05"))):
        result = simia("rollout", desk, "--policy", policy, "--json", *words)
        assert result.code == 1
        assert result.json["faults"] == 3
        assert simia("replay", result.json["record"], "--json").json["proven"] == 4


def test_recorded_rollouts_of_the_real_benchmark(shared_data: Path, finish: Simia) -> None:
    words = ["verify-recorded", "retail", "--data", shared_data / "tau2" / "retail"]
    words += ["--rollouts", shared_data / "rollouts" / "retail_tau2.jsonl"]
    result = finish(*words, "--json")
    assert result.code == 0, result.err
    found = result.json
    assert found["pairs"] == found["identical"] > 400
    assert found["mismatches"] == 0
    assert found["outcome_checked"] == found["outcome_agree"] > 50


def test_answers_that_differ_are_short_lines(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    from simia_gym.cli import verify_recorded as recorded

    call = {"name": "get_order", "arguments": {"id": "x" * 200}}
    same = "same words " * 40
    found = {
        "pairs": 9,
        "mismatches": 9,
        "outcome_checked": 1,
        "outcome_agree": 0,
        "first_mismatches": [
            {"episode": f"e{n}", "call": call, "expected": f"{same}A\nB", "got": f"{same}C"} for n in range(9)
        ],
        "first_disagreements": [{"episode": "e0", "expected": 1.0, "got": 0.0, "database": False}],
    }
    monkeypatch.setattr(recorded, "verify_recorded", lambda *words, **named: found)
    result = simia("verify-recorded", "retail", "--data", ".", "--rollouts", "r.jsonl")
    lines = [line for line in result.out.splitlines() if line.startswith("differs:")]
    assert result.code == 1
    assert len(lines) == 6
    assert all(len(line) < 300 for line in lines)
    assert "A B" in lines[0]
    assert lines[-1] == "differs: episode e0, outcome: expected 1.0, got 0.0"
    assert "{'" not in result.out


def test_faults_are_proven_too(desk: str, simia: Simia) -> None:
    Path("bad.py").write_text(
        "import sys\n\n\nclass Leaves:\n    def act(self, messages):\n        sys.exit(0)\n\n\n"
        "class Unmade(Leaves):\n    def __init__(self):\n        raise KeyError('no')\n"
    )
    tasks = Path(desk, "tasks", "test.jsonl")
    tasks.write_text(tasks.read_text().replace("/members/M-104", "/staff/x/M-104", 1))
    for policy, faults in (("bad:Leaves", 6), ("bad:Unmade", 6), ("expert", 1)):
        result = simia("rollout", desk, "--split", "all", "--policy", policy, "--json")
        assert (result.code, result.json["faults"]) == (1, faults)
        assert simia("replay", result.json["record"], "--json").json["proven"] == 6


def test_environment_that_is_gone_is_one_clear_line(record: Path, simia: Simia) -> None:
    _tamper(record, 0, _setter("config", {"env": "simia/retail-v0", "data": "/gone/away"}))
    result = simia("replay", record)
    assert result.code == 2
    assert "/gone/away" in result.err
    assert len(result.err.splitlines()) == 1
