"""`simia rollout --ray` and `simia evaluate --ray` as a user runs them, each with a cluster of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from simia_gym.cli.new_domain import write_domain
from simia_gym.record.records import read_records

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


class Command(subprocess.Popen[str]):
    """The command in its folder; a test that fails leaves nothing of it running."""

    def __init__(self, folder: Path, *words: object) -> None:
        pipe = subprocess.PIPE
        super().__init__([*PROGRAM, *map(str, words)], cwd=folder, stdout=pipe, stderr=pipe, text=True)

    def __exit__(self, *raised: object) -> None:
        if self.poll() is None:
            for pid in (self.pid, *_children(self.pid)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        super().__exit__(*raised)  # type: ignore[arg-type, unused-ignore]


def test_an_interrupted_run_is_continued(folder: Path) -> None:
    words = ("rollout", "desk", "--policy", "slow.py:Slow", "--split", "all", "--group", 8, "--out", "r.jsonl")
    ray = ("--ray", "--ray-workers", 2, "--json")
    record, until = folder / "r.jsonl", time.monotonic() + 90
    with Command(folder, *words, *ray) as process:
        while not record.is_file() or record.read_bytes().count(b"\n") < 5:
            assert time.monotonic() < until
            assert process.poll() is None, process.communicate()
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "interrupted; continue with: simia rollout desk" in err
    done = len(list(read_records(record)))
    assert json.loads(out)["episodes"] == done < 48
    value = json.loads(finished(folder, *words, *ray, "--resume"))
    assert (value["episodes"], value["valid"], value["reused"]) == (48, 48, done)
    assert len({item.key for item in read_records(record)}) == 48


def finished(folder: Path, *words: object) -> str:
    """What a command prints that ends well."""
    with Command(folder, *words) as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


def test_evaluate_spreads_its_trials(folder: Path) -> None:
    words = ("evaluate", "desk", "--split", "all", "--trials", 5, "--ray", "--ray-workers", 2, "--json")
    (one,) = json.loads(finished(folder, *words))["series"]
    assert one["pass_hat_k"]["5"]["value"] == 1.0


def test_where_there_is_no_cluster_it_is_said_in_one_line(folder: Path) -> None:
    for address, what in (("127.0.0.1:1", "there is no cluster to connect to"), ("ray://x:1", "too far")):
        words = ("rollout", "desk", "--ray", "--ray-address", address, "--out", f"{len(what)}.jsonl")
        with Command(folder, *words) as process:
            _, err = process.communicate(timeout=120)
        assert process.returncode == 2, err
        assert what in err
        assert "Traceback" not in err


def test_nothing_is_left_running(folder: Path) -> None:
    seen: set[int] = set()
    until = time.monotonic() + 120
    with Command(folder, "rollout", "desk", "--ray", "--ray-workers", 1, "--json") as process:
        while process.poll() is None:
            assert time.monotonic() < until
            seen |= _children(process.pid)
            time.sleep(0.2)
        _, err = process.communicate()
    assert process.returncode == 0, err
    assert len(seen) > 3  # Ray's own and the worker
    until = time.monotonic() + 10
    while left := {pid for pid in seen if _state(pid) != "Z"}:
        assert time.monotonic() < until, left
        time.sleep(0.1)


def _children(pid: int) -> set[int]:
    try:
        lists = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]  # of every thread
    except OSError:
        return set()
    direct = {int(word) for text in lists for word in text.split()}
    return direct | {one for child in direct for one in _children(child)}


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"
