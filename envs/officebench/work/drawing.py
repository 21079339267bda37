"""Draws the data of a task: people, days, calendars, mails, tables and documents, with others beside those it needs."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from simia_gym.envs.officebench.apps.calendar import DESCRIPTION, LOCATION, event_key
from simia_gym.envs.officebench.apps.email import free_id
from simia_gym.envs.officebench.cells import name_of
from simia_gym.envs.officebench.paths import normalised
from simia_gym.envs.officebench.work.plans import clock, minutes
from simia_gym.state import Draft, State, make_pointer
from simia_gym.types import JsonObject

PEOPLE = ("Alice", "Bob", "Carol", "David", "Emma", "Farid", "Grace", "Hiro", "Ines", "Jonas", "Kavya", "Liam")
STRANGERS = ("Nora", "Oscar", "Petra", "Quinn", "Rosa", "Stefan", "Tariq", "Uma")
THEMES = ("Budget", "Design", "Hiring", "Launch", "Logistics", "Quality", "Sales", "Security", "Supplier", "Training")
SORTS = ("Call", "Check", "Interview", "Kickoff", "Planning", "Review", "Standup", "Update", "Visit", "Workshop")
ROOMS = ("Aspen", "Birch", "Cedar", "Elm", "Juniper", "Larch", "Maple", "Spruce")
COLUMNS = ("Hours", "Costs", "Budget", "Travel", "Bonus", "Units", "Score")
FILES = ("expenses", "team", "project", "quarter", "inventory", "survey", "plan", "summary", "ledger", "roster")
NOTES = (
    "The delivery arrives one day later than planned.",
    "All badges must be renewed before the summer.",
    "The printer on the second floor works again.",
    "Orders above 500 dollars need a second signature.",
    "The visitors come by train and need no parking space.",
    "Please bring the signed forms to the front desk.",
    "The new chairs stand in the storage room.",
    "We start with the open questions of last week.",
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
FIRST = date(2024, 5, 6)
LUNCH = "Lunch break"


class Drawn:
    """A task in the making.

    Attributes:
        rng: The source of its randomness.
        person: For whom the work is.
        other: Somebody else.
        values: The values of its sentence.
        goal: ``test`` operations on the end.
        looks: The tools that show that something is missing; none if nothing is.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.person, self.other, *self.others = rng.sample(PEOPLE, len(PEOPLE))
        self.today = FIRST + timedelta(days=rng.randrange(0, 200))
        self.values: dict[str, str] = {"person": self.person, "other": self.other}
        self.goal: list[JsonObject] = []
        self.looks: tuple[str, ...] = ()
        self.state = State.from_tables({"files": {}, "mails": {}, "events": {}})
        self._used: set[str] = set()

    # What is drawn once, and never twice in a task.
    def fresh(self, *words: Sequence[str]) -> str:
        """Words that the task has nowhere else."""
        while True:
            text = " ".join(self.rng.choice(one) for one in words)
            if text not in self._used:
                self._used.add(text)
                return text

    def summary(self) -> str:
        """What an event is."""
        return self.fresh(THEMES, SORTS)

    def path(self, end: str) -> str:
        """A path, in one of the ways in which people write it."""
        name = self.fresh(
            [f"{one}{end}" for one in (*FILES, *(f"{a}_{b}" for a in FILES for b in ("2023", "2024", "north")))]
        )
        return self.rng.choice(("", "/testbed/")) + f"data/{name}"

    def day(self) -> date:
        """A day after today."""
        return self.today + timedelta(days=self.rng.randint(1, 20))

    def span(self) -> tuple[str, str]:
        """Begin and end of an event outside of lunch."""
        start = self.rng.choice([time for time in range(9 * 60, 17 * 60, 15) if not 11 * 60 < time < 13 * 60])
        return clock(start), clock(start + self.rng.choice((15, 30, 45, 60)))

    def put(self, table: str, key: str, row: JsonObject) -> None:
        """Put a row into the office as it is at the beginning."""
        draft = Draft(self.state)
        draft.put(table, key, row)
        self.state = draft.commit()[0]

    def event(self, user: str, summary: str, day: date, start: str, end: str) -> tuple[str, JsonObject]:
        """Key and row of an event."""
        times = {"start": f"{day} {start}:00", "end": f"{day} {end}:00"}
        row: JsonObject = {"user": user, "summary": summary, **times, "description": DESCRIPTION, "location": LOCATION}
        return event_key(row), row

    def fill_day(self, user: str, day: date, most: int, early: bool = False) -> list[tuple[int, int]]:
        """Fill a day with a lunch break, with ``early`` also the first hour, and events that do not overlap.

        Returns:
            The times of the events, in minutes since midnight.
        """
        busy = [(12 * 60, 13 * 60)]
        self.put("events", *self.event(user, LUNCH, day, "12:00", "13:00"))
        if early:
            free = self.rng.choice((9 * 60 + 30, 10 * 60, 10 * 60 + 45))
            busy.append((9 * 60, free))
            self.put("events", *self.event(user, self.summary(), day, "09:00", clock(free)))
        for _ in range(most):
            start, end = self.span()
            a, b = minutes(start), minutes(end)
            if all(b <= x or y <= a for x, y in busy):
                busy.append((a, b))
                self.put("events", *self.event(user, self.summary(), day, start, end))
        return busy

    def mail(self, box: str, by: str, to: str, subject: str, content: str) -> tuple[str, JsonObject]:
        """Key and row of a mail that comes into a box."""
        mail = free_id(Draft(self.state), box, subject)
        return f"{box}: {mail}", {"user": box, "id": mail, "from": by, "to": to, "subject": subject, "content": content}

    def sheet(
        self, path: str, names: Iterable[str], columns: Sequence[str], gaps: float = 0.15
    ) -> dict[str, JsonObject]:
        """Put a table of numbers into the office, some cells empty; gives its rows by name."""
        rows: dict[str, JsonObject] = {}
        cells: JsonObject = {name_of(1, place): one for place, one in enumerate(("Name", *columns), 1)}
        for number, name in enumerate(names, 2):
            drawn = {one: self.rng.randint(3, 95) if self.rng.random() >= gaps else None for one in columns}
            rows[name] = drawn
            cells[name_of(number, 1)] = name
            cells |= {name_of(number, at): one for at, one in enumerate(drawn.values(), 2) if one is not None}
        self.put("files", normalised(path), {"kind": "xlsx", "cells": cells})
        return rows

    def document(self, path: str, paragraphs: Sequence[str], kind: str = "docx") -> None:
        """Put a document into the office."""
        self.put("files", normalised(path), {"kind": kind, "paragraphs": list(paragraphs)})

    def want(self, table: str, key: str, value: Any, *place: str) -> None:
        """Want a row, or a value in it, at the end; ``None`` wants that it is gone."""
        self.goal.append({"op": "test", "path": make_pointer(table, key, *place), "value": value})

    def want_event(self, user: str, summary: str, day: date, start: str, end: str) -> None:
        """Want an event."""
        self.want("events", *self.event(user, summary, day, start, end))

    def want_mail(self, content: str) -> None:
        """Want a mail from the person to the other one with the subject of the task."""
        for box in (self.other, self.person):
            self.want("mails", *self.mail(box, self.person, self.other, self.values["subject"], content))

    @property
    def setup(self) -> list[JsonObject]:
        """The operations that make the office."""
        desk: Mapping[str, Any] = {
            "app": None,
            "user": self.person,
            "date": self.today.isoformat(),
            "weekday": WEEKDAYS[self.today.weekday()],
            "time": "08:30",
            "answer": None,
        }
        made: list[JsonObject] = [{"op": "replace", "path": "/desk/main", "value": dict(desk)}]
        for table in ("files", "mails", "events"):
            made += [
                {"op": "add", "path": make_pointer(table, key), "value": row} for key, row in self.state.rows(table)
            ]
        return made
