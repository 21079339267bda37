"""A recorded episode as people read it."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from simia_gym import read_records
from simia_gym.oracle import OracleServer
from simia_gym.record.records import Record
from simia_gym.rewards import report

from ..work import processor_limit
from .conftest import Simia


@pytest.fixture
def records(simia: Simia) -> list[Record]:
    """Three episodes of the expert, in r.jsonl."""
    assert simia("rollout", "retail", "--episodes", 3, "--out", "r.jsonl").code == 0
    return list(read_records("r.jsonl"))


def test_an_episode_reads_as_a_conversation_with_its_verdict(
    records: list[Record], simia: Simia, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = records[0]
    lines = [line.rstrip() for line in simia("show", "r.jsonl").out.splitlines()]
    assert max(len(line) for line in lines) <= 80
    text = "".join("".join(lines).split())
    for event in shown.events:
        for words in (event.get("say"), event.get("observation"), (event.get("call") or {}).get("name")):
            assert "".join((words or "").split()) in text
    assert "".join(report(shown.verdict).split()) in text
    number = next(event["i"] for event in shown.events if event.get("say"))
    assert any(line.split()[:2] == [str(number), "agent"] for line in lines)


def test_a_task_is_chosen_by_its_id(records: list[Record], simia: Simia) -> None:
    last = records[-1]
    assert simia("show", "r.jsonl", last.task, "--json").json == last.to_json()
    assert f"Did you mean {last.task!r}?" in simia("show", "r.jsonl", last.task + "x").err
    assert simia("show", "r.jsonl", last.task, "--member", 1).code == 2


def test_faults_and_refused_actions_stand_in_it(simia: Simia) -> None:
    Path("broken.py").write_text(
        "class Bad:\n"
        "    def act(self, messages):\n"
        "        if len(messages) > 2:\n            raise ValueError('it broke')\n"
        "        return '<tool_call>{'\n"
    )
    assert simia("rollout", "retail", "--episodes", 1, "--policy", "broken.py:Bad", "--out", "r.jsonl").code == 1
    out = simia("show", "r.jsonl").out
    assert any(line.split()[-2:] == ["agent", "<tool_call>{"] for line in out.splitlines())
    assert "policy fault (bug): ValueError: it broke" in " ".join(out.split())
    assert "no reward" in out


def test_long_lines_of_a_verdict_go_on_below_their_text(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert simia("rollout", "retail", "--episodes", 1, "--out", "r.jsonl").code == 0
    lines = simia("show", "r.jsonl").out.partition("\nreward 1 ")[2].splitlines()[1:]
    assert max(map(len, lines)) <= 60
    assert all(line[:2] in ("+ ", "  ") for line in lines)
    assert sum(line.startswith("+ ") for line in lines) < len(lines)


def test_the_work_is_linear_in_repeated_tags(simia: Simia) -> None:
    Path("tags.py").write_text("class Tags:\n    def act(self, messages):\n        return '<tool_call>' * 9_000\n")
    assert simia("rollout", "retail", "--episodes", 1, "--policy", "tags.py:Tags", "--out", "r.jsonl").code == 0
    with processor_limit(6):
        assert "<tool_call>" in simia("show", "r.jsonl").out


def test_a_message_stands_once_whoever_answers_it(simia: Simia, oracle: OracleServer) -> None:
    place = ("--model", "oracle", "--base-url", oracle.base_url)
    assert simia("rollout", "retail", "--episodes", 1, "--user", "llm", *place, "--out", "r.jsonl").code == 0
    said = [event["say"] for event in next(read_records("r.jsonl")).events if event.get("say")]
    lines = simia("show", "r.jsonl").out.splitlines()
    messages = [line for line in lines if line.split()[1:2] == ["agent"] and "→" not in line]
    assert said
    assert len(messages) == len(said)


def test_a_domain_of_ones_own_has_its_name(simia: Simia, desk: str) -> None:
    assert simia("rollout", desk, "--episodes", 1, "--out", "r.jsonl").code == 0
    assert simia("show", "r.jsonl").out.startswith(f"{Path(desk).name} · task ")


def test_of_a_long_record_one_episode_is_kept(simia: Simia) -> None:
    assert simia("rollout", "retail", "--episodes", 2, "--out", "r.jsonl").code == 0
    lines = Path("r.jsonl").read_bytes().splitlines(keepends=True)
    Path("r.jsonl").write_bytes(lines[0] + lines[1] * 900)
    tracemalloc.start()
    try:
        assert simia("show", "r.jsonl").code == 0
        assert tracemalloc.get_traced_memory()[1] < 300 * len(lines[1])
    finally:
        tracemalloc.stop()
