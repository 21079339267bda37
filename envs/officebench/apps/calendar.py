# ruff: noqa: D417 (a tool's docstring tells the policy about its arguments; the draft is none of them)
"""Calendars: an event is a row of the table ``events``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from simia_gym.domain.tools import tool
from simia_gym.domain.world import World
from simia_gym.envs.officebench.apps.base import user_of
from simia_gym.envs.officebench.slices import EVENTS
from simia_gym.envs.officebench.texts import problem_of
from simia_gym.errors import ToolError
from simia_gym.state import Draft, State
from simia_gym.types import Row

_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_LONGEST = 250
LINE = "-" * 50
DESCRIPTION, LOCATION = "This is a test event", "Online"


class Calendar(World):
    """See the module."""

    @tool(effect="write", reads=("desk/main", "people", EVENTS), writes=("events/*",), always_changes=True)
    def calendar_create_event(self, db: Draft, user: str, summary: str, time_start: str, time_end: str) -> str:
        """Put an event into a user's calendar. Times are written like 2024-05-06 09:30:00.

        Args:
            user: Whose calendar.
            summary: What the event is.
            time_start: When it begins.
            time_end: When it ends.
        """
        failed = f"Failed to create a new event to {user}'s calendar."
        name = user_of(db, user, failed)
        if problem := problem_of(summary, lines=False, most=_LONGEST) or ("" if summary.strip() else "is empty"):
            raise ToolError(failed, "bad_summary", f"The summary {problem}.")
        begin, end = time_of(time_start, failed), time_of(time_end, failed)
        if end <= begin:
            raise ToolError(failed, "bad_time", f"It ends at {time_end}, which is not after {time_start}.")
        row = {"user": name, "summary": summary, "start": time_start, "end": time_end}
        if db.has("events", event_key(row)):
            raise ToolError(failed, "exists", f"{name}'s calendar has this event already.")
        db.put("events", event_key(row), {**row, "description": DESCRIPTION, "location": LOCATION})
        return f"Successfully create a new event to {name}'s calendar."

    @tool(effect="write", reads=("desk/main", "people", EVENTS), writes=("events/*",), always_changes=True)
    def calendar_delete_event(self, db: Draft, user: str, summary: str) -> str:
        """Take an event out of a user's calendar.

        Args:
            user: Whose calendar.
            summary: What the event is, as the calendar lists it.
        """
        failed = f"Failed to delete the event from {user}'s calendar."
        name = user_of(db, user, failed)
        found = [key for key, row in of_user(db, name) if row["summary"] == summary]
        if len(found) != 1:
            how = "no event" if not found else f"{len(found)} events"
            raise ToolError(failed, "no_event", f"{name}'s calendar has {how} {summary!r}.")
        db.remove("events", found[0])
        return f"Successfully delete the event from {name}'s calendar."

    @tool(reads=("desk/main", "people", EVENTS))
    def calendar_list_events(self, db: Draft, username: str) -> str:
        """List the events of a user's calendar.

        Args:
            username: Whose calendar.
        """
        name = user_of(db, username, f"No events found for {username}.")
        rows = sorted((row["start"], row["end"], row["summary"], row) for _, row in of_user(db, name))
        if not rows:
            return f"No events found for {name}."
        return f"Successfully list events for {name}:\n" + "\n".join(_text(row) for *_, row in rows)


def event_key(row: Mapping[str, str]) -> str:
    """The key of an event: who has it, when it begins, and what it is."""
    return f"{row['user']}: {row['start']} {row['summary']}"


def of_user(db: Draft | State, name: str) -> Iterator[tuple[str, Row]]:
    """The events of a user, with their keys."""
    return ((key, row) for key, row in db.rows("events") if row["user"] == name)


def time_of(text: str, failed: str) -> datetime:
    """A time as calls write it.

    Raises:
        ToolError: ``bad_time``: it is written in another way, or there is no such day or hour.
    """
    try:
        if _TIME.fullmatch(text):
            return datetime.fromisoformat(text)
    except ValueError:
        pass
    raise ToolError(failed, "bad_time", f"{text!r} is no time; write it like 2024-05-06 09:30:00.")


def overlaps(state: State, row: Row) -> list[str]:
    """The other events of the user at the time of an event, as ``'Lunch' from 12:00 to 13:00``."""
    return [
        f"{one['summary']!r} from {one['start'][11:16]} to {one['end'][11:16]}"
        for _, one in of_user(state, row["user"])
        if one != row and one["start"] < row["end"] and row["start"] < one["end"]
    ]


def _text(row: Row) -> str:
    parts = (
        f"Summary: {row['summary']}",
        f"Start Time: {row['start']}",
        f"End Time: {row['end']}",
        f"Description: {row['description']}",
        f"Location: {row['location']}",
    )
    return "\n".join((*parts, LINE))
