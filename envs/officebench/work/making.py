"""Makes a task of each kind: its office, the values of its sentence, its goal, and its answer.

A maker knows what it has drawn; it follows no plan, so that the plans of the expert and the goals check each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta

from simia_gym.envs.officebench.paths import normalised
from simia_gym.envs.officebench.work.drawing import COLUMNS, NOTES, PEOPLE, ROOMS, STRANGERS, Drawn
from simia_gym.envs.officebench.work.plans import IMPOSSIBLE, clock
from simia_gym.envs.officebench.work.sentences import long_day
from simia_gym.types import JsonObject

Maker = Callable[[Drawn], str | None]
"""Fills a task; gives the answer if it asks for one."""


def _scene(d: Drawn) -> None:
    """Things that lie in every office and that no task is about."""
    for user in d.others[:2]:
        d.fill_day(user, d.day(), 2)
    sender, box = d.others[2:4]
    d.put("mails", *d.mail(box, sender, box, d.summary(), d.rng.choice(NOTES)))
    d.document(d.path(".docx"), d.rng.sample(NOTES, 2))


def _own_event(d: Drawn, user: str) -> tuple[str, date, str, str]:
    """Put an event into a calendar, and one of the same name into the calendar of somebody else."""
    summary, day, (start, end) = d.summary(), d.day(), d.span()
    d.put("events", *d.event(user, summary, day, start, end))
    d.put("events", *d.event(d.others[0], summary, day + timedelta(days=1), *d.span()))
    d.fill_day(user, day + timedelta(days=1), 2)
    return summary, day, start, end


def _new_event(d: Drawn) -> tuple[str, date, str, str]:
    summary, day, (start, end) = d.summary(), d.day(), d.span()
    d.values |= {"summary": summary, "day": long_day(day), "start": start, "end": end}
    return summary, day, start, end


def _add_event(d: Drawn) -> None:
    d.fill_day(d.person, d.day(), 2)
    d.want_event(d.person, *_new_event(d))


def _no_user(d: Drawn) -> str:
    d.fill_day(d.other, d.day(), 2)
    _new_event(d)
    d.values["person"] = d.rng.choice(STRANGERS)
    d.looks = ("calendar_list_events", "calendar_create_event")
    return IMPOSSIBLE


def _cancel_event(d: Drawn) -> None:
    summary, day, start, end = _own_event(d, d.person)
    d.values["summary"] = summary
    d.want("events", d.event(d.person, summary, day, start, end)[0], None)


def _no_event(d: Drawn) -> str:
    summary = _own_event(d, d.other)[0]
    d.fill_day(d.person, d.day(), 3)
    d.values["summary"] = summary
    d.looks = ("calendar_list_events", "calendar_delete_event")
    return IMPOSSIBLE


def _first_free(busy: list[tuple[int, int]], length: int) -> int:
    """The first quarter of an hour at which so long a time is free; events begin and end at quarters."""
    for start in range(9 * 60, 17 * 60 - length + 1, 15):
        if not any(begin < start + length and start < end for begin, end in busy):
            return start
    raise LookupError("the whole day is busy")


def _free_slot(d: Drawn) -> None:
    summary, day, length = d.summary(), d.day(), d.rng.choice((30, 45, 60))
    busy = d.fill_day(d.person, day, 6, early=True)
    d.fill_day(d.person, day + timedelta(days=1), 2)
    start = _first_free(busy, length)
    d.values |= {"summary": summary, "day": long_day(day), "length": str(length)}
    d.want_event(d.person, summary, day, clock(start), clock(start + length))


def _when_event(d: Drawn) -> str:
    summary, day, start, _ = _own_event(d, d.person)
    d.put("events", *d.event(d.person, summary, day + timedelta(days=2), *d.span()))
    d.values |= {"summary": summary, "day": long_day(day)}
    return start


def _names(d: Drawn, most: int = 7) -> list[str]:
    return d.rng.sample(PEOPLE, d.rng.randint(4, most))


def _sheet(d: Drawn, gaps: float = 0.15) -> tuple[str, dict[str, JsonObject], str]:
    """A table that the task is about, and another one; gives its path, its rows and one of its columns."""
    path, columns = d.path(".xlsx"), d.rng.sample(COLUMNS, 3)
    rows = d.sheet(path, _names(d), columns, gaps)
    d.sheet(d.path(".xlsx"), _names(d), d.rng.sample(COLUMNS, 2))
    d.values |= {"file": path, "column": (column := d.rng.choice(columns))}
    return path, rows, column


def _cell(rows: Mapping[str, JsonObject], name: str, column: str) -> str:
    """The name of the cell of a person and a column; the first column, A, holds the names."""
    return f"{'BCD'[list(rows[name]).index(column)]}{list(rows).index(name) + 2}"


def _cell_value(d: Drawn) -> str:
    _, rows, column = _sheet(d, 0.3)
    name = d.values["name"] = d.rng.choice(list(rows))
    value = rows[name][column]
    return "empty" if value is None else str(value)


def _set_value(d: Drawn) -> None:
    path, rows, column = _sheet(d)
    name = d.values["name"] = d.rng.choice(list(rows))
    new = d.rng.choice([one for one in range(100, 400) if one != rows[name][column]])
    d.values["value"] = str(new)
    d.want("files", normalised(path), new, "cells", _cell(rows, name, column))


def _sum_of(rows: Mapping[str, JsonObject], column: str) -> str:
    return str(sum(row[column] or 0 for row in rows.values()))


def _total(d: Drawn) -> str:
    _, rows, column = _sheet(d, 0.25)
    return _sum_of(rows, column)


def _no_file(d: Drawn) -> str:
    _total(d)
    d.values["file"] = d.path(".xlsx")
    d.looks = ("excel_read_file",)
    return IMPOSSIBLE


def _add_row(d: Drawn) -> None:
    path, rows, column = _sheet(d)
    name = d.values["name"] = d.rng.choice([one for one in (*PEOPLE, *STRANGERS) if one not in rows])
    value, row = d.rng.randint(3, 95), len(rows) + 2
    d.values["value"] = str(value)
    d.want("files", normalised(path), name, "cells", f"A{row}")
    d.want("files", normalised(path), value, "cells", f"{'BCD'[list(rows[next(iter(rows))]).index(column)]}{row}")


def _clear_value(d: Drawn) -> None:
    path, rows, column = _sheet(d)
    name = d.values["name"] = d.rng.choice([one for one in rows if rows[one][column] is not None] or list(rows))
    d.want("files", normalised(path), None, "cells", _cell(rows, name, column))


def _subject(d: Drawn) -> None:
    d.values["subject"] = d.fresh(("About the", "News of the", "Note on the", "Question on the"), [d.summary().lower()])


def _send_mail(d: Drawn) -> None:
    _subject(d)
    d.values["content"] = d.rng.choice(NOTES)
    d.want_mail(d.values["content"])


def _mail_fact(d: Drawn) -> str:
    _subject(d)
    senders = [d.others[0], d.other, d.others[1]]
    for sender, room in zip(senders, rooms := d.rng.sample(ROOMS, 3), strict=True):
        content = f"Hello {d.person},\nwe meet in room {room}. {d.rng.choice(NOTES)}\n{sender}"
        d.put("mails", *d.mail(d.person, sender, d.person, d.values["subject"], content))
    return rooms[1]


def _write_note(d: Drawn) -> None:
    d.values |= {"target": d.path(".docx"), "content": d.rng.choice(NOTES)}
    path = normalised(d.values["target"])
    d.want("files", path, {"kind": "docx", "paragraphs": [d.values["content"]]})


def _note_fact(d: Drawn) -> str:
    d.values["source"] = d.path(".docx")
    one, two, three = d.rng.sample(d.others, 3)
    parts = [
        f"{one} leads the meeting.",
        f"{two} takes the minutes.",
        f"{three} brings the slides.",
        d.rng.choice(NOTES),
    ]
    d.document(d.values["source"], d.rng.sample(parts, len(parts)))
    return two


def _invoice(d: Drawn) -> str:
    d.values["source"] = d.path(".pdf")
    net, tax = d.rng.randint(100, 900), d.rng.randint(5, 90)
    lines = [f"Invoice for {d.summary().lower()}", f"Net: ${net}", f"Tax: ${tax}", f"Amount to pay: ${net + tax}"]
    d.document(d.values["source"], lines, "pdf")
    return str(net + tax)


def _invoice_fact(d: Drawn) -> str:
    return _invoice(d)


def _print_note(d: Drawn) -> None:
    d.values |= {"source": d.path(".docx"), "target": d.path(".pdf")}
    paragraphs = d.rng.sample(NOTES, 3)
    d.document(d.values["source"], paragraphs)
    d.want("files", normalised(d.values["target"]), {"kind": "pdf", "paragraphs": paragraphs})


def _invite(d: Drawn, sender: str) -> tuple[str, date, str, str]:
    """Invite the person by a mail; gives the event."""
    summary, day, (start, end) = d.summary(), d.day(), d.span()
    when = f"on {long_day(day)} from {start} to {end}"
    content = f"Hello {d.person},\nplease join {summary} {when}. {d.rng.choice(NOTES)}\n{sender}"
    d.put("mails", *d.mail(d.person, sender, d.person, d.values["subject"], content))
    return summary, day, start, end


def _mail_to_calendar(d: Drawn) -> None:
    _subject(d)
    d.fill_day(d.person, d.day(), 3)
    _invite(d, d.others[0])
    d.want_event(d.person, *_invite(d, d.other))


def _no_mail(d: Drawn) -> str:
    _mail_to_calendar(d)
    d.goal.clear()
    d.values["other"] = d.others[1]
    d.looks = ("email_list_emails", "email_read_email")
    return IMPOSSIBLE


def _total_by_mail(d: Drawn) -> None:
    _subject(d)
    _, rows, column = _sheet(d, 0.25)
    d.want_mail(_sum_of(rows, column))


def _no_table(d: Drawn) -> str:
    _total_by_mail(d)
    d.goal.clear()
    d.values["file"] = d.path(".xlsx")
    d.looks = ("excel_read_file",)
    return IMPOSSIBLE


def _agenda_by_mail(d: Drawn) -> None:
    _subject(d)
    day = d.day()
    d.values["day"] = long_day(day)
    d.fill_day(d.person, day, 3)
    d.fill_day(d.person, day + timedelta(days=1), 2)
    d.fill_day(d.other, day, 2)
    rows = [row for _, row in d.state.rows("events") if row["user"] == d.person and row["start"].startswith(f"{day}")]
    d.want_mail(
        "\n".join(f"{row['start'][11:16]} {row['summary']}" for row in sorted(rows, key=lambda row: row["start"]))
    )


def _list_above(d: Drawn) -> None:
    path, rows, column = _sheet(d)
    d.values["target"] = d.path(".docx")
    values = sorted(row[column] for row in rows.values() if row[column] is not None) or [50]
    limit = d.rng.choice(values)
    d.values["limit"] = str(limit)
    names = [name for name, row in rows.items() if row[column] is not None and row[column] >= limit]
    if not names:
        name, names = next(iter(rows)), [next(iter(rows))]
        edited: JsonObject = dict(d.state.get("files", normalised(path)) or {})
        d.put("files", normalised(path), {**edited, "cells": {**edited["cells"], _cell(rows, name, column): limit}})
    d.want("files", normalised(d.values["target"]), {"kind": "docx", "paragraphs": names})


def _hours_into_table(d: Drawn) -> None:
    path, rows, column = _sheet(d)
    d.values["source"] = d.path(".docx")
    hours = {name: d.rng.randint(100, 200) for name in d.rng.sample(list(rows), d.rng.randint(2, 4))}
    d.document(
        d.values["source"], [d.rng.choice(NOTES), *(f"{name} worked {one} hours." for name, one in hours.items())]
    )
    for name, one in hours.items():
        d.want("files", normalised(path), one, "cells", _cell(rows, name, column))


def _invoice_to_table(d: Drawn) -> None:
    amount = _invoice(d)
    path, rows, column = _sheet(d)
    name = d.values["name"] = d.rng.choice(list(rows))
    d.want("files", normalised(path), int(amount), "cells", _cell(rows, name, column))


def _meet(d: Drawn) -> None:
    _subject(d)
    summary, day, length = d.summary(), d.day(), d.rng.choice((30, 45, 60))
    busy = d.fill_day(d.person, day, 4, early=True) + d.fill_day(d.other, day, 6)
    start = _first_free(busy, length)
    d.values |= {"summary": summary, "day": long_day(day), "length": str(length)}
    for user in (d.person, d.other):
        d.want_event(user, summary, day, clock(start), clock(start + length))
    d.want_mail(clock(start))


def _report(d: Drawn) -> None:
    _subject(d)
    _, rows, column = _sheet(d, 0.25)
    target = d.values["target"] = d.path(".docx")
    d.want("files", normalised(target), {"kind": "docx", "paragraphs": [_sum_of(rows, column)]})
    d.want_mail(target)


def _moved_event(d: Drawn) -> None:
    _subject(d)
    summary, day, start, end = _own_event(d, d.person)
    new, times = day + timedelta(days=3), d.span()
    d.values |= {"summary": summary, "source": d.path(".docx")}
    paragraphs = d.rng.sample(NOTES, 2)
    d.document(d.values["source"], paragraphs)
    when = f"on {long_day(new)} from {times[0]} to {times[1]}"
    content = f"Hello {d.person},\n{summary} takes place {when} now. {d.rng.choice(NOTES)}\n{d.other}"
    d.put("mails", *d.mail(d.person, d.other, d.person, d.values["subject"], content))
    d.want("events", d.event(d.person, summary, day, start, end)[0], None)
    d.want_event(d.person, summary, new, *times)
    row = {"kind": "docx", "paragraphs": [*paragraphs, f"Moved: {summary}"]}
    d.want("files", normalised(d.values["source"]), row)


def _print_and_mail(d: Drawn) -> None:
    _subject(d)
    _print_note(d)
    d.want_mail(d.values["target"])


def _scene_and(maker: Maker) -> Maker:
    """A maker that also puts things into the office that its task is not about."""

    def make(d: Drawn) -> str | None:
        _scene(d)
        return maker(d)

    return make


_MAKERS: tuple[Maker, ...] = (
    _add_event,
    _cancel_event,
    _free_slot,
    _when_event,
    _cell_value,
    _set_value,
    _total,
    _add_row,
    _clear_value,
    _send_mail,
    _mail_fact,
    _write_note,
    _note_fact,
    _invoice_fact,
    _print_note,
    _no_file,
    _no_user,
    _no_event,
    _mail_to_calendar,
    _total_by_mail,
    _agenda_by_mail,
    _list_above,
    _hours_into_table,
    _invoice_to_table,
    _meet,
    _report,
    _moved_event,
    _print_and_mail,
    _no_mail,
    _no_table,
)
MAKERS: Mapping[str, Maker] = {maker.__name__[1:]: _scene_and(maker) for maker in _MAKERS}
"""The maker of each kind."""
