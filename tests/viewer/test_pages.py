"""Records as pages: what stands in them, and what does not."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from simia_gym import read_records
from simia_gym.cli.app import run
from simia_gym.viewer.rows import overview_of
from simia_gym.viewer.steps import conversation

from .conftest import play


class Seen(HTMLParser):
    """The tags of a page with their attributes, and all of its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def ids(self) -> list[str]:
        return [attributes["id"] or "" for _, attributes in self.tags if "id" in attributes]


def page(record: Path, *words: str) -> Seen:
    out = record.with_suffix(".html")
    assert run(["view", str(record), *words, "--out", str(out)]) == 0
    return Seen(out.read_text(encoding="utf-8"))


def test_a_page_shows_every_episode_with_its_verdict(record: Path) -> None:
    seen = page(record)
    records = list(read_records(record))
    for number, one in enumerate(records):
        assert f"e{number}" in seen.ids()
        assert one.task in seen.text
        for event in one.events:
            if event["type"] == "transition":
                assert event["observation"][:60] in seen.text
        for item in one.verdict["criteria"]:
            assert f"e{number}:{item['id']}" in seen.ids()
            assert item["reason"] in seen.text


def test_links_lead_somewhere_and_no_id_is_there_twice(record: Path) -> None:
    seen = page(record)
    ids = seen.ids()
    assert len(set(ids)) == len(ids)
    linked = {value[1:] for tag, attributes in seen.tags if (value := attributes.get("href")) and tag == "a"}
    assert linked - {""} <= set(ids)
    assert any(":" in one for one in linked)  # from a step to the criterion that rests on it
    for tag, attributes in seen.tags:
        for name in ("src", "href", "action", "data"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)


def test_the_same_record_gives_the_same_page(record: Path) -> None:
    first, second = (record.with_name(f"{name}.html") for name in ("first", "second"))
    for out in (first, second):
        assert run(["view", str(record), "--out", str(out)]) == 0
    assert first.read_bytes() == second.read_bytes()


def test_changes_say_what_stood_there_before(record: Path) -> None:
    for one in read_records(record):
        for step in conversation(one).steps:
            event = one.events[step.event]
            if step.call and event["ops"]:
                assert [change.path for change in (*step.changes, *step.inner)] == [op["path"] for op in event["ops"]]
                for change, op in zip((*step.changes, *step.inner), event["ops"], strict=True):
                    marks = {mark for mark, _ in change.lines}
                    assert ("+" in marks) == (op["op"] != "remove")
                    assert op["op"] != "replace" or "-" in marks


def test_the_list_counts_what_failed(record: Path) -> None:
    overview = overview_of([record])
    records = list(read_records(record))
    for missed in overview.criteria:
        found = [item for one in records for item in one.verdict["criteria"] if item["id"] == missed.name]
        assert missed.judged == len([item for item in found if item["passed"] is not None])
        assert missed.failed == len([item for item in found if item["passed"] is False])
    assert [row.turns for row in overview.rows] == [one.turns for one in records]
    assert [row.reward for row in overview.rows] == [one.reward for one in records]
    with record.open("rb") as file:
        for row, one in zip(overview.rows, records, strict=True):
            file.seek(row.offset)
            assert one.key.encode() in file.readline()


def test_an_episode_that_could_not_begin_is_shown(tmp_path: Path) -> None:
    (tmp_path / "fails_at_once.py").write_text("class Fails:\n  def act(self, messages): raise KeyError('odd')\n")
    sys.path.insert(0, str(tmp_path))
    try:
        seen = page(play(tmp_path / "f.jsonl", "--policy", "fails_at_once:Fails", "--episodes", "2"))
    finally:
        sys.path.remove(str(tmp_path))
    assert "policy: bug" in seen.text
    assert "no reward" in seen.text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "there is no finished episode in it"),
        (b'{"v":2,"key":"torn', "there is no finished episode in it"),
        (b"no record\n", "not valid JSON"),
        (None, "there is no such record"),
    ],
    ids=["empty", "torn", "no record", "missing"],
)
def test_what_is_no_record_is_one_line(
    content: bytes | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.jsonl"
    if content is not None:
        path.write_bytes(content)
    assert run(["view", str(path), "--out", str(tmp_path / "a.html")]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert not (tmp_path / "a.html").exists()


def test_a_folder_of_records_is_one_list(record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", str(tmp_path), "--out", str(tmp_path / "x.html")]) == 2
    assert "there is no record in this folder" in capsys.readouterr().err
    for name in ("a", "b"):
        for end in (".jsonl", ".blobs", ".times.jsonl"):
            (tmp_path / f"{name}{end}").write_bytes(record.with_name(f"some{end}").read_bytes())
    assert run(["view", str(tmp_path), "--out", str(tmp_path / "x.html")]) == 0
    text = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert len(re.findall('<article class="episode"', text)) == 16
    assert 'data-record="b.jsonl"' in text


def test_another_file_is_not_overwritten(record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.html"
    mine.write_text("<p>mine</p>")
    assert run(["view", str(record), "--out", str(mine)]) == 2
    assert mine.read_text() == "<p>mine</p>"
    assert "mine.html" in capsys.readouterr().err


def test_without_the_extra_the_command_says_what_to_install(
    record: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("simia_gym.viewer.pages.find_spec", lambda name: None)
    assert run(["view", str(record), "--out", str(record.with_name("no.html"))]) == 2
    assert 'pip install "simia-gym[view]"' in capsys.readouterr().err
