"""Times of files that repeat: they are kept by a clock that begins at the same moment in every episode.

The clock of a machine cannot be set, so what a command writes has the present time, another one in every run. In the
state an episode's clock begins at `simia_gym.sandbox.entries.TIME`, and each command is one second. Before a command
the times of the state are moved to the present, so that "written in the last hour" means what it says; afterwards new
times are moved back. A time that a command sets to a day of its own choice stays as it is; one that lies whole minutes
from the command, and no more than a year, is taken for relative to the present.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from simia_gym.sandbox.entries import TIME

_FORM = "%Y-%m-%d %H:%M:%S"
_MINUTES_BACK = 2
_LONGEST = 60  # seconds that a command may take, with what a busy machine adds
_YEAR = 366 * 86_400


@dataclass(frozen=True, slots=True)
class Moment:
    """A time as the state keeps it.

    Attributes:
        time: Seconds since 1970.
        fixed: Whether it is meant as it stands. Otherwise it counts from the beginning of the episode.
    """

    time: int = TIME
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Clock:
    """How a command's times are moved.

    Attributes:
        began: When the command began, in whole seconds since 1970.
        number: Number of the command in its episode, from 1; 0 for what prepares the episode.
    """

    began: int
    number: int

    @classmethod
    def now(cls, number: int) -> Clock:
        """The clock of a command that begins now."""
        return cls(int(time.time()), number)

    @property
    def shift(self) -> int:
        """What is added to a time of the state; the same for a minute, so that trees need not be laid out anew.

        A file that an earlier command wrote is a few minutes old, never of the future.
        """
        return (self.began // 60 - _MINUTES_BACK) * 60 - TIME

    def laid(self, kept: Moment) -> int:
        """The time with which an entry is laid out."""
        return kept.time if kept.fixed else kept.time + self.shift

    def kept(self, found: int, laid: Mapping[int, Moment]) -> Moment:
        """What the state keeps of a time that was found after the command.

        Args:
            found: The time, in whole seconds.
            laid: What the state keeps of the times with which entries were laid out; the same time was copied from one.
        """
        if found in laid:
            return laid[found]
        age = self.began - found
        if age <= 0 and -age <= _LONGEST:
            return Moment(TIME + self.number)
        off = age % 60 in (0, 59) and found % 60 > 0
        if abs(age) <= _YEAR and (off or age % 3600 in (0, 3599)):  # "2 days ago", maybe a second late
            return Moment(TIME + self.number - age - (age % 60 == 59))
        return Moment(found, fixed=True)


def time_text(seconds: int) -> str:
    """A time in UTC, as a row shows it: ``2023-11-14 22:13:20``."""
    return datetime.fromtimestamp(seconds, UTC).strftime(_FORM)


def time_value(text: str) -> int:
    """The seconds since 1970 of a time that `time_text` wrote.

    Raises:
        ValueError: It is written in another way.
    """
    return int(datetime.strptime(text, _FORM).replace(tzinfo=UTC).timestamp())
