"""`simia export` writes the end of an episode as a folder of real files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pytest

from simia_gym.cli.app import run as simia
from simia_gym.envs.officebench.grammar import AnswerGrammar
from simia_gym.types import Calls, ToolCall

from ..domains.shell import Says
from ..proof.stage import suite_of
from ..rollout.conftest import Roll
from .test_public import SET, own

__all__ = ["own"]
MAIL = {"sender": "Bob", "recipient": "Bob", "subject": "Done: é", "content": "It is done."}
CALLS = (
    ("system_switch_app", {"target_app": "excel"}),
    SET,
    ("excel_create_new_file", {"file_path": "data/new.xlsx"}),
    ("system_switch_app", {"target_app": "word"}),
    ("word_create_new_file", {"file_path": "data/notes.docx"}),
    ("word_write_to_file", {"file_path": "data/notes.docx", "contents": "One.\r\nTwo."}),
    ("system_switch_app", {"target_app": "email"}),
    ("email_send_email", MAIL),
    ("system_finish_task", {"answer": "1,013"}),
)


@pytest.fixture
def record(own: Path, tmp_path: Path) -> Path:
    """Two episodes of a task of the benchmark; the data have gone since."""
    path = tmp_path / "record.jsonl"
    said = [AnswerGrammar().render(Calls((ToolCall(name, given),))) for name, given in CALLS]
    suite = suite_of("simia/officebench-v0", data=str(own))
    Roll(suite, path)(lambda: Says(*said), group=2)
    shutil.rmtree(own)
    return path


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_end_of_an_episode_becomes_a_folder_that_office_programs_open(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, more in (("out", []), ("again", ["--task", "officebench-1-1-0", "--member", "1"])):
        assert simia(["export", str(record), str(tmp_path / name), *more, "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    files = files_of(tmp_path / "out")
    assert files == files_of(tmp_path / "again")
    assert told == {"folder": str(tmp_path / "again"), "task": "officebench-1-1-0", "member": 1, "files": sorted(files)}
    names = ("answer.txt", "new.xlsx", "notes.docx", "team.xlsx")
    assert sorted(files) == [*(f"data/{name}" for name in names), "emails/Bob/Done: é.eml"]
    assert files["data/answer.txt"] == b"1,013"
    assert b"From: Bob <bob@example.com>" in files["emails/Bob/Done: é.eml"]
    assert openpyxl.load_workbook(tmp_path / "out" / "data" / "team.xlsx").active["B2"].value == 13
    paragraphs = docx.Document(str(tmp_path / "out" / "data" / "notes.docx")).paragraphs
    assert [one.text for one in paragraphs] == ["One.", "Two."]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["full"], "no empty folder"),
        (["out", "--task", "none"], "no episode 0 of task 'none'"),
        (["out", "--member", "2"], "no episode 2"),
    ],
)
def test_what_cannot_be_exported_is_named(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").touch()
    assert simia(["export", str(record), str(tmp_path / arguments[0]), *arguments[1:]]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("path", ["../a", "/tmp/a", "a/../../b"])
def test_a_domain_writes_nothing_outside_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert simia(["new-domain", "desk"]) == 0
    with Path("desk", "domain.yaml").open("a") as file:
        file.write("export_folder: files.py:files\n")
    Path("desk", "files.py").write_text(f"def files(domain, state):\n    return {{'kept': b'1', {path!r}: b'2'}}\n")
    play: list[Any] = ["rollout", "desk", "--policy", "null", "--episodes", "1", "--out", "r.jsonl"]
    assert simia(play) == 0
    assert simia(["export", "r.jsonl", "out"]) == 2
    assert "outside of every folder" in capsys.readouterr().err
    assert not Path("out").exists()


def test_records_of_other_domains_have_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert simia(["rollout", "retail", "--policy", "null", "--episodes", "1", "--out", "r.jsonl"]) == 0
    assert simia(["export", "r.jsonl", "out", "--task", "x"]) == 2
    assert "exports whole records" in capsys.readouterr().err
