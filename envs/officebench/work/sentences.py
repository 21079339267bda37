"""The sentences of the kinds of tasks: written with values, and read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from simia_gym.common.files import read_yaml
from simia_gym.envs._work.requests import Requests

_MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October"]
_MONTHS += ["November", "December"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of tasks.

    Attributes:
        name: Its name.
        apps: The apps that it needs.
        way: The kind whose sentences it has, and whose way of working: itself, unless something is missing.
        say: Its sentences, with the names of values in braces.
    """

    name: str
    apps: tuple[str, ...]
    way: str
    say: tuple[str, ...]


@cache
def kinds() -> Mapping[str, Kind]:
    """The kinds by name, in the order of the file."""
    given: dict[str, Any] = read_yaml(Path(__file__).with_name("kinds.yaml"))
    return {
        name: Kind(name, tuple(one["apps"]), way := one.get("like", name), tuple(given[way]["say"]))
        for name, one in given.items()
    }


@cache
def _requests() -> Requests:
    return Requests({kind.name: kind.say for kind in kinds().values() if kind.way == kind.name})


def read_request(text: str) -> tuple[str, dict[str, str]]:
    """The way of working and the values of a task's sentence.

    Raises:
        ValueError: No kind has such a sentence.
    """
    return _requests().read(text)


def long_day(day: date) -> str:
    """A day as requests write it."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def read_day(text: str) -> str:
    """The day of a request as ``2024-05-10``."""
    day, month, year = text.split()
    return date(int(year), _MONTHS.index(month) + 1, int(day)).isoformat()
