"""A disk that fills up ends a run with one line; whatever was paid for is kept, and the run goes on later."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from simia_gym.cli.new_domain import write_domain
from simia_gym.common.writing import RESERVE, append, write_whole
from simia_gym.errors import StorageError
from simia_gym.llm.cassette import Cassette
from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread
from simia_gym.record.records import read_records

from ..cli.conftest import PROGRAM

EPISODES = 60
WORDS = ("rollout", "desk", "--split", "all", "--simulator", "llm", "--concurrency", "3", "--no-pins", "--json")
APART = ("unshare", "--map-root-user", "--mount")
Limit = Callable[[], None]


def run(server: OracleServer, folder: Path, *words: str, before: Sequence[str] = (), limit: Limit | None = None) -> str:
    """Run the command in a folder with a domain; returns what it wrote to standard error after its exit code."""
    place = ("--model", "oracle", "--base-url", server.base_url)
    command = [*before, *PROGRAM, *WORDS, "--episodes", str(EPISODES), *place, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, preexec_fn=limit)
    assert "Traceback" not in done.stderr
    return f"{done.returncode} {done.stderr}"


def small_files() -> None:
    """Let no file of this process grow beyond a size."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))


def paid(server: OracleServer) -> int:
    """How many requests a server was sent, but for those that look whether it is there."""
    return server.counts["requests"]["ledger"]


@pytest.fixture
def one(tmp_path: Path) -> Iterator[OracleServer]:
    write_domain(tmp_path / "desk", json=False)
    with serve_in_thread(OracleOptions(domains=(str(tmp_path / "desk"),), latency_ms=10)) as server:
        yield server


@pytest.mark.parametrize(
    ("words", "full"),
    [(("--record-cassette", "c.jsonl"), "c.jsonl"), ((), "r.")],
    ids=["cassette", "record"],
)
@pytest.mark.slow
def test_a_file_that_may_not_grow_ends_the_run(
    words: tuple[str, ...], full: str, one: OracleServer, tmp_path: Path
) -> None:
    if words:  # so that it is the first file to be full
        fault = {"kind": "timeout", "message": "." * 25_000, "role": "user"}
        (tmp_path / full).write_text(json.dumps({"v": 1, "key": "k", "fault": fault}) + "\n")
    said = run(one, tmp_path, "--out", "r.jsonl", "--resume", *words, limit=small_files)
    lines = [line for line in said.splitlines() if "error:" in line]
    assert said.startswith("2 ")
    assert len(lines) == 1
    assert full in lines[0]
    for file in tmp_path.glob("*.jsonl"):
        assert all(json.loads(line) for line in file.read_bytes().split(b"\n")[:-1])
        assert file.read_bytes().endswith(b"\n") or not file.read_bytes()
    assert run(one, tmp_path, "--out", "r.jsonl", *words, "--resume").startswith("0 ")
    assert [record.valid for record in read_records(tmp_path / "r.jsonl")] == [True] * EPISODES


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs namespaces of Linux")
@pytest.mark.parametrize("words", [("--record-cassette", "small/c.jsonl"), ()], ids=["cassette", "record"])
@pytest.mark.slow
def test_nothing_that_was_paid_for_is_lost(words: tuple[str, ...], one: OracleServer, tmp_path: Path) -> None:
    """A disk fills up to the reserve while requests are in flight."""
    small = tmp_path / "small"
    small.mkdir()
    room = f"size={RESERVE // 1024 // (2 if words else 1) + 40}k"
    mount = f"mount -t tmpfs -o {room} tmpfs {small}"
    if subprocess.run([*APART, "sh", "-c", mount], capture_output=True, check=False).returncode:
        pytest.skip("may not mount a file system")
    out = ("--out", "r.jsonl" if words else "small/r.jsonl")
    keep = f'{mount}; "$0" "$@"; code=$?; cp -r {small} kept; exit $code'
    said = run(one, tmp_path, *out, *words, before=(*APART, "sh", "-c", keep))
    assert said.startswith("2 ")
    assert "its disk is almost full" in said
    asked = paid(one)
    assert asked > 0
    shutil.rmtree(small)
    (tmp_path / "kept").rename(small)
    if words:
        replies = [line for line in (small / "c.jsonl").read_bytes().split(b"\n")[:-1] if "reply" in json.loads(line)]
        assert len(replies) == asked
    else:
        assert all(record.valid for record in read_records(small / "r.jsonl"))
    assert run(one, tmp_path, *out, *words, "--resume").startswith("0 ")
    whole = paid(one)
    run(one, tmp_path, "--out", "undisturbed.jsonl")
    assert paid(one) - whole == whole
    file = tmp_path / out[1]
    assert sorted(file.read_bytes().splitlines()) == sorted((tmp_path / "undisturbed.jsonl").read_bytes().splitlines())


def test_an_append_is_whole_or_not_at_all(tmp_path: Path) -> None:
    code = (
        "import resource\n"
        "from pathlib import Path\n"
        "from simia_gym.common.writing import append\n"
        "from simia_gym.errors import StorageError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "file = Path('x').open('ab', buffering=0)\n"
        "append(file, b'12345\\n')\n"
        "try: append(file, b'67890\\n')\n"
        "except StorageError: append(file, b'678\\n')\n"
    )
    subprocess.run([PROGRAM[0], "-c", code], cwd=tmp_path, check=True)
    assert (tmp_path / "x").read_bytes() == b"12345\n678\n"


def test_an_answer_that_cannot_be_pinned_counts_and_is_the_last_one(tmp_path: Path) -> None:
    code = (
        "import asyncio, resource\n"
        "from simia_gym import SqlitePins\n"
        "from simia_gym.errors import StorageError\n"
        "made, got = [], []\n"
        "async def make():\n"
        "    made.append(1)\n"
        "    return {'text': '.' * 3000}\n"
        "async def ask():\n"
        "    pins = SqlitePins('pins.db')\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "    for number in range(100):\n"
        "        got.append(await pins.answer(str(number), make))\n"
        "try: asyncio.run(ask())\n"
        "except StorageError as error: print(error)\n"
        "assert 0 < len(made) == len(got) < 100, (len(made), len(got))\n"
    )
    done = subprocess.run([PROGRAM[0], "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.startswith("pins.db: the file of pinned answers cannot be used")
    assert done.stderr == ""


def test_a_report_that_finds_no_room_leaves_the_earlier_one(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("earlier")
    (tmp_path / ".x.new").symlink_to("/dev/full")
    with pytest.raises(StorageError, match="No space left"):
        write_whole(tmp_path / "x", "new")
    assert [file.name for file in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_text() == "earlier"


@pytest.mark.parametrize("tail", [b"\0" * 4096, b'{"v":1,"key":"a\0\0\0'])
def test_zeros_at_the_end_of_a_cassette_are_cut(tail: bytes, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    with path.open("wb", buffering=0) as file:
        append(file, tail)
    Cassette(path, "record", resume=True).close()
    assert path.read_bytes() == b""
