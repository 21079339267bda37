"""Files that mean no good: pipes, devices, damaged rows, paths that lead out of a folder, forged lines, escapes."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from simia_gym.errors import InputError
from simia_gym.llm.cassette import Cassette
from simia_gym.record.records import read_records
from simia_gym.simulators.pins import SqlitePins
from simia_gym.types import JsonObject

from ..cli.conftest import Simia, desk, simia
from ..cli.servers import answering, completion

__all__ = ["desk", "simia"]


SAYS = ("not a regular file", "outside of the domain's folder", "no such tools file", "has no domain.yaml")


def as_pipe(path: Path) -> None:
    os.mkfifo(path)


def as_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [as_pipe, as_device])
@pytest.mark.parametrize(
    "line",
    [
        *(f"check x/{name}" for name in ("domain.yaml", "policy.md", "tools.json", "rubric.yaml", "tasks/train.jsonl")),
        "check x/world.py",
        *("show x/r.jsonl", "replay x/r.jsonl", "evaluate x/r.jsonl", "evaluate desk --report x/report.json"),
        *(
            "rollout desk --out x/r.jsonl",
            "rollout desk --out x/r.jsonl --resume",
            "rollout desk --out x/r.jsonl +times",
        ),
        *("rollout desk --out x/r.jsonl +blobs", "rollout desk --out r.jsonl --svg x/picture.svg"),
    ],
)
def test_pipes_and_devices_are_refused(line: str, make: Callable[[Path], None], desk: str, simia: Simia) -> None:
    words = line.split()
    shutil.copytree(desk, "x")
    beside = words.pop().removeprefix("+") if "+" in line else ""
    target = next(Path(word) for word in words if word.startswith("x/"))
    if beside:
        target = Path(f"x/r.{'times.jsonl' if beside == 'times' else 'blobs'}")
    target.unlink(missing_ok=True)
    make(target)
    done = simia(*(["check", "x"] if words[0] == "check" else words))
    assert done.code in (1, 2)
    assert "Traceback" not in done.err
    assert any(text in done.out + done.err for text in SAYS)


@pytest.mark.parametrize("make", [as_pipe, as_device])
def test_stores_refuse_pipes_and_devices(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "x")
    for opened in (
        lambda: SqlitePins(tmp_path / "x"),
        lambda: Cassette(tmp_path / "x", "record", resume=True),
        lambda: Cassette(tmp_path / "x", "replay"),
    ):
        with pytest.raises(InputError, match="not a regular file"):
            opened()


def test_a_pipe_that_no_key_names_is_left_alone(desk: str, simia: Simia) -> None:
    as_pipe(Path(desk, "notes.yaml"))
    assert simia("check", desk).code == 0


@pytest.mark.parametrize(
    ("key", "name"),
    [("policy", "../outside"), ("policy", "/etc/hostname"), ("tools", "../outside"), ("rubric", "../outside")],
)
def test_files_outside_of_the_folder_are_refused(key: str, name: str, desk: str, simia: Simia) -> None:
    Path("outside").write_text("words")
    manifest = Path(desk, "domain.yaml")
    lines = [line for line in manifest.read_text().splitlines() if not line.startswith(f"{key}:")]
    manifest.write_text("\n".join([*lines, f"{key}: {name}", ""]))
    done = simia("check", desk)
    assert done.code == 2
    assert f"{key}: {name} is outside of the domain's folder" in done.err


def test_a_link_out_of_the_folder_is_refused_and_one_of_everything_is_not(desk: str, simia: Simia) -> None:
    whole = Path("whole")
    whole.mkdir()
    for file in Path(desk).iterdir():
        (whole / file.name).symlink_to(file.resolve())
    assert simia("check", whole).code == 0
    Path("outside").write_text("words")
    Path(desk, "policy.md").unlink()
    Path(desk, "policy.md").symlink_to(Path("outside").resolve())
    assert "outside of the domain's folder" in simia("check", desk).err


@pytest.mark.parametrize("row", [b"", b"{}", b"\xff", "text", 7, b'{"answer": 1}', b"0" * 16 + b"{}", None])
async def test_a_damaged_row_of_pins_is_asked_anew(
    row: object, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made: list[int] = []

    async def make() -> JsonObject:
        made.append(len(made))
        return {"number": len(made)}

    SqlitePins(tmp_path / "p.db").close()
    with sqlite3.connect(tmp_path / "p.db") as link:
        link.execute("INSERT INTO pins VALUES ('k', ?, 'somebody', 0)", (row,))
    link.close()
    pins = SqlitePins(tmp_path / "p.db", lease=0.05)
    assert await pins.answer("k", make) == ({"number": 1}, False)
    pins.close()
    again = SqlitePins(tmp_path / "p.db")
    assert await again.answer("k", make) == ({"number": 1}, True)
    again.close()
    assert made == [0]
    assert ("damaged" in caplog.text) is (row is not None)


async def test_a_clock_that_is_set_expires_no_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio
    import time

    one, two = (SqlitePins(tmp_path / "p.db", lease=0.3) for _ in range(2))
    made: list[str] = []

    async def make() -> JsonObject:
        made.append("")
        monkeypatch.setattr(time, "time", lambda: 4e9)
        await asyncio.sleep(0.5)
        return {}

    await asyncio.gather(one.answer("k", make), two.answer("k", make))
    assert len(made) == 1
    one.close()
    two.close()


@pytest.fixture
def record(desk: str, simia: Simia) -> Path:
    assert simia("rollout", desk, "--out", "r.jsonl").code == 0
    return Path("r.jsonl")


@pytest.mark.parametrize(
    ("name", "value"), [("reward", 0.25), ("success", False), ("turns", 99), ("score", 0.5), ("ended", "turn_limit")]
)
def test_resume_keeps_no_line_whose_result_is_not_that_of_its_events(
    name: str, value: object, record: Path, desk: str, simia: Simia
) -> None:
    first, *rest = record.read_text().splitlines(keepends=True)
    changed = json.loads(first)
    assert changed[name] != value
    record.write_text(json.dumps({**changed, name: value}) + "\n" + "".join(rest))
    done = simia("rollout", desk, "--out", record, "--resume")
    assert done.code == 2
    assert f"r.jsonl:1: its {name}" in done.err


def test_resume_keeps_no_line_whose_events_were_changed(record: Path, desk: str, simia: Simia) -> None:
    text = record.read_text()
    record.write_text(text.replace("borrow", "burrow", 1))
    done = simia("rollout", desk, "--out", record, "--resume")
    assert done.code == 2
    assert "r.jsonl:1" in done.err


def test_resume_says_what_it_has_proven(record: Path, desk: str, simia: Simia) -> None:
    done = simia("rollout", desk, "--out", record, "--resume")
    assert done.code == 0
    assert "simia replay" in done.out


ESCAPE = "\x1b]0;title\x07\x1b[2J\x9b31m\u202eevil\u2066"
UNSEEN = {"\x1b", "\x07", "\x9b", "\u202e", "\u2066"}


@pytest.mark.parametrize("tail", [b'{"key":"a', bytes(4096)])
def test_resume_cuts_the_torn_line_of_the_times(tail: bytes, record: Path, desk: str, simia: Simia) -> None:
    times = record.with_name("r.times.jsonl")
    with times.open("ab") as file:
        file.write(tail)
    simia("rollout", desk, "--episodes", 4, "--out", record, "--resume")
    assert len([json.loads(line) for line in times.read_text().splitlines()]) == 4


def test_terminal_escapes_of_a_file_are_shown(record: Path, desk: str, simia: Simia) -> None:
    text = record.read_text()
    before = next(read_records(record)).task
    record.write_text(text.replace(f'"task":"{before}"', f'"task":{json.dumps(before + ESCAPE)}'))
    for words in (("show", record), ("show", record, "none"), ("evaluate", record), ("evaluate", record, "--json")):
        done = simia(*words)
        assert not UNSEEN & set(done.out + done.err), words
    assert "\\u001b[2J" in simia("show", record).out
    Path(desk, "domain.yaml").write_text(f"name: {json.dumps(ESCAPE)}\n")
    assert not UNSEEN & set(simia("check", desk).err)


def test_terminal_escapes_of_a_model_are_shown(desk: str, simia: Simia) -> None:
    with answering(200, completion(f"Hello {ESCAPE}")) as address:
        words = ("--policy", "llm", "--policy-model", "m", "--policy-base-url", f"http://{address}/v1")
        done = simia("rollout", desk, "--episodes", 1, *words, "--out", "r.jsonl")
        tried = simia("doctor", "--model", "m", "--base-url", f"http://{address}/v1")
    for result in (done, tried, simia("show", "r.jsonl")):
        assert not UNSEEN & set(result.out + result.err)
