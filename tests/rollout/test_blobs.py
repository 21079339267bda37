"""What a record keeps by hash beside its lines: large values, and what each episode was played with."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia_gym import EnvConfig, InputError, judge_again, load_suite, read_records, transcript
from simia_gym.cli.app import run
from simia_gym.common.json_encoding import encode
from simia_gym.domain.registration import CUSTOM
from simia_gym.policies import Policy
from simia_gym.record.blobs import LARGE, BlobFile, blob_path
from simia_gym.record.ledger import Ledger
from simia_gym.record.verdict import to_json
from simia_gym.rl.sft.files import recorded_trajectories
from simia_gym.rollout.replay import replay_file

from ..domains.shell import Says, written
from ..simulators.desk import tool_call
from .conftest import Roll

FILES = Path(__file__).parents[1] / "domains" / "fixtures" / "files"
SIZE = 7_000_000


def writes() -> Policy:
    """Writes a large file and looks at it."""
    return Says(written(f"yes letters | head -c {SIZE} > big.txt"), written("cat big.txt"), "Done.")


@pytest.fixture
def large(tmp_path: Path) -> Roll:
    """A record of two episodes that hold a file of 7 MB."""
    folder = tmp_path / "domain"
    shutil.copytree(FILES, folder)
    world, config = folder / "world.py", folder / "domain.yaml"
    world.write_text(world.read_text().replace('"value": 50_000', f'"value": {2 * SIZE}'))
    config.write_text(f"{config.read_text()}limits: {{observation: {SIZE}}}\n")
    suite = load_suite(EnvConfig(env=CUSTOM, domain=str(folder), split="train"))
    roll = Roll(suite, tmp_path / "r.jsonl")
    assert roll(writes, episodes=2).all.valid == 2
    return roll


@pytest.mark.slow
def test_a_large_value_is_written_once_and_read_as_it_was(large: Roll) -> None:
    lines = large.path.read_bytes().splitlines()
    assert max(map(len, lines)) < LARGE
    assert SIZE < blob_path(large.path).stat().st_size < 2.2 * SIZE  # one file, as an observation and in operations
    for record in large.records:
        written, shown = [event for event in record.events if event["type"] == "transition"]
        assert shown["observation"] == written["ops"][0]["value"]["text"] == ("letters\n" * SIZE)[:SIZE]
        Ledger.verify(record.events, record.head)
    assert [record.to_line() for record in large.records] == [line + b"\n" for line in lines]
    assert all(proof.proven for proof in replay_file(large.path))


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def _spoilt(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"letters", b"Letters", 1))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (Path.unlink, "r.blobs: holds blob [0-9a-f]{64}, and does not exist. Put the blob file"),
        (_cut, "r.blobs: blob [0-9a-f]{64} of this record is missing"),
        (_spoilt, "r.blobs:[0-9]+: blob [0-9a-f]{64} is damaged"),
        (lambda path: path.write_bytes(b"dear diary\n"), "r.blobs:1: is no line of a blob file"),
    ],
)
@pytest.mark.slow
def test_a_missing_or_damaged_blob_is_named(large: Roll, spoil: Callable[[Path], Any], says: str) -> None:
    spoil(blob_path(large.path))
    with pytest.raises(InputError, match=says):
        list(read_records(large.path))
    with pytest.raises(InputError, match=says):
        large(writes, resume=True, episodes=2)


def test_a_replay_proves_what_the_lines_do_not_hold(roll: Roll, expert: Callable[[], Policy]) -> None:
    roll(expert)
    path = blob_path(roll.path)
    path.write_bytes(path.read_bytes().replace(b'"split"', b'"Split"', 1))
    assert len(roll.records) == 6  # nothing large was taken out of their lines
    with pytest.raises(InputError, match="is damaged"):
        list(replay_file(roll.path))


@pytest.mark.parametrize("torn", [1, 40])
def test_a_killed_writer_leaves_what_can_be_resumed(roll: Roll, expert: Callable[[], Policy], torn: int) -> None:
    roll(expert)
    lines, path = roll.path.read_bytes(), blob_path(roll.path)
    blobs = path.read_bytes()
    roll.path.write_bytes(b"".join(lines.splitlines(keepends=True)[:-1]))  # killed before the last line
    path.write_bytes(blobs[:-torn])
    assert roll(expert, resume=True).reused == 5
    assert (roll.path.read_bytes(), path.read_bytes()) == (lines, blobs)


def test_one_process_at_a_time_writes_blobs(tmp_path: Path) -> None:
    one, other = BlobFile(tmp_path / "a.blobs"), BlobFile(tmp_path / "a.blobs")
    assert len(other) == 0
    one.add({"1" * 64: b"1"})
    with pytest.raises(InputError, match="another process writes to it"):
        other.add({"2" * 64: b"2"})
    one.close()
    other.add({"1" * 64: b"1", "2" * 64: b"2"})
    other.close()
    assert [*BlobFile(tmp_path / "a.blobs")] == ["1" * 64, "2" * 64]


VALUES = ["x" * LARGE, ["x" * 99] * 500, {"a": ["y" * 9, {"b/c~": "z" * LARGE}], "d": None}, {"/": [[LARGE * "w"]]}]


@pytest.mark.parametrize("value", VALUES)
def test_any_large_value_is_put_back_where_it_was(roll: Roll, value: Any) -> None:
    roll(lambda: Says(tool_call("lend", book_id=value), *[""] * 99), episodes=1)
    (record,) = roll.records
    assert max(map(len, roll.path.read_bytes().splitlines())) < LARGE
    assert [event["call"]["arguments"]["book_id"] for event in record.events if event.get("call")] == [value]
    assert record.to_line() == roll.path.read_bytes()


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    """A record that has moved, of a domain whose tools, policy, tasks and initial state have changed since."""
    folder = tmp_path / "domain"
    shutil.copytree(FILES, folder)
    assert run(["rollout", str(folder), "--out", str(tmp_path / "old" / "r.jsonl")]) == 0
    (tmp_path / "old").rename(tmp_path / "moved")
    for name, old, new in (
        ("world.py", "Run a shell command in", "Execute a command line in"),
        ("world.py", "def show(self, db: Draft, name: str)", "def look(self, db: Draft, name: str, at: int = 0)"),
        ("policy.md", "one shell command", "two shell commands"),
        ("tasks/train.jsonl", "Sort", "Please sort"),
        ("state.json", "milk", "cream"),
    ):
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))
    (folder / "tools.json").unlink()
    return tmp_path / "moved" / "r.jsonl"


def test_a_record_outlives_its_domain(edited: Path, capfd: pytest.CaptureFixture[str]) -> None:
    records = list(read_records(edited))
    assert len(records) == 3
    for record in records:
        system, first = transcript(record)[:2]
        assert "one shell command" in system["content"]
        assert record.content("task")["instruction"] in first["content"]
        assert "Run a shell command in" in json.dumps(record.content("tools"))
        assert "milk" in json.dumps(record.content("state"))
        again = judge_again(record)
        assert encode(to_json(again)) == encode(record.verdict)
    capfd.readouterr()
    assert run(["show", str(edited), records[1].task]) == 0
    assert records[1].events[-3]["text"] in capfd.readouterr().out
    exported = [item for item in recorded_trajectories(edited) if item is not None]
    assert [item.messages[0]["content"] for item in exported] == [records[0].content("system")] * 3
    assert run(["replay", str(edited)]) == 1
    assert "the domain or its data has changed since" in capfd.readouterr().out


def test_a_record_is_judged_by_a_rubric_that_was_written_later(edited: Path) -> None:
    rubric = edited.parents[1] / "domain" / "rubric.yaml"
    rubric.write_text(rubric.read_text().replace("test -s notes.txt", "exit 3"))
    verdicts = [judge_again(record) for record in read_records(edited) if record.task != "count"]  # it has its own
    assert [(verdict.valid, verdict.success, verdict.score) for verdict in verdicts] == [(True, False, 0.5)] * 2


def test_a_record_knows_the_tasks_of_dev(roll: Roll, expert: Callable[[], Policy]) -> None:
    roll(expert)
    dev = {task.id for task in roll.suite.domain.dev_of_train}
    assert dev == {record.task for record in roll.records if record.start.get("dev")} != set()


def test_an_episode_that_a_fault_ended_keeps_its_verdict(roll: Roll) -> None:
    roll(lambda: Says(RuntimeError("broken")), episodes=1)
    (record,) = roll.records
    assert encode(to_json(judge_again(record))) == encode(record.verdict)


def test_a_record_of_an_earlier_version_is_told(roll: Roll, expert: Callable[[], Policy]) -> None:
    roll(expert, episodes=1)
    roll.path.write_bytes(roll.path.read_bytes().replace(b'{"v":2', b'{"v":1', 1))
    for read in (read_records, recorded_trajectories):
        with pytest.raises(InputError, match=r"r\.jsonl:1: is of version 1, and this package reads 2"):
            list(read(roll.path))
