"""A recorded episode as people read it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simia_gym import read_records
from simia_gym.cli.app import run
from simia_gym.rewards import report


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three episodes of the expert."""
    path = tmp_path_factory.mktemp("show") / "r.jsonl"
    assert run(["rollout", "retail", "--episodes", "3", "--out", str(path)]) == 0
    return path


def test_an_episode_reads_as_a_conversation_with_its_verdict(
    record: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = next(read_records(record))
    assert run(["show", str(record)]) == 0
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert max(len(line) for line in lines if str(record) not in line) <= 80
    text = "".join("".join(lines).split())
    for event in shown.events:
        for words in (event.get("say"), event.get("observation"), (event.get("call") or {}).get("name")):
            assert "".join((words or "").split()) in text
    assert "".join(report(shown.verdict).split()) in text
    number = next(event["i"] for event in shown.events if event.get("say"))
    assert any(line.split()[:2] == [str(number), "agent"] for line in lines)


def test_a_task_is_chosen_by_its_id(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    last = list(read_records(record))[-1]
    assert run(["show", str(record), last.task, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == last.to_json()
    assert run(["show", str(record), last.task + "x"]) == 2
    assert f"Did you mean {last.task!r}?" in capsys.readouterr().err
    assert run(["show", str(record), last.task, "--member", "1"]) == 2


def test_faults_and_refused_actions_stand_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.py").write_text(
        "class Bad:\n"
        "    def act(self, messages):\n"
        "        if len(messages) > 2:\n            raise ValueError('it broke')\n"
        "        return '<tool_call>{'\n"
    )
    path = tmp_path / "r.jsonl"
    assert run(["rollout", "retail", "--episodes", "1", "--policy", f"{tmp_path}/bad.py:Bad", "--out", str(path)]) == 1
    capsys.readouterr()
    assert run(["show", str(path)]) == 0
    out = capsys.readouterr().out
    assert "<tool_call>{" in out
    assert "policy fault (bug): ValueError: it broke" in " ".join(out.split())
    assert "no reward" in out
