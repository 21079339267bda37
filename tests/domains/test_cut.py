"""A long text is shown cut off, so that it does not fill the slice; nobody can write what was cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from simia_gym.evaluation.checker import check_folder
from simia_gym.state import State
from simia_gym.types import ToolCall
from simia_gym.views.slices import compile_reads

from ..engine.conftest import edit
from .shell import played, transitions, written

BIG = "mkdir big; seq 8000 | tee big/1 | tee big/2 > /dev/null"  # two of 39 kB, and 60 kB are the most for a slice


@pytest.fixture
def big(files: Path) -> Path:
    """A copy of the file tree whose task begins with big files."""
    edit("tasks/test.jsonl", '"init": "', f'"init": "{BIG}; ')(files)
    return files


@pytest.mark.parametrize("simulator", ["world", "llm"])
def test_big_files_stand_in_nobodys_way(big: Path, tmp_path: Path, simulator: str) -> None:
    commands = ("ls big", "head -2 big/1", "rm big/1", "mv log/a.txt log/b.txt")
    record = played(big, tmp_path / "r", *map(written, commands), simulator=simulator)
    done = transitions(record)
    assert [event["observation"] for event in done] == ["1\n2\n", "1\n2\n", "", ""]
    cut = [event["meta"].get("cut", []) for event in done]
    both = [f"/files/big~1{number}/text" for number in (1, 2)]
    assert cut == ([[]] * 4 if simulator == "world" else [both, both, both, both[1:]])
    assert record.verdict["criteria"][0]["reason"].startswith("something else changed: /files/big~11:")


@pytest.mark.parametrize(
    "command", ["wc -l big/1 > count", "tail -1 big/1", "mv big/1 big/3", "echo more >> big/1", "cat big/1"]
)
@pytest.mark.slow
def test_an_answer_that_depends_on_what_was_cut_off_is_a_fault(big: Path, tmp_path: Path, command: str) -> None:
    record = played(big, tmp_path / "r", written(command), simulator="llm")
    assert (record.valid, record.reward, record.fault and record.fault["kind"]) == (False, None, "cut_off")


def test_what_was_cut_off_is_not_overwritten(big: Path, tmp_path: Path) -> None:
    record = played(big, tmp_path / "r", written("echo new > big/1"), simulator="llm")
    assert record.fault is not None
    assert record.fault["kind"] == "invalid_reply"
    rejected = [event for event in record.events if event["type"] == "rejected"]
    assert "only the beginning of /files/big~11/text was shown" in rejected[0]["violations"][0]


@pytest.mark.parametrize(
    ("command", "what"),
    [("tail -1 big/1", "observation is"), ("echo new > big/1", "it writes /files/big~11/text"), ("head -1 big/1", "")],
)
@pytest.mark.slow
def test_the_checker_finds_gold_actions_that_need_what_was_cut_off(big: Path, command: str, what: str) -> None:
    edit("tasks/test.jsonl", '"command": "', f'"command": "{command}; ')(big)
    edit("domain.yaml", "generator: expert.py:generate\n", "")(big)  # further tasks would say nothing else
    found = [problem.what for problem in check_folder(big).problems if "tool 'run'" in problem.where]
    assert len(found) == bool(what)
    assert all(what in text for text in found)


def test_a_text_is_as_long_as_the_selector_that_shows_most_of_it() -> None:
    state = State.from_tables({"files": {"a": {"text": "abcdef", "lines": ["ghijkl"]}}})
    cut = {"table": "files", "cut": 2}
    part = compile_reads([cut], "t")(state, ToolCall("t", {}))
    written = (
        ("add", "/files/b", "xaby"),
        ("replace", "/files/a", 1),
        ("add", "/files/a/text", ""),
        ("add", "/files/b", "ba"),
    )
    found = [part.cut_by({"op": op, "path": path, "value": value}) for op, path, value in written]
    assert found == [*["/files/a/text"] * 3, None]
    assert part.cut_by({"op": "remove", "path": "/files/a"}) is None
    shown = part.value
    assert shown["tables"] == {"files": {"a": {"text": "ab", "lines": ["gh"]}}}
    assert shown["cut"] == {"/files/a/text": 6, "/files/a/lines/0": 6}
    for reads in ([cut, "files#text"], ["files#text", cut]):
        made = compile_reads(reads, "t")(state, ToolCall("t", {}))
        assert (made.tables["files"]["a"]["text"], dict(made.cut)) == ("abcdef", {"/files/a/lines/0": 6})
    assert compile_reads([cut, "files"], "t")(state, ToolCall("t", {})).value.keys() == {"tables", "missing"}
