"""Scores are shown by the number of apps that a task needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simia_gym.cli.app import run as simia

PLAY = ["rollout", "officebench", "--policy", "expert", "--split", "all", "--out", "record.jsonl"]


def test_scores_are_shown_by_the_number_of_apps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert simia([*PLAY, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["groups"]["apps"]
    assert {value: one["episodes"] for value, one in found.items()} == {"1": 40, "2": 17, "3": 3}
    assert all(one["success_rate"] == 1 for one in found.values())
    assert simia(["evaluate", "record.jsonl", "--json"]) == 0
    (series,) = json.loads(capsys.readouterr().out)["series"]
    assert {value: one["tasks"] for value, one in series["groups"]["apps"].items()} == {"1": 40, "2": 17, "3": 3}
    for command in ([*PLAY, "--resume"], ["evaluate", "record.jsonl"]):
        assert simia(command) == 0
        shown = capsys.readouterr().out
        assert all(f"apps: {number} " in shown for number in (1, 2, 3))


def test_other_domains_have_no_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert simia(["rollout", "webshop", "--policy", "null", "--episodes", "1", "--out", "r.jsonl", "--json"]) == 0
    assert "groups" not in json.loads(capsys.readouterr().out)
