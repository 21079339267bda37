"""`simia rollout --ray` and `simia evaluate --ray` as a user runs them, each with a cluster of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from simia_gym.record.records import read_records

from ..work import wait_until
from .libraries import need

need("ray")
pytestmark = pytest.mark.slow_rl

PROGRAM = [sys.executable, "-c", "from simia_gym.cli import main; main()"]


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


def test_an_interrupted_run_is_continued(desk: Path) -> None:
    words = ("rollout", "desk", "--policy", "mine.py:Slow", "--split", "all", "--group", 8, "--out", "r.jsonl")
    ray = ("--ray", "--ray-workers", 2, "--json")
    record = desk / "r.jsonl"
    with Command(desk, *words, *ray) as process:
        wait_until(lambda: process.poll() is not None or (record.is_file() and record.read_bytes().count(b"\n") >= 5))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "interrupted; continue with: simia rollout desk" in err
    done = len(list(read_records(record)))
    assert json.loads(out)["episodes"] == done < 48
    value = json.loads(finished(desk, *words, *ray, "--resume"))
    assert (value["episodes"], value["valid"], value["reused"]) == (48, 48, done)
    assert len({item.key for item in read_records(record)}) == 48


def finished(folder: Path, *words: object) -> str:
    """What a command prints that ends well."""
    with Command(folder, *words) as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


def test_where_there_is_no_cluster_it_is_said_in_one_line(desk: Path) -> None:
    for address, what in (("127.0.0.1:1", "there is no cluster to connect to"), ("ray://x:1", "too far")):
        words = ("rollout", "desk", "--ray", "--ray-address", address, "--out", f"{len(what)}.jsonl")
        with Command(desk, *words) as process:
            _, err = process.communicate(timeout=120)
        assert process.returncode == 2, err
        assert what in err
        assert "Traceback" not in err


def test_evaluate_spreads_its_trials_and_leaves_nothing_running(desk: Path) -> None:
    seen: set[int] = set()
    words = ("evaluate", "desk", "--split", "all", "--trials", 5, "--ray", "--ray-workers", 2, "--json")
    with Command(desk, *words) as process:

        def ended() -> bool:
            seen.update(_children(process.pid))
            return process.poll() is not None

        wait_until(ended)
        out, err = process.communicate()
    assert process.returncode == 0, err
    (one,) = json.loads(out)["series"]
    assert one["pass_hat_k"]["5"]["value"] == 1.0
    assert len(seen) > 3  # Ray's own and the workers
    wait_until(lambda: all(_state(pid) == "Z" for pid in seen))


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
