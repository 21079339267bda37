"""Bad seeds, interrupts, a full disk, a teacher that answers nonsense: one clear line, nothing paid for is lost."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from simia_gym.cli.app import run as main
from simia_gym.oracle import OracleOptions, serve_in_thread
from simia_gym.oracle.server import OracleServer

from ..cli.servers import completion, replying
from ..work import wait_until

ENV = "simia/webshop-v0"
PROGRAM = "from simia_gym.cli import main; main()"
SMALL_DISK = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000)); {PROGRAM}"
pytest.importorskip("datasketch")


@pytest.fixture(scope="module")
def server() -> Iterator[OracleServer]:
    with serve_in_thread(OracleOptions(latency_ms=50)) as served:
        yield served


@pytest.fixture(scope="module")
def whole(server: OracleServer, traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing has disturbed."""
    out = tmp_path_factory.mktemp("whole")
    assert main(words(server, traces, out)) == 0
    return out


def words(server: OracleServer, traces: Path, out: Path) -> list[str]:
    given = ["synth", "trajectories", ENV, str(traces), "--out", str(out), "--target", "9", "--concurrency", "1"]
    return [*given, "--model", "oracle", "--base-url", server.base_url]


def asked(server: OracleServer) -> int:
    return server.counts["requests"].get("teacher", 0)


def drafts(out: Path) -> list[bytes]:
    path = out / "drafts.jsonl"
    return path.read_bytes().splitlines(keepends=True) if path.is_file() else []


def same(one: Path, other: Path) -> None:
    for name in ("seeds.jsonl", "trajectories.jsonl", "dropped.jsonl"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    assert sorted(drafts(one)) == sorted(drafts(other))


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_an_interrupted_run_goes_on(
    how: int, code: int, server: OracleServer, traces: Path, whole: Path, tmp_path: Path
) -> None:
    before = asked(server)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words(server, traces, tmp_path)], stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: len(drafts(tmp_path)) >= 2)
    process.send_signal(how)
    said = process.communicate(timeout=60)[1]
    saved = drafts(tmp_path)
    assert process.returncode == code
    assert len(saved) < len(drafts(whole))
    assert "Traceback" not in said
    assert ("the same command goes on" in said) is (how == signal.SIGINT)
    assert main(words(server, traces, tmp_path)) == 0
    assert drafts(tmp_path)[: len(saved)] == saved
    assert asked(server) - before <= len(drafts(whole)) + 1  # the one that was on its way
    same(tmp_path, whole)


def test_a_full_disk_is_one_line(server: OracleServer, traces: Path, whole: Path, tmp_path: Path) -> None:
    before = asked(server)
    ended = subprocess.run(
        [sys.executable, "-c", SMALL_DISK, *words(server, traces, tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    saved = drafts(tmp_path)
    assert ended.returncode == 2
    assert "drafts.jsonl: cannot be written" in ended.stderr.splitlines()[-1]
    assert "the same command goes on" in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr
    assert 0 < len(saved) < len(drafts(whole))
    assert all(json.loads(line) for line in saved)
    assert asked(server) - before == len(saved) + 1  # the one that could not be written
    assert main(words(server, traces, tmp_path)) == 0
    assert asked(server) - before == len(drafts(whole)) + 1
    same(tmp_path, whole)


@pytest.mark.parametrize(
    "text", ["I am sorry, I cannot do that.", '{"user": "Hello"}', "[]", "{" * 500, "\u0000\ud7ff"]
)
def test_a_teacher_that_answers_nonsense_ends_the_run(
    text: str, traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    count = 0

    def answer(request: object) -> tuple[int, bytes, dict[str, str]]:
        nonlocal count
        count += b"vary" in getattr(request, "asked", b"")
        return 200, completion(text), {"Content-Type": "application/json"}

    with replying(answer) as address:
        given = ["synth", "trajectories", ENV, str(traces), "--out", str(tmp_path), "--target", "100"]
        given += ["--model", "m", "--base-url", f"http://{address}/v1", "--concurrency", "1"]
        assert main(given) == 2
        said = capsys.readouterr().err.strip().splitlines()
        assert "('" not in said[-1]
        assert "none of 30 replies is a trajectory; the last: line 1" in said[-1]
        assert len(said) == 1
        assert len(drafts(tmp_path)) == 30
        assert count == 30
        assert main(given) == 2
    assert count == len(drafts(tmp_path)) == 60


def test_each_line_that_is_no_seed_is_named(
    server: OracleServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello, what are you looking for?"}]
    good = json.dumps({"messages": said}).encode()
    bad = [
        b'{"messages": [',
        b"\xff\xfe{}",
        b"null",
        b"{}",
        b"[" * 50_000,
        b'{"messages": [{"role": "ghost"}]}',
        good[:59],
    ]
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"\n".join([good, *bad]))
    for command in ("filter", "trajectories"):
        given = ["synth", command, ENV, str(path), "--out", str(tmp_path / command), "--seed-format", "openai"]
        given += ["--target", "1"] if command == "trajectories" else []
        assert main([*given, "--model", "oracle", "--base-url", server.base_url]) == 0
        out = capsys.readouterr().out
        for number in range(2, len(bad) + 2):
            assert f"bad.jsonl:{number}: unreadable: " in out, number
        assert f"1 seeds of {len(bad) + 1} traces" in out
