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
import asyncio, pathlib, time
from {desk}.expert import Expert

class Slow(Expert):
    def act(self, messages):
        time.sleep(0.01)
        return super().act(messages)

class Waiting(Expert):
    async def act(self, messages):
        await asyncio.sleep(0.03)
        return super().act(messages)

class Long:
    def act(self, messages):
        pathlib.Path("begun").touch()
        time.sleep({seconds})
        return "x"
"""
Start = Callable[..., subprocess.Popen[str]]


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.parametrize(
    ("policy", "how", "code"),
    [
        ("slow:Slow", signal.SIGKILL, -signal.SIGKILL),
        ("slow:Slow", signal.SIGINT, 130),
        ("slow:Waiting", signal.SIGINT, 130),
        ("slow:Waiting", signal.SIGTERM, 143),
    ],
)
@pytest.mark.slow
def test_stopped_and_resumed(
    desk: str, start: Start, finish: Simia, tmp_path: Path, policy: str, how: int, code: int
) -> None:
    Path("slow.py").write_text(SLOW.format(desk=desk, seconds=0))
    words = ["rollout", desk, "--policy", policy, "--group", 6, "--split", "all", "--json"]
    out = tmp_path / "a.jsonl"
    process = start(*words, "--out", out)
    wait_until(lambda: _lines(out) >= 5)
    process.send_signal(how)
    said, err = process.communicate(timeout=30)
    saved = _lines(out)
    assert 5 <= saved < 36
    assert process.returncode == code
    if how == signal.SIGKILL:
        with out.open("ab") as file:
            file.write(b'{"v":2,"key":"torn')
    else:
        value = json.loads(said.splitlines()[-1])
        assert (value["interrupted"], value["episodes"]) == (True, saved)
        assert f"{saved} of 36 episodes are saved in {out}" in err
        end = err.splitlines()[-1]
        assert end.startswith(f"simia: interrupted; continue with: simia rollout {desk} --policy {policy}")
        assert end.endswith(f"--out {out} --resume")
        assert "Traceback" not in err
    before = out.read_bytes().splitlines()[:saved]
    result = finish(*words, "--out", out, "--resume")
    assert (result.code, result.json["episodes"], result.json["reused"]) == (0, 36, saved)
    assert out.read_bytes().splitlines()[:saved] == before
    whole = tmp_path / "b.jsonl"
    assert finish(*words, "--out", whole).code == 0
    assert sorted(out.read_bytes().splitlines()) == sorted(whole.read_bytes().splitlines())


@pytest.mark.parametrize(("seconds", "times"), [(0.6, 1), (30, 2)])
def test_interrupt_is_heard_between_slow_turns(
    desk: str, start: Start, tmp_path: Path, seconds: float, times: int
) -> None:
    Path("slow.py").write_text(SLOW.format(desk=desk, seconds=seconds))
    process = start("rollout", desk, "--policy", "slow:Long", "--out", tmp_path / "a b.jsonl")
    wait_until((tmp_path / "begun").exists)
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    _, err = process.communicate(timeout=20)
    told, end = err.splitlines()
    assert (process.returncode, told.startswith("simia: stopping after this call")) == (130, True)
    assert end.startswith("simia: interrupted; continue with: simia rollout")
    assert f"--out '{tmp_path}/a b.jsonl' --resume" in end


def test_other_commands_say_that_they_were_interrupted(
    simia: Simia, desk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from simia_gym.cli import check as checking

    def stop(*words: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(checking, "check_watched", stop)
    result = simia("check", desk)
    assert (result.code, result.err) == (130, "simia: interrupted\n")


@pytest.mark.slow
def test_rollouts_at_the_same_time_write_to_files_of_their_own(desk: str, start: Start) -> None:
    runs = [start("rollout", desk, "--json") for _ in range(4)]
    records = {json.loads(run.communicate(timeout=60)[0].splitlines()[-1])["record"] for run in runs}
    assert records == {f"runs/desk-expert-{number}.jsonl" for number in (1, 2, 3, 4)}
