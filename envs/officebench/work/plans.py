"""How each kind of task is done: a plan makes calls, and is sent what they show."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from decimal import Decimal
from typing import Any, TypeAlias

from simia_gym.envs.officebench.apps.calculator import plain
from simia_gym.envs.officebench.cells import EMPTY
from simia_gym.envs.officebench.work.sentences import read_day
from simia_gym.types import ToolCall

Slots: TypeAlias = Mapping[str, str]
Plan: TypeAlias = Generator[ToolCall, str, str]
"""Makes calls, is sent their observations, and returns the answer."""
IMPOSSIBLE = "not possible"
_MISSING = ("does not exist", "Failed to ", "No events found", "No emails found")
_CELL = re.compile(r"\((\d+), (\d+)\): ([^\t]*)\t")
_EVENT = re.compile(r"Summary: (.*)\nStart Time: (.*)\nEnd Time: (.*)\n")
_MAIL = re.compile(r"Email ID: (.*)\nFrom: (.*)\nTo: (.*)\nSubject: (.*)\n")
_WHEN = re.compile(r"on (\d+ \w+ \d+) from (\d\d:\d\d) to (\d\d:\d\d)")
_DAY = (9 * 60, 17 * 60)


def _call(app: str, action: str, /, **arguments: Any) -> ToolCall:
    return ToolCall(f"{app}_{action}", arguments)


class Missing(Exception):
    """Something that the task needs does not exist."""


def _seen(text: str) -> str:
    if any(mark in text for mark in _MISSING):
        raise Missing
    return text


class Table:
    """A table as an observation shows it."""

    def __init__(self, text: str) -> None:
        self.cells: dict[tuple[int, int], str] = {
            (int(row), int(column)): value for row, column, value in _CELL.findall(text)
        }
        self.columns = {value: column for (row, column), value in self.cells.items() if row == 1}
        self.names = {value: row for (row, column), value in self.cells.items() if column == 1 and row > 1}
        self.last = max((row for row, column in self.cells), default=0)

    def value(self, name: str, column: str) -> str:
        """The value of a name in a column."""
        return self.cells[self.names[name], self.columns[column]]

    def total(self, column: str) -> str:
        """The sum of a column."""
        values = (self.cells[row, self.columns[column]] for row in self.names.values())
        return plain(sum((Decimal(one) for one in values if one != EMPTY), Decimal(0)))


def _table(path: str) -> Generator[ToolCall, str, Table]:
    return Table(_seen((yield _call("excel", "read_file", file_path=path))))


def _set(path: str, row: int, column: int, text: Any) -> Generator[ToolCall, str, None]:
    yield _call("excel", "set_cell", file_path=path, row_idx=row, column_idx=column, text=text)


def _events(user: str) -> Generator[ToolCall, str, list[tuple[str, str, str]]]:
    """The events of a calendar: what, from, to."""
    return _EVENT.findall((yield _call("calendar", "list_events", username=user)))


def _enter(user: str, summary: str, day: str, start: str, end: str) -> Generator[ToolCall, str, None]:
    times = {"time_start": f"{day} {start}:00", "time_end": f"{day} {end}:00"}
    _seen((yield _call("calendar", "create_event", user=user, summary=summary, **times)))


def _mail(s: Slots, content: str) -> Generator[ToolCall, str, None]:
    addressed = {"sender": s["person"], "recipient": s["other"], "subject": s["subject"]}
    yield _call("email", "send_email", **addressed, content=content)


def _received(s: Slots) -> Generator[ToolCall, str, str]:
    """The content of the mail that somebody has sent with a subject."""
    listed = yield _call("email", "list_emails", username=s["person"])
    found = [mail for mail, by, to, subject in _MAIL.findall(listed) if (by, subject) == (s["other"], s["subject"])]
    if not found:
        raise Missing
    shown = _seen((yield _call("email", "read_email", username=s["person"], email_id=found[0])))
    return shown.partition("\nContent: ")[2]


def _when(content: str) -> tuple[str, str, str]:
    """Day, begin and end in a mail."""
    day, start, end = _WHEN.findall(content)[0]
    return read_day(day), start, end


def _write(path: str, text: str) -> Generator[ToolCall, str, None]:
    yield _call("word", "create_new_file", file_path=path)
    yield _call("word", "write_to_file", file_path=path, contents=text)


def minutes(time: str) -> int:
    """Minutes since midnight of a time like ``09:30``."""
    return 60 * int(time[:2]) + int(time[3:])


def clock(time: int) -> str:
    """The time so many minutes after midnight."""
    return f"{time // 60:02d}:{time % 60:02d}"


def earliest(busy: list[tuple[int, int]], length: int) -> int:
    """The earliest time of the working day at which so many minutes are free, in minutes since midnight."""
    starts = sorted(one for one in (_DAY[0], *(end for _, end in busy)) if one >= _DAY[0])
    return next(s for s in starts if all(end <= s or s + length <= begin for begin, end in busy))


def _busy(events: list[tuple[str, str, str]], day: str) -> list[tuple[int, int]]:
    return [(minutes(a[11:16]), minutes(b[11:16])) for _, a, b in events if a.startswith(day)]


def _add_event(s: Slots) -> Plan:
    yield from _enter(s["person"], s["summary"], read_day(s["day"]), s["start"], s["end"])
    return ""


def _cancel_event(s: Slots) -> Plan:
    if s["summary"] not in [one[0] for one in (yield from _events(s["person"]))]:
        raise Missing
    yield _call("calendar", "delete_event", user=s["person"], summary=s["summary"])
    return ""


def _free_slot(s: Slots) -> Plan:
    day, length = read_day(s["day"]), int(s["length"])
    start = earliest(_busy((yield from _events(s["person"])), day), length)
    yield from _enter(s["person"], s["summary"], day, clock(start), clock(start + length))
    return ""


def _when_event(s: Slots) -> Plan:
    day = read_day(s["day"])
    found = [a for what, a, _ in (yield from _events(s["person"])) if what == s["summary"] and a.startswith(day)]
    return found[0][11:16]


def _cell_value(s: Slots) -> Plan:
    value = (yield from _table(s["file"])).value(s["name"], s["column"])
    return "empty" if value == EMPTY else value


def _set_value(s: Slots) -> Plan:
    table = yield from _table(s["file"])
    yield from _set(s["file"], table.names[s["name"]], table.columns[s["column"]], s["value"])
    return ""


def _total(s: Slots) -> Plan:
    return (yield from _table(s["file"])).total(s["column"])


def _add_row(s: Slots) -> Plan:
    table = yield from _table(s["file"])
    yield from _set(s["file"], table.last + 1, 1, s["name"])
    yield from _set(s["file"], table.last + 1, table.columns[s["column"]], s["value"])
    return ""


def _clear_value(s: Slots) -> Plan:
    table = yield from _table(s["file"])
    row, column = table.names[s["name"]], table.columns[s["column"]]
    yield _call("excel", "delete_cell", file_path=s["file"], row_idx=row, column_idx=column)
    return ""


def _send_mail(s: Slots) -> Plan:
    yield from _mail(s, s["content"])
    return ""


def _mail_fact(s: Slots) -> Plan:
    return str(re.findall(r"in room (.+?)\.", (yield from _received(s)))[0])


def _write_note(s: Slots) -> Plan:
    yield from _write(s["target"], s["content"])
    return ""


def _note_fact(s: Slots) -> Plan:
    return str(re.findall(r"(\w+) takes the minutes", (yield _call("word", "read_file", file_path=s["source"])))[0])


def _amount(path: str) -> Generator[ToolCall, str, str]:
    return str(re.findall(r"Amount to pay: \$([\d.]+)", (yield _call("pdf", "read_file", pdf_file_path=path)))[0])


def _invoice_fact(s: Slots) -> Plan:
    return (yield from _amount(s["source"]))


def _print_note(s: Slots) -> Plan:
    yield _call("word", "convert_to_pdf", word_file_path=s["source"], pdf_file_path=s["target"])
    return ""


def _mail_to_calendar(s: Slots) -> Plan:
    content = yield from _received(s)
    summary = re.findall(r"join (.+) on \d", content)[0]
    yield from _enter(s["person"], summary, *_when(content))
    return ""


def _total_by_mail(s: Slots) -> Plan:
    yield from _mail(s, (yield from _table(s["file"])).total(s["column"]))
    return ""


def _agenda_by_mail(s: Slots) -> Plan:
    day = read_day(s["day"])
    events = sorted((a, what) for what, a, _ in (yield from _events(s["person"])) if a.startswith(day))
    yield from _mail(s, "\n".join(f"{a[11:16]} {what}" for a, what in events))
    return ""


def _list_above(s: Slots) -> Plan:
    table = yield from _table(s["file"])
    values = {name: table.value(name, s["column"]) for name in table.names}
    names = [name for name, value in values.items() if value != EMPTY and Decimal(value) >= Decimal(s["limit"])]
    yield from _write(s["target"], "\n".join(names))
    return ""


def _hours_into_table(s: Slots) -> Plan:
    text = yield _call("word", "read_file", file_path=s["source"])
    table = yield from _table(s["file"])
    for name, hours in re.findall(r"(\w+) worked (\d+) hours", text):
        yield from _set(s["file"], table.names[name], table.columns[s["column"]], hours)
    return ""


def _invoice_to_table(s: Slots) -> Plan:
    amount = yield from _amount(s["source"])
    table = yield from _table(s["file"])
    yield from _set(s["file"], table.names[s["name"]], table.columns[s["column"]], amount)
    return ""


def _meet(s: Slots) -> Plan:
    day, length, busy = read_day(s["day"]), int(s["length"]), list[tuple[int, int]]()
    for user in (s["person"], s["other"]):
        busy += _busy((yield from _events(user)), day)
    start = earliest(busy, length)
    for user in (s["person"], s["other"]):
        yield from _enter(user, s["summary"], day, clock(start), clock(start + length))
    yield from _mail(s, clock(start))
    return ""


def _report(s: Slots) -> Plan:
    number = (yield from _table(s["file"])).total(s["column"])
    yield from _write(s["target"], number)
    yield from _mail(s, s["target"])
    return ""


def _moved_event(s: Slots) -> Plan:
    when = _when((yield from _received(s)))
    yield _call("calendar", "delete_event", user=s["person"], summary=s["summary"])
    yield from _enter(s["person"], s["summary"], *when)
    yield _call("word", "write_to_file", file_path=s["source"], contents=f"Moved: {s['summary']}")
    return ""


def _print_and_mail(s: Slots) -> Plan:
    yield from _print_note(s)
    yield from _mail(s, s["target"])
    return ""


_PLANS = (
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
)
PLANS: Mapping[str, Callable[[Slots], Plan]] = {plan.__name__[1:]: plan for plan in _PLANS}
"""The plan of each way of working."""


def whole_plan(way: str, slots: Slots) -> Generator[ToolCall, str, None]:
    """All calls of a task: those of its plan, with the changes between apps, and its end."""
    plan, app, shown, answer = PLANS[way](slots), "", "", ""
    try:
        call = next(plan)
        while True:
            needed = call.name.partition("_")[0]
            if needed != app:
                app = needed
                yield _call("system", "switch_app", target_app=app)
            shown = yield call
            call = plan.send(shown)
    except StopIteration as end:
        answer = end.value
    except (Missing, LookupError):
        answer = IMPOSSIBLE
    yield _call("system", "finish_task", answer=answer)
