"""The apps: what they take, what they refuse, and that a refusal changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from simia_gym.common.files import read_json
from simia_gym.domain.registration import domain_path
from simia_gym.envs.officebench.cells import name_of, place_of
from simia_gym.envs.officebench.paths import normalised
from simia_gym.envs.officebench.world import OfficeWorld
from simia_gym.state import State
from simia_gym.types import JsonObject, ToolCall, Transition

XLSX, DOCX = "/testbed/data/team.xlsx", "/testbed/data/notes.docx"
FILES: dict[str, JsonObject] = {
    XLSX: {"kind": "xlsx", "cells": {"A1": "Name", "B1": "Hours", "A2": "Bob", "B2": 12}},
    DOCX: {"kind": "docx", "paragraphs": ["One."]},
}


class Office:
    """An office whose apps are opened as they are needed."""

    def __init__(self) -> None:
        tables = read_json(domain_path("simia/officebench-v0") / "state.json")
        self.state, self.world = State.from_tables({**tables, "files": FILES}), OfficeWorld()

    def __call__(self, name: str, /, **arguments: Any) -> Transition:
        app = name.partition("_")[0]
        if app != "system":
            self._do("system_switch_app", {"target_app": app})
        return self._do(name, arguments)

    def explained(self, name: str, **arguments: Any) -> str:
        self._do("system_switch_app", {"target_app": name.partition("_")[0]})
        return self.world.call(self.state, ToolCall(name, arguments), "explain").observation

    def _do(self, name: str, arguments: dict[str, Any]) -> Transition:
        done = self.world.call(self.state, ToolCall(name, arguments))
        self.state = done.state or self.state
        return done


@pytest.fixture
def office() -> Office:
    return Office()


def event(**changes: str) -> dict[str, str]:
    times = {"time_start": "2024-05-06 09:00:00", "time_end": "2024-05-06 10:00:00"}
    return {"user": "Bob", "summary": "Review", **times, **changes}


def mail(**changes: str) -> dict[str, str]:
    return {"sender": "Alice", "recipient": "Bob", "subject": "News", "content": "All is well.", **changes}


def cell(**changes: Any) -> dict[str, Any]:
    return {"file_path": XLSX, "row_idx": 2, "column_idx": 2, "text": "7", **changes}


REFUSED = [
    ("calendar_create_event", event(time_start="2024-05-06 9:00"), "bad_time"),
    ("calendar_create_event", event(time_start="2024-02-30 09:00:00"), "bad_time"),
    ("calendar_create_event", event(time_end="2024-05-06 09:00:00"), "bad_time"),
    ("calendar_create_event", event(time_end="2024-05-06T10:00:00"), "bad_time"),
    ("calendar_create_event", event(time_end="2024-05-06 10:00:00 CET"), "bad_time"),
    ("calendar_create_event", event(summary=" "), "bad_summary"),
    ("calendar_create_event", event(summary="Review\nof all"), "bad_summary"),
    ("calendar_create_event", event(user="Nobody"), "unknown_user"),
    ("calendar_delete_event", {"user": "Bob", "summary": "Review"}, "no_event"),
    ("email_send_email", mail(recipient="Bob, Carol"), "bad_address"),
    ("email_send_email", mail(recipient="<>"), "bad_address"),
    ("email_send_email", mail(recipient="nobody@example.com"), "unknown_user"),
    ("email_send_email", mail(subject="News\r\nBcc: Carol"), "bad_subject"),
    ("email_send_email", mail(subject=""), "bad_subject"),
    ("email_send_email", mail(content="a\x00b"), "bad_content"),
    ("excel_set_cell", cell(text="\x07"), "bad_text"),
    ("excel_set_cell", cell(text=""), "bad_text"),
    ("excel_set_cell", cell(text="\ud800"), "bad_text"),
    ("excel_set_cell", cell(row_idx=0), "bad_cell"),
    ("excel_set_cell", cell(row_idx=1_048_577), "bad_cell"),
    ("excel_set_cell", cell(column_idx=16_385), "bad_cell"),
    ("excel_set_cell", cell(file_path="data/none.xlsx"), "no_file"),
    ("excel_set_cell", cell(file_path=DOCX), "wrong_kind"),
    ("excel_create_new_file", {"file_path": XLSX}, "exists"),
    ("excel_create_new_file", {"file_path": "data/new.docx"}, "bad_path"),
    ("excel_create_new_file", {"file_path": "../etc/new.xlsx"}, "bad_path"),
    ("word_write_to_file", {"file_path": DOCX, "contents": "\x0b"}, "bad_text"),
    ("word_convert_to_pdf", {"word_file_path": DOCX, "pdf_file_path": DOCX}, "bad_path"),
    ("pdf_read_file", {"pdf_file_path": DOCX}, "wrong_kind"),
    ("calculator_calculate", {"expression": "1 / 0"}, "bad_expression"),
    ("calculator_calculate", {"expression": "len([1])"}, "bad_expression"),
    ("calculator_calculate", {"expression": "9 ** 9"}, "bad_expression"),
    ("llm_complete_text", {"prompt": " "}, "empty_prompt"),
    ("system_switch_app", {"target_app": "shell"}, "no_app"),
]


@pytest.mark.parametrize(("name", "arguments", "code"), REFUSED)
def test_what_an_app_cannot_do_is_an_error_that_changes_nothing(
    office: Office, name: str, arguments: dict[str, Any], code: str
) -> None:
    done = office(name, **arguments)
    assert (done.outcome, done.error_code, done.ops) == ("error", code, ())
    assert ("Why: " in office.explained(name, **arguments)) is True


def test_a_text_of_a_cell_has_at_most_as_many_characters_as_a_workbook_holds(office: Office) -> None:
    longest = cell(text="x" * 32_768)
    assert office("excel_set_cell", **longest).outcome == "error"


def test_only_the_open_app_works(office: Office) -> None:
    call = ToolCall("email_list_emails", {"username": "Bob"})
    assert office.world.call(office.state, call).error_code == "wrong_app"
    assert office("email_list_emails", username="Bob").observation == "No emails found for Bob."
    office("email_send_email", **mail())
    assert office("email_list_emails", username="BOB@example.com").outcome == "ok"


def test_a_mail_overwrites_none(office: Office) -> None:
    for content in ("One.", "Two.", "Three."):
        assert office("email_send_email", **mail(subject="a/b", content=content)).outcome == "ok"
    for box in ("Alice", "Bob"):
        found = [office("email_read_email", username=box, email_id=f"a_b{n}").observation for n in ("", " (2)", " (3)")]
        assert [text.rpartition("Content: ")[2] for text in found] == ["One.", "Two.", "Three."]


def test_an_undone_event_leaves_no_trace(office: Office) -> None:
    before = dict(office.state.rows("events"))
    office("calendar_create_event", **event())
    assert office("calendar_create_event", **event()).error_code == "exists"
    office("calendar_delete_event", user="bob", summary="Review")
    assert dict(office.state.rows("events")) == before


def test_an_overlap_is_allowed_and_explained(office: Office) -> None:
    office("calendar_create_event", **event(summary="Lunch"))
    assert office.explained("calendar_create_event", **event(time_end="2024-05-06 09:30:00")).endswith(
        "It overlaps 'Lunch' from 09:00 to 10:00."
    )
    assert office("calendar_create_event", **event()).observation.endswith("Bob's calendar.")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        (" 5 ", 5),
        ("-2.50", -2.5),
        (7, 7),
        ("007", "007"),
        ("1,000", "1,000"),
        ("1e5", "1e5"),
        ("True", "True"),
        ("=SUM(B1:B2)", {"formula": "=SUM(B1:B2)"}),
        ("=", "="),
        ("12345678901234567890", "12345678901234567890"),
    ],
)
def test_a_cell_gets_the_value_that_a_text_means(office: Office, text: str | int, value: object) -> None:
    office("excel_set_cell", **cell(text=text))
    assert office.state.at("/files/~1testbed~1data~1team.xlsx/cells/B2") == value


def test_a_table_shows_its_empty_cells_and_a_far_cell_costs_little(office: Office) -> None:
    office("excel_delete_cell", file_path=XLSX, row_idx=2, column_idx=1)
    shown = office("excel_read_file", file_path="./data/team.xlsx").observation.split("\n")[1:]
    assert shown == ["(1, 1): Name\t(1, 2): Hours\t", "(2, 1): [Empty Cell]\t(2, 2): 12\t"]
    office("excel_set_cell", **cell(row_idx=1_000_000))
    shown = office("excel_read_file", file_path=XLSX).observation.split("\n")[1:]
    assert shown[2:] == ["(1000000, 2): 7\t"]


def test_a_printed_file_can_be_read_and_made_a_document(office: Office) -> None:
    office("word_convert_to_pdf", word_file_path=DOCX, pdf_file_path="data/notes.pdf")
    assert office("pdf_read_file", pdf_file_path="/testbed/data/notes.pdf").observation == "One."
    office("pdf_convert_to_word", pdf_file_path="data/notes.pdf", word_file_path="data/again.docx")
    assert office("word_read_file", file_path="data/again.docx").observation.endswith("\nOne.")
    office("excel_convert_to_pdf", excel_file_path=XLSX, pdf_file_path="data/team.pdf")
    assert office("pdf_read_file", pdf_file_path="data/team.pdf").observation == "Name Hours\nBob 12"


@pytest.mark.parametrize("path", ["data/a.xlsx", "./data/a.xlsx", "/testbed/data//a.xlsx", "data/b/../a.xlsx "])
def test_a_path_has_one_spelling(path: str) -> None:
    assert normalised(path) == "/testbed/data/a.xlsx"


@pytest.mark.parametrize(("row", "column", "name"), [(1, 1, "A1"), (9, 26, "Z9"), (3, 27, "AA3"), (1, 16_384, "XFD1")])
def test_cells_have_the_names_of_workbooks(row: int, column: int, name: str) -> None:
    assert name_of(row, column) == name
    assert place_of(name) == (row, column)
