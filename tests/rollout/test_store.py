from __future__ import annotations

import gc
import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.common.json_encoding import decode, encode
from simia_gym.errors import InputError
from simia_gym.policies import Policy
from simia_gym.record.ledger import Ledger
from simia_gym.record.records import Record, read_records
from simia_gym.rollout.store import TakenError, create_store, resume_store
from simia_gym.types import Task

from .conftest import Roll

Make = Callable[[], Policy]


@pytest.mark.parametrize("cut", [1, 5, 400])
def test_torn_line_is_redone(roll: Roll, expert: Make, cut: int) -> None:
    roll(expert)
    whole = roll.path.read_bytes()
    roll.path.write_bytes(whole[:-cut])
    summary = roll(expert, resume=True)
    assert summary.reused == 5
    assert roll.path.read_bytes() == whole


def test_faulted_episodes_are_redone(roll: Roll, expert: Make) -> None:
    calls = iter(range(100))

    class Sometimes:
        def act(self, messages: Any) -> Any:
            if next(calls) in (0, 2):
                raise RuntimeError("not now")
            return inner.act(messages)

    inner = expert()
    assert roll(Sometimes).all.invalid == 2
    summary = roll(expert, resume=True)
    assert (summary.all.invalid, summary.reused) == (0, 4)
    assert len(roll.records) == 6
    assert all(record.valid for record in roll.records)
    assert not list(roll.path.parent.glob(".*"))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"seed": 3}, "was written with seed=0, and this run has seed=3"),
        ({"policy": "q"}, "policy='q'"),
        ({"group": 2}, "group=2"),
        ({"domain_hash": "other"}, "domain_hash='other'"),
        ({"user": "llm"}, "was written with the domain's own user, and this run has user='llm'"),
        ({"prompt": "compact"}, "was written with prompt='full', and this run has prompt='compact'"),
        ({"data": "mine", "domain_hash": "other"}, "with no data, and this run has data='mine'"),  # not the consequence
    ],
)
def test_other_settings_are_named(roll: Roll, expert: Make, changed: dict[str, Any], says: str) -> None:
    roll(expert)
    before = roll.path.read_bytes()
    ours = {name: value for name, value in changed.items() if name in ("user", "prompt", "data")}
    others = {name: value for name, value in changed.items() if name not in ours}
    with pytest.raises(InputError, match=says):
        resume_store(roll.path, roll.plan(config=replace(roll.suite.config, **ours), **others))
    assert roll.path.read_bytes() == before


def tamper(roll: Roll, number: int, name: str, value: Any) -> None:
    lines = [json.loads(line) for line in roll.path.read_text().splitlines()]
    lines[number][name] = value
    roll.path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_changed_task_is_named(roll: Roll, expert: Make) -> None:
    roll(expert)
    tamper(roll, 2, "key", "0" * 32)
    with pytest.raises(InputError, match=f"r.jsonl:3: task '{roll.records[2].task}' has changed"):
        roll(expert, resume=True)


@pytest.mark.parametrize("link", [True, False])
def test_existing_file_is_refused(roll: Roll, tmp_path: Path, link: bool) -> None:
    if link:
        roll.path.symlink_to(tmp_path / "nowhere")
    else:
        roll.path.write_text("mine\n")
    with pytest.raises(TakenError):
        create_store(roll.path)
    assert link or roll.path.read_text() == "mine\n"


@pytest.mark.parametrize("torn", [True, False])
def test_one_writer_at_a_time_also_after_a_rewriting(roll: Roll, expert: Make, torn: bool) -> None:
    roll(expert)
    roll.path.write_bytes(roll.path.read_bytes()[: -3 if torn else None])
    with resume_store(roll.path, roll.plan()), pytest.raises(InputError, match="another rollout is writing to it"):
        resume_store(roll.path, roll.plan())


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"[]\n", ":1: is no record"),
        (b'{"v": 1}\n', "has no 'key'"),
        (b"\xff\n", "not valid JSON"),
        (b"\n", "not valid JSON"),
        (b'{"v":2,"key":"a', "is torn"),
        (b'{"v"', "is torn"),
        (b"dear diary", "is no record: its last line is none"),
    ],
)
def test_broken_lines_are_named(tmp_path: Path, line: bytes, says: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(line)
    with pytest.raises(InputError, match=says):
        list(read_records(path))


@pytest.mark.parametrize(
    ("name", "value"),
    [("v", 3), ("turns", "4"), ("valid", None), ("seed", True), ("events", [{"i": 0}]), ("events", [7])],
)
def test_wrong_fields_are_named(roll: Roll, expert: Make, name: str, value: Any) -> None:
    roll(expert, episodes=2)
    tamper(roll, 1, name, value)
    with pytest.raises(InputError, match=r"r\.jsonl:2"):
        list(read_records(roll.path))


@pytest.mark.parametrize("unusual", ["\ud800 alone", 2**70, [1e16, 2**64], "plain", {"deep": ["\U0001f600", None]}])
def test_line_is_the_record_encoded(roll: Roll, expert: Make, unusual: Any) -> None:
    """However unusual an event is: what was hashed is what is written, and reads back as it was."""
    roll(expert, episodes=2)
    assert [record.to_line() for record in roll.records] == roll.path.read_bytes().splitlines(keepends=True)
    ledger = Ledger()
    ledger.append("start", value=unusual)
    ledger.append("end", value=1.5, text='a, "b"')
    record = replace(roll.records[0], events=[dict(event) for event in ledger.events], head=ledger.head)
    line = record.to_line(ledger)
    assert line == record.to_line()
    assert decode(line) == decode(encode(record.to_json()))
    Ledger.verify(decode(line)["events"], decode(line)["head"])


@pytest.mark.slow
def test_a_resumed_run_keeps_no_task_of_what_is_done(tmp_path: Path) -> None:
    suite = load_suite(EnvConfig(env="simia/retail-v0", split="train", generated=25))
    roll = Roll(suite, tmp_path / "r.jsonl")
    null = suite.load_policy("null")
    roll(null)

    def tasks() -> int:
        return sum(isinstance(one, Task) and bool(one.user) for one in gc.get_objects())

    before, counts = tasks(), list[int]()

    def count(record: Record) -> None:
        if next(seen) % 8 == 0:
            counts.append(tasks())

    seen = itertools.count(1)
    assert roll(null, resume=True, on_done=count).reused == len(suite.tasks)
    assert len(counts) >= 3
    assert max(counts) - before < 10
