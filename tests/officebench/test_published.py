"""Every oddity of the published apps that `compat="officebench"` has, beside the sound behaviour."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest

from simia_gym.common.files import read_json
from simia_gym.domain.registration import domain_path
from simia_gym.envs.officebench import evaluators
from simia_gym.envs.officebench.formats.folder import read_office, written_office
from simia_gym.envs.officebench.world import OfficeWorld
from simia_gym.errors import InputError
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.state import State
from simia_gym.types import JsonObject, Task, ToolCall, Transition

ENV = "simia/officebench-v0"
XLSX, DOCX = "/testbed/data/team.xlsx", "/testbed/data/notes.docx"
FILES: dict[str, JsonObject] = {
    XLSX: {"kind": "xlsx", "cells": {"A1": "Name", "B1": 12}},
    DOCX: {"kind": "docx", "paragraphs": ["One."]},
}


class Office:
    """An office with the published apps, or the sound ones."""

    def __init__(self, compat: str | None) -> None:
        tables = read_json(domain_path(ENV) / "state.json")
        desk = {"main": {**tables["desk"]["main"], **({"compat": compat} if compat else {})}}
        self.state = State.from_tables({**tables, "files": FILES, "desk": desk})
        self.world = OfficeWorld({"compat": compat})

    def __call__(self, name: str, /, **arguments: Any) -> Transition:
        if not name.startswith("system"):
            self._do("system_switch_app", {"target_app": name.partition("_")[0]})
        return self._do(name, arguments)

    def _do(self, name: str, arguments: dict[str, Any]) -> Transition:
        done = self.world.call(self.state, ToolCall(name, arguments))
        if done.outcome == "ok":
            assert done.state is not None
            assert {**tables_of(self.state.apply(done.ops or ()))} == tables_of(done.state)
        self.state = done.state or self.state
        return done

    def finished(self) -> FinishedEpisode:
        task = Task(id="t", split="train", kind="k", instruction="")
        return FinishedEpisode(task, (), self.state, self.state, "terminal_tool", 1, {})


def tables_of(state: State) -> dict[str, Any]:
    return {name: dict(state.rows(name)) for name in state.tables}


@pytest.fixture
def published() -> Office:
    return Office("officebench")


@pytest.fixture
def sound() -> Office:
    return Office(None)


def cell(text: object) -> dict[str, Any]:
    return {"file_path": "data/team.xlsx", "row_idx": 1, "column_idx": 2, "text": text}


def event(**changes: str) -> dict[str, str]:
    times = {"time_start": "2024-05-06 09:00:00", "time_end": "2024-05-06 10:00:00"}
    return {"user": "Bob", "summary": "Review", **times, **changes}


def mail(**changes: str) -> dict[str, str]:
    return {"sender": "Alice", "recipient": "Bob", "subject": "News", "content": "All is well.", **changes}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", None),
        (1, None),
        ("1.0", None),
        ("True", None),
        ("", None),
        ("None", 12),
        ("5", 5),
        ("2.50", 2.5),
        ("1e3", 1000.0),
        ("0x10", 16),
        ("False", False),
        ("'7'", 7),
        ("007", "007"),
        ("a b", "a b"),
        ("=A1", {"formula": "=A1"}),
    ],
)
def test_set_cell_reads_a_literal_and_1_empties_the_cell(published: Office, text: object, value: object) -> None:
    done = published("excel_set_cell", **cell(text))
    assert done.observation in (f"Successfully write text to {path}" for path in (XLSX, "data/team.xlsx"))
    found = published.state.get("files", XLSX)
    assert found is not None
    assert found["cells"].get("B1") == value
    assert type(found["cells"].get("B1")) in (type(value), type(found["cells"]))


@pytest.mark.parametrize("text", ["1,000", "[a]", "{1: 2}", "(a, b)", "3j"])
def test_set_cell_fails_at_what_reads_as_a_list(published: Office, sound: Office, text: str) -> None:
    assert published("excel_set_cell", **cell(text)).observation == "Failed to write text to data/team.xlsx"
    assert sound("excel_set_cell", **cell(text)).outcome == "ok"


def test_no_error_says_that_it_is_one(published: Office, sound: Office) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("word_read_file", {"file_path": "data/none.docx"}),
        ("system_switch_app", {"target_app": "games"}),
        ("excel_read_file", {"path": "x"}),
    ]
    for name, given in calls:
        assert sound(name, **given).observation == f"Error: {published(name, **given).observation}"


def test_listing_events_makes_an_empty_calendar(published: Office, sound: Office) -> None:
    exists = evaluators.FileArgs(file="./calendar/Bob.ics")
    for office, there in ((published, True), (sound, False)):
        assert office("calendar_list_events", username="Bob").observation == "No events found for Bob."
        assert evaluators.file_exist(office.finished(), exists).met is there
        assert evaluators.calendar_no_overlap(office.finished(), evaluators.UserArgs(username="Bob")).met is there
    published("calendar_create_event", **event())
    files = written_office(published.state)
    assert list(read_office(files).events) == ["Bob: 2024-05-06 09:00:00 Review"]


def test_no_event_is_ever_deleted(published: Office) -> None:
    published("calendar_create_event", **event())
    done = published("calendar_delete_event", user="Bob", summary="Review")
    assert done.observation == "Failed to delete an event named Review from Bob's calendar."
    assert published.state.count("events") == 1


def test_an_event_may_stand_twice_and_end_before_it_begins(published: Office, sound: Office) -> None:
    for given in (event(), event(), event(time_end="2024-05-05 00:00:00")):
        assert published("calendar_create_event", **given).outcome == "ok"
    assert published.state.count("events") == 3
    assert published("calendar_create_event", **event(time_end="noon")).outcome == "error"


def test_a_mail_overwrites_one_with_the_same_subject(published: Office) -> None:
    for content in ("One.", "Two."):
        published("email_send_email", **mail(content=content))
    assert published.state.count("mails") == 2
    shown = published("email_read_email", username="Bob", email_id="News").observation
    assert shown.endswith("Content: Two....")
    slash = published("email_send_email", **mail(subject="a/b"))
    assert slash.observation == "Failed to send email to Bob."


def test_quotes_are_lost(published: Office) -> None:
    published("email_send_email", **mail(subject='It\'s "new"', content='Bob\'s "word"'))
    assert dict(published.state.rows("mails"))["Bob: Its new.eml"]["content"] == "Bobs word"
    published("word_write_to_file", file_path=DOCX, contents='It\'s "new"')
    row = published.state.get("files", DOCX)
    assert row is not None
    assert [*row["paragraphs"]] == ["One.", "Its new"]
    published("system_finish_task", answer="Bob's")
    assert published.state.at("/desk/main/answer") == "Bobs"


def test_no_answer_is_the_answer_none(published: Office, sound: Office) -> None:
    published("system_finish_task")
    sound("system_finish_task")
    assert (published.state.at("/desk/main/answer"), sound.state.at("/desk/main/answer")) == ("None", "")


def test_a_new_document_replaces_one(published: Office, sound: Office) -> None:
    for office, text in ((published, []), (sound, ["One."])):
        office("word_create_new_file", file_path="data/notes.docx")
        row = office.state.get("files", DOCX)
        assert row is not None
        assert [*row["paragraphs"]] == text


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("calendar_create_event", event(user="Zoe")),
        ("calendar_list_events", {"username": "Zoe"}),
        ("email_send_email", mail(recipient="Zoe@work.example")),
        ("email_list_emails", {"username": "Zoe"}),
    ],
)
def test_whoever_is_named_is_a_user(published: Office, sound: Office, name: str, given: dict[str, Any]) -> None:
    assert published(name, **given).outcome == "ok"
    assert published.state.has("people", "Zoe")
    assert sound(name, **given).error_code == "unknown_user"


def test_evaluators_have_their_oddities(published: Office, sound: Office) -> None:
    words = evaluators.ContainArgs(file=XLSX, keywords=("12", "a, b"))
    match = [evaluators.CellMatch(row=1, col=2, allowed=("2.5",))]
    cells = evaluators.CellArgs(file=XLSX, matches=tuple(match))
    for office, holds in ((published, False), (sound, True)):
        office("excel_set_cell", file_path=XLSX, row_idx=3, column_idx=1, text="a, b 12")
        assert evaluators.contain(office.finished(), words).met is holds
        office("excel_set_cell", **cell("2.5"))
        assert evaluators.excel_cell_comparator(office.finished(), cells).met is holds


def test_a_session_with_the_published_apps_plays_and_an_unknown_one_is_refused() -> None:
    env = gym.make(ENV, options={"compat": "officebench"})
    env.reset(seed=1)
    shown = env.step('<answer>{"app": "word", "action": "read_file", "file_path": "x.docx"}</answer>')[0]
    assert shown.startswith("you must switch to the word app")
    with pytest.raises(InputError, match="it can be None or 'officebench'"):
        gym.make(ENV, options={"compat": "tau2"})
