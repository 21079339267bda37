"""One training file out of several syntheses: weights hold, nothing stands in it twice, and every line says whence."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from simia_gym.cli.app import run as main
from simia_gym.rl.sft.gather import from_files

Row = dict[str, Any]


def row(name: str, number: int, **more: Any) -> Row:
    messages = [
        {"role": "system", "content": f"The rules of {name}."},
        {"role": "user", "content": f"{name} {number}"},
        {"role": "assistant", "content": "Done."},
    ]
    return {"id": f"single-{number}", "env": name, "messages": messages, "kind": "k", "split": "train", **more}


def folder(path: Path, rows: list[Row]) -> Path:
    path.mkdir(exist_ok=True)
    (path / "trajectories.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two syntheses, one of them with tools."""
    monkeypatch.chdir(tmp_path)
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    folder(tmp_path / "shop", [row("shop", number) for number in range(40)])
    folder(tmp_path / "desk", [row("desk", number, tools=[tool], seed_source="traces.jsonl:1") for number in range(10)])
    return tmp_path


def mix(*words: object, code: int = 0) -> None:
    assert main(["synth", "mix", *map(str, words)]) == code


def said(capsys: pytest.CaptureFixture[str]) -> str:
    found = capsys.readouterr()
    return found.out + found.err


@pytest.mark.parametrize(
    ("weights", "size", "shares"),
    [
        ((1, 1), None, (10, 10)),
        ((3, 1), None, (30, 10)),
        ((2, 1), 10, (7, 3)),
        ((0.5, 0.25), 6, (4, 2)),
        ((1, 4), None, (2, 10)),
    ],
)
def test_weights_hold_and_nothing_is_repeated(
    weights: tuple[float, float], size: int | None, shares: tuple[int, int], here: Path
) -> None:
    asked = [] if size is None else ["--size", size]
    mix(f"shop={weights[0]}", f"desk={weights[1]}", "--out", "m.jsonl", *asked)
    rows = read(here / "m.jsonl")
    counts = Counter(one["env"] for one in rows)
    assert (counts["shop"], counts["desk"]) == shares
    assert len({str(one["messages"]) for one in rows}) == len(rows)


def test_each_line_stays_as_it_is_and_says_where_it_stood(here: Path) -> None:
    mix("shop", "desk", "--out", "m.jsonl")
    for one in read(here / "m.jsonl"):
        path, _, number = one.pop("source").rpartition(":")
        assert read(here / path)[int(number) - 1] == one


def test_supervised_training_reads_it_with_the_system_message_and_the_tools_of_each_line(here: Path) -> None:
    mix("shop", "desk", "--out", "m.jsonl")
    found = from_files([here / "m.jsonl"]).train
    assert Counter(item.env for item in found) == {"shop": 10, "desk": 10}
    for item in found:
        system = item.messages[0]["content"]
        assert system.startswith(f"The rules of {item.env}.")
        assert ("<tools>" in system) == (item.env == "desk")


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(here: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        mix("shop", "desk", "--out", f"{name}.jsonl", "--size", 8, "--seed", seed)
    one, same, other = ((here / f"{name}.jsonl").read_bytes() for name in "abc")
    assert one == same != other
    assert [line["env"] for line in read(here / "a.jsonl")] not in (
        ["shop"] * 4 + ["desk"] * 4,
        ["desk"] * 4 + ["shop"] * 4,
    )


def test_a_folder_that_has_grown_gives_most_of_what_it_gave_before(here: Path) -> None:
    before, after = (set[str](), set[str]())
    for found, number in ((before, 40), (after, 44)):
        folder(here / "shop", [row("shop", place) for place in range(number)])
        mix("shop", "--out", "m.jsonl", "--size", 20)
        found |= {str(one["messages"]) for one in read(here / "m.jsonl")}
    assert len(before & after) >= 16


def test_too_few_are_named_with_what_there_is(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mix("shop=2", "desk=1", "--out", "m.jsonl", "--size", 36, code=2)
    text = said(capsys)
    assert "too few trajectories: desk has 10 of 12. With these weights there are 30" in text
    assert not (here / "m.jsonl").exists()
    mix("shop=2", "desk=1", "--out", "m.jsonl", "--size", 31)  # 21 and 10
    mix("shop=2", "desk=1", "--out", "n.jsonl", "--size", 32, code=2)


def test_what_stands_in_two_folders_counts_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder(here / "again", [row("shop", number, id=f"other-{number}") for number in range(35, 45)])
    mix("shop", "again", "--out", "m.jsonl", "--size", 10)
    assert "5 of 40 in shop, 5 of 5 in again; 5 stand there more than once and count once" in said(capsys)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["nowhere"], "nowhere: there is no such folder. Give FOLDER or FOLDER=WEIGHT"),
        (["shop=much"], "shop=much: there is no such folder"),
        (["shop=0", "desk"], "shop=0: its weight is 0"),
        (["shop", "shop=2"], "shop: it is given twice"),
        (["empty"], "empty: there is no trajectories.jsonl in it"),
        (["bad"], "bad/trajectories.jsonl:2: is not valid JSON"),
        (["none"], "none/trajectories.jsonl:1: is no trajectory: it has no messages"),
        (["test"], "test/trajectories.jsonl:1: is of a test task"),
        (["shop=100000", "desk=1"], "too few trajectories: desk would give none"),
    ],
)
def test_what_cannot_be_mixed_is_told(
    words: list[str], what: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "empty").mkdir()
    folder(here / "bad", [row("bad", 0)])
    with (here / "bad" / "trajectories.jsonl").open("a") as file:
        file.write('{"messages": [')
    folder(here / "none", [{"id": "a"}])
    folder(here / "test", [row("test", 0, split="test")])
    mix(*words, "--out", "m.jsonl", code=2)
    assert what in said(capsys)
    assert not (here / "m.jsonl").exists()


def test_nothing_is_overwritten_that_is_no_mix(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mix("shop", "desk", "--out", "shop/trajectories.jsonl", code=2)
    assert len(read(here / "shop" / "trajectories.jsonl")) == 40
    (here / "notes.txt").write_text("mine")
    mix("shop", "--out", "notes.txt", code=2)
    assert (here / "notes.txt").read_text() == "mine"
    mix("shop/trajectories.jsonl", "--out", "m.jsonl")
    mix("shop", "--out", "m.jsonl")  # a mix may be made again
    assert len(read(here / "m.jsonl")) == 40
