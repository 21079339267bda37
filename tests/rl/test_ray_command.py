"""`simia rollout --ray` and `simia evaluate --ray` as a user runs them, each with a cluster of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from simia_gym.cli.scaffold import write_domain
from simia_gym.rollout.records import read_records

from .libraries import need

need("ray")
pytestmark = pytest.mark.slow_rl

PROGRAM = [sys.executable, "-c", "from simia_gym.cli import main; main()"]
SLOW = """
import asyncio
class Slow:
    def __init__(self): self.expert = Expert()
    async def act(self, messages):
        await asyncio.sleep(0.2)
        return self.expert.act(messages)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the example domain and a slow policy."""
    write_domain(tmp_path / "desk", json=False)
    (tmp_path / "slow.py").write_text((tmp_path / "desk" / "expert.py").read_text() + SLOW)
    return tmp_path


def start(folder: Path, *words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*PROGRAM, *map(str, words)], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_an_interrupted_run_is_continued(folder: Path) -> None:
    words = ("rollout", "desk", "--policy", "slow.py:Slow", "--split", "all", "--group", 15, "--out", "r.jsonl")
    ray = ("--ray", "--ray-workers", 2, "--json")
    process = start(folder, *words, *ray)
    record, until = folder / "r.jsonl", time.monotonic() + 90
    while not record.is_file() or record.read_bytes().count(b"\n") < 5:
        assert time.monotonic() < until, process.communicate(timeout=1)
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "interrupted; continue with: simia rollout desk" in err
    done = len(list(read_records(record)))
    assert json.loads(out)["episodes"] == done < 90
    process = start(folder, *words, *ray, "--resume")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    value: Any = json.loads(out)
    assert (value["episodes"], value["valid"], value["reused"]) == (90, 90, done)
    assert len({item.key for item in read_records(record)}) == 90


def test_evaluate_spreads_its_trials(folder: Path) -> None:
    process = start(folder, "evaluate", "desk", "--split", "all", "--trials", 5, "--ray", "--ray-workers", 2, "--json")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    (one,) = json.loads(out)["series"]
    assert one["pass_hat_k"]["5"]["value"] == 1.0


def test_where_there_is_no_cluster_it_is_said_in_one_line(folder: Path) -> None:
    for address, what in (("127.0.0.1:1", "there is no cluster to connect to"), ("ray://x:1", "too far")):
        process = start(folder, "rollout", "desk", "--ray", "--ray-address", address, "--out", f"{len(what)}.jsonl")
        _, err = process.communicate(timeout=120)
        assert process.returncode == 2, err
        assert what in err
        assert "Traceback" not in err


def test_nothing_is_left_running(folder: Path) -> None:
    process = start(folder, "rollout", "desk", "--ray", "--ray-workers", 1, "--json")
    seen: set[int] = set()
    while process.poll() is None:
        seen |= _children(process.pid)
        time.sleep(0.2)
    time.sleep(2)
    assert seen
    assert not {pid for pid in seen if Path(f"/proc/{pid}").exists() and _state(pid) != "Z"}


def _children(pid: int) -> set[int]:
    try:
        direct = {int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    except OSError:
        return set()
    return direct | {one for child in direct for one in _children(child)}


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"
