"""Real files: what nobody changed stays byte for byte, and what was changed is changed in the original."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import docx
import icalendar
import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.styles import Font
from openpyxl.worksheet.table import Table

from simia_gym.common.files import read_json
from simia_gym.domain.registration import domain_path
from simia_gym.envs.officebench.cells import name_of, same
from simia_gym.envs.officebench.formats.folder import read_office, written_office
from simia_gym.envs.officebench.formats.packing import packed, unpacked
from simia_gym.envs.officebench.formats.pictures import picture
from simia_gym.state import State
from simia_gym.types import JsonObject

BOOK, TEXT, MAIL = "/testbed/data/team.xlsx", "/testbed/data/notes.docx", "/testbed/emails/Bob/News.eml"
CALENDAR = "/testbed/calendar/Bob.ics"


QUICK = settings(deadline=None, database=None, max_examples=40)


def state_of(**tables: Any) -> State:
    return State.from_tables({**read_json(domain_path("simia/officebench-v0") / "state.json"), **tables})


def office_of(files: dict[str, bytes]) -> dict[str, Any]:
    return vars(read_office(files))


def rows_again(tables: dict[str, Any]) -> dict[str, Any]:
    """What is read from the files that are written of these rows; they are the same each time."""
    state = state_of(**tables)
    files = written_office(state)
    assert files == written_office(state)
    return office_of(files)


def file_again(row: JsonObject, path: str, original: bytes | None = None) -> Any:
    tables = {} if original is None else office_of({path: original})
    return rows_again({**tables, "files": {path: row}})["files"][path]


def saved(thing: Any) -> bytes:
    out = io.BytesIO()
    thing.save(out)
    return out.getvalue()


@pytest.fixture(scope="session")
def workbook() -> bytes:
    """A workbook with styles, a second sheet, a table, merged cells, formulas, and a part that is no sheet."""
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["Name", "Hours"], ["Bob", 12], ["Ann", 7]):
        sheet.append(row)
    sheet["A1"].font = sheet["B2"].font = Font(bold=True)
    sheet.add_table(Table(displayName="Team", ref="A1:B3"))
    sheet["D1"], sheet["D5"], sheet["E5"] = "Title", "=SUM(B2:B3)", "=D5*2"
    sheet.merge_cells("D1:E2")
    book.create_sheet("Other")["C3"] = "=1+1"
    parts = unpacked(saved(book))
    parts["xl/media/image1.png"] = picture("A logo.", ".png")
    return packed(parts)


def changed_book(workbook: bytes, changes: dict[str, Any]) -> tuple[bytes, Any]:
    tables = office_of({BOOK: workbook})
    cells = {**tables["files"][BOOK]["cells"], **changes}
    row = {"kind": "xlsx", "cells": {name: value for name, value in cells.items() if value is not None}}
    tables = {**tables, "files": {BOOK: row}}
    assert same(rows_again(tables)["files"][BOOK], row)
    data = written_office(state_of(**tables))[BOOK]
    return data, openpyxl.load_workbook(io.BytesIO(data))


def test_a_changed_cell_leaves_everything_else_of_a_workbook(workbook: bytes) -> None:
    data, book = changed_book(workbook, {"B2": 13, "C9": "far", "A3": None})
    before, after = unpacked(workbook), unpacked(data)
    assert {name for name in before if before[name] != after[name]} == {"xl/workbook.xml", "xl/worksheets/sheet1.xml"}
    assert list(before) == list(after)
    sheet = book.active
    assert (sheet["B2"].value, sheet["B2"].font.b, sheet["A1"].font.b, sheet["C9"].value) == (13, True, True, "far")
    assert (sheet.dimensions, [*sheet.tables], str(sheet.merged_cells.ranges)) == (
        "A1:E9",
        ["Team"],
        "{<MergedCellRange D1:E2>}",
    )
    assert book["Other"]["C3"].value == "=1+1"
    assert b'fullCalcOnLoad="1"' in after["xl/workbook.xml"]


def test_a_workbook_s_parts_may_have_other_names(workbook: bytes) -> None:
    parts = {name.replace("xl/workbook", "xl/book"): data for name, data in unpacked(workbook).items()}
    parts["xl/_rels/book.xml.rels"] = parts.pop("xl/_rels/workbook.xml.rels")
    for name in ("[Content_Types].xml", "_rels/.rels"):
        parts[name] = parts[name].replace(b"xl/workbook.xml", b"xl/book.xml")
    assert changed_book(packed(parts), {"B2": 13})[1].active["B2"].value == 13


@pytest.mark.parametrize(("head", "columns"), [("Days", ["Name", "Days"]), ("Name", None), (3, None), (None, None)])
def test_a_table_follows_its_heads_or_ends(workbook: bytes, head: Any, columns: list[str] | None) -> None:
    _, book = changed_book(workbook, {"B1": head})
    found = book.active.tables.get("Team")
    assert (found and found.column_names) == columns


def test_a_value_in_merged_cells_is_seen(workbook: bytes) -> None:
    assert not changed_book(workbook, {"E2": "x"})[1].active.merged_cells.ranges
    assert changed_book(workbook, {"D1": "x"})[1].active.merged_cells.ranges


def test_a_shared_formula_outlives_the_cell_that_it_stands_in(workbook: bytes) -> None:
    parts = unpacked(workbook)
    sheet = parts["xl/worksheets/sheet1.xml"]
    shared = b'<c r="C2"><f t="shared" ref="C2:C3" si="0">B2+1</f><v>13</v></c>'
    sheet = sheet.replace(b'</c></row><row r="3"', b"</c>" + shared + b'</row><row r="3"')
    sheet = sheet.replace(
        b'<c r="B3" t="n"><v>7</v></c>', b'<c r="B3" t="n"><v>7</v></c><c r="C3"><f t="shared" si="0"/></c>'
    )
    assert sheet.count(b"shared") == 2
    _, book = changed_book(packed({**parts, "xl/worksheets/sheet1.xml": sheet}), {"C2": 5})
    assert (book.active["C2"].value, book.active["C3"].value) == (5, "=B3+1")


def test_a_moment_is_shown_as_one_and_a_number_in_its_place_as_a_number(workbook: bytes) -> None:
    moments = {"A2": {"date": "2024-05-06 09:30:00"}, "B3": {"time": "08:15:00"}}
    data, book = changed_book(workbook, moments)
    assert book.active["A2"].is_date
    assert changed_book(data, {"A2": 5, "B3": 2.5})[1].active["A2"].value == 5


VALUES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(lambda text: not text.startswith("=")),
    st.integers(-(10**15), 10**15),
    st.floats(-1e300, 1e300, allow_nan=False),
    st.booleans(),
    st.sampled_from(["a\nb", "a\rb", "\t", {"formula": "=SUM(A1:A2)"}, {"date": "1999-12-31 23:59:59"}]),
)


@QUICK
@given(st.dictionaries(st.builds(name_of, st.integers(1, 30), st.integers(1, 30)), VALUES, max_size=5))
def test_a_new_workbook_holds_its_values_with_their_types(cells: dict[str, Any]) -> None:
    row = {"kind": "xlsx", "cells": cells}
    assert same(file_again(row, BOOK), row)


def test_a_far_cell_is_written_and_read_at_once() -> None:
    row = {"kind": "xlsx", "cells": {"XFD1000000": 7}}
    assert file_again(row, BOOK) == row


@pytest.fixture(scope="session")
def document() -> bytes:
    """A document with a heading, a table, a picture and a bold word."""
    made = docx.Document()
    made.add_heading("Plan", 1)
    made.add_paragraph("We meet ").add_run("today").bold = True
    made.add_table(1, 1).cell(0, 0).text = "in a table"
    made.add_picture(io.BytesIO(picture("A logo.", ".png")))
    made.add_paragraph("The end.")
    return saved(made)


@pytest.mark.parametrize(
    "paragraphs",
    [
        ["Plan", "We meet today", "", "The end.", "More.", "\tEven more. "],
        ["First.", "Plan", "We meet today", "Between.", "", "Another end."],
        ["Plan", "We meet today", ""],
    ],
)
def test_changed_paragraphs_leave_everything_else_of_a_document(document: bytes, paragraphs: list[str]) -> None:
    row = {"kind": "docx", "paragraphs": paragraphs}
    assert file_again(row, TEXT, document) == row
    tables = {**office_of({TEXT: document}), "files": {TEXT: row}}
    found = docx.Document(io.BytesIO(written_office(state_of(**tables))[TEXT]))
    styled: dict[str, Any] = {paragraph.text: paragraph for paragraph in found.paragraphs}
    assert styled["Plan"].style.name == "Heading 1"
    assert [run.bold for run in styled["We meet today"].runs] == [None, True]
    assert (found.tables[0].cell(0, 0).text, len(found.inline_shapes)) == ("in a table", 1)


LINES = st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"])), min_size=1, max_size=4)


@QUICK
@given(LINES, st.sampled_from(["a.docx", "a.pdf", "a.txt", "a.png", "a.jpg"]))
@pytest.mark.slow
def test_a_new_file_holds_its_text(paragraphs: list[str], name: str) -> None:
    kind = {"docx": "docx", "pdf": "pdf", "txt": "txt", "png": "image", "jpg": "image"}[name[2:]]
    row = {"kind": kind, "paragraphs": paragraphs}
    assert file_again(row, f"/testbed/data/{name}") == row


def event(start: str, summary: str, **texts: str) -> JsonObject:
    row = {"user": "Bob", "summary": summary, "start": start, "end": f"{start[:11]}23:00:00"}
    return {f"Bob: {start} {summary}": {**row, "description": "", "location": "", **texts}}


ORIGINAL = (
    b"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//x//y\nX-OURS:kept\n"
    b"BEGIN:VEVENT\nUID:1\nDTSTART:20240506T090000\nDTEND:20240506T230000\nSUMMARY:Stays\nX-COLOUR:red\nEND:VEVENT\n"
    b"BEGIN:VEVENT\nUID:2\nDTSTART:20240507T090000\nDTEND:20240507T230000\nSUMMARY:Goes\nEND:VEVENT\nEND:VCALENDAR"
)


def test_events_come_into_a_calendar_and_leave_it(document: bytes) -> None:
    tables = office_of({CALENDAR: ORIGINAL})
    events = {**event("2024-05-06 09:00:00", "Stays"), **event("2024-05-08 10:00:00", "A, b; c\\n", location="Online")}
    data = written_office(state_of(**{**tables, "events": events}))[CALENDAR]
    kept = ORIGINAL[: ORIGINAL.index(b"BEGIN:VEVENT\nUID:2")]
    assert (data.startswith(kept), data.endswith(b"\nEND:VCALENDAR"), b"Goes" in data) == (True, True, False)
    assert office_of({CALENDAR: data})["events"] == events
    found: Any = icalendar.Calendar.from_ical(data).walk("VEVENT")[1]
    assert (str(found["summary"]), found["dtstart"].dt.isoformat()) == ("A, b; c\\n", "2024-05-08T10:00:00")


@QUICK
@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=250).filter(str.strip))
def test_a_mail_and_an_event_hold_their_texts(text: str) -> None:
    heads = {"user": "Bob", "id": "News.eml", "from": "Alice", "to": "Bob", "subject": text.strip()}
    tables: dict[str, Any] = {
        "mails": {"Bob: News.eml": {**heads, "content": f"{text}\n\nFrom me\n.\n"}},
        "events": event("2024-05-06 09:00:00", text.strip(), description=text.strip()),
    }
    found = rows_again(tables)
    assert {name: found[name] for name in tables} == tables


def test_nothing_changed_is_nothing_written_anew(workbook: bytes, document: bytes) -> None:
    raw = b"From: a@b.c\r\nTo: d\r\nSubject: x\r\n\r\nHello\r\n"
    files = {BOOK: workbook, TEXT: document, CALENDAR: ORIGINAL, MAIL: raw, "/testbed/data/x.bin": b"\xff\0"}
    assert written_office(state_of(**office_of(files))) == files


def changed(row: JsonObject, chance: random.Random) -> JsonObject:
    """A row with some values more and some less."""
    if "cells" in row:
        cells = {name: value for name, value in row["cells"].items() if chance.random() < 0.9}
        more = {
            name_of(chance.randint(1, 40), chance.randint(1, 12)): value
            for value in ("new", 7, 2.5, {"formula": "=A1"})
        }
        return {**row, "cells": {**cells, **more}}
    if row["kind"] != "docx":
        return row
    kept = [text for text in row["paragraphs"] if chance.random() < 0.9]
    return {**row, "paragraphs": ["A new beginning.", *kept, "", "A new end."]}


def test_every_given_file_is_the_same_after_a_round_trip(shared_data: Path) -> None:
    folder = shared_data / "officebench"
    seen, tried = set[bytes](), 0
    for bed in sorted({*folder.glob("testbeds/*"), *folder.glob("references/*")}):
        given = {f"/testbed/{one.relative_to(bed).as_posix()}": one for one in bed.rglob("*") if one.is_file()}
        files = {path: one.read_bytes() for path, one in given.items() if one.read_bytes() not in seen}
        seen.update(files.values())
        tables = office_of(files)
        assert written_office(state_of(**tables)) == files
        new = {path: changed(row, random.Random(path)) for path, row in tables["files"].items() if row["kind"] != "pdf"}
        tried += len(new)
        events = {**dict(list(tables["events"].items())[1:]), **event("2030-01-01 10:00:00", "New")}
        found = rows_again({**tables, "files": new, "events": events})
        for name, rows in {"files": new, "mails": tables["mails"], "events": events}.items():
            assert same(found[name], rows), (bed.name, name)
    assert tried > 20
