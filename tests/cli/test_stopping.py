"""What is left after an interrupt or a kill, and how the work goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ..work import wait_until
from .conftest import Simia

SLOW = """\
import asyncio, json, time
from {desk}.expert import Expert

class Slow(Expert):
    def act(self, messages):
        time.sleep(0.01)
        return super().act(messages)

class Waiting(Expert):
    async def act(self, messages):
        await asyncio.sleep(0.03)
        return super().act(messages)
"""
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def slow(desk: str) -> str:
    Path("slow.py").write_text(SLOW.format(desk=desk))
    return desk


def _wait_for_lines(path: Path, count: int) -> None:
    wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") >= count)


def _lines(path: Path) -> list[bytes]:
    return sorted(path.read_bytes().splitlines())


@pytest.mark.parametrize("policy", ["slow:Slow", "slow:Waiting"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_stopped_and_resumed(slow: str, start: Start, finish: Simia, tmp_path: Path, policy: str, how: int) -> None:
    words = ["rollout", slow, "--policy", policy, "--group", 6, "--split", "all"]
    out = tmp_path / "a.jsonl"
    process = start(*words, "--out", out)
    _wait_for_lines(out, 5)
    process.send_signal(how)
    _, err = process.communicate(timeout=30)
    saved = out.read_bytes().count(b"\n")
    assert 5 <= saved < 36
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "Traceback" not in err
        assert f"continue with: simia rollout {slow} --policy {policy}" in err
        assert f"--out {out} --resume" in err
    else:
        assert process.returncode == -signal.SIGKILL
        with out.open("ab") as file:
            file.write(b'{"v":1,"key":"torn')
    before = out.read_bytes().splitlines()[:saved]
    result = finish(*words, "--out", out, "--resume", "--json")
    assert result.code == 0, result.err
    assert result.json["episodes"] == 36
    assert result.json["reused"] == saved
    assert out.read_bytes().splitlines()[:saved] == before
    whole = tmp_path / "b.jsonl"
    assert finish(*words, "--out", whole).code == 0
    assert _lines(out) == _lines(whole)


def test_interrupt_says_what_was_saved(slow: str, start: Start, tmp_path: Path) -> None:
    process = start("rollout", slow, "--policy", "slow:Slow", "--group", 40, "--json")
    out = tmp_path / "runs" / "desk-slow-Slow-1.jsonl"
    _wait_for_lines(out, 3)
    process.send_signal(signal.SIGINT)
    said, err = process.communicate(timeout=30)
    saved = out.read_bytes().count(b"\n")
    assert process.returncode == 130
    assert f"{saved} of 160 episodes are saved in runs/desk-slow-Slow-1.jsonl" in err
    assert err.splitlines()[-1].startswith("simia: interrupted; continue with: simia rollout")
    value = json.loads(said.splitlines()[-1])
    assert (value["interrupted"], value["episodes"]) == (True, saved)


LONG = """\
import pathlib, time

class Long:
    def act(self, messages):
        pathlib.Path("begun").touch()
        time.sleep(SECONDS)
        return "x"
"""


@pytest.mark.parametrize(("seconds", "times"), [(0.6, 1), (30, 2)])
def test_interrupt_is_heard_between_slow_turns(
    desk: str, start: Start, tmp_path: Path, seconds: float, times: int
) -> None:
    Path("long.py").write_text(LONG.replace("SECONDS", str(seconds)))
    process = start("rollout", desk, "--policy", "long:Long", "--out", tmp_path / "a b.jsonl")
    wait_until((tmp_path / "begun").exists)
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    told, end = err.splitlines()
    assert told == "simia: stopping after this call; press Ctrl-C again to stop now"
    assert end.startswith("simia: interrupted; continue with: simia rollout")
    assert f"--out '{tmp_path}/a b.jsonl' --resume" in end


def test_other_commands_say_that_they_were_interrupted(
    simia: Simia, desk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from simia_gym.cli import check as checking

    def stop(*words: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(checking, "check_folder", stop)
    result = simia("check", desk)
    assert (result.code, result.err) == (130, "simia: interrupted\n")


def test_two_rollouts_never_write_to_one_file(slow: str, start: Start, finish: Simia, tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    process = start("rollout", slow, "--policy", "slow:Slow", "--group", 40, "--out", out)
    _wait_for_lines(out, 1)
    result = finish("rollout", slow, "--policy", "slow:Slow", "--group", 40, "--out", out, "--resume")
    process.kill()
    process.communicate(timeout=30)
    assert result.code == 2
    assert "another rollout is writing to it" in result.err
