"""The times that the state keeps do not depend on when a command ran."""

from __future__ import annotations

import pytest

from simia_gym.sandbox.entries import TIME
from simia_gym.trees import Clock, Moment

DAY = 86_400
NOON = 1_795_780_800  # a whole hour


@pytest.mark.parametrize("began", [NOON + 7 * 60 + 23, NOON + 7 * 60, NOON + 7 * 60 + 59, NOON + 3599])
@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("age", [365 * DAY, 8 * DAY, 3 * 3600, 0])
def test_so_long_ago_is_kept_relative_to_the_beginning(began: int, late: int, age: int) -> None:
    """Also where the command began with a minute, and where it came to it a second later."""
    kept = Clock(began, 4).kept(began + late - age, {})
    assert kept == Moment(TIME + 4 - age)


@pytest.mark.parametrize("began", [NOON + 7 * 60 + 23, NOON + 7 * 60])
@pytest.mark.parametrize("date", [1_577_934_245, 1_577_836_800, NOON - 90 * DAY])
def test_a_date_stays(began: int, date: int) -> None:
    assert Clock(began, 4).kept(date, {}) == Moment(date, fixed=True)


@pytest.mark.parametrize("second", range(60))
@pytest.mark.parametrize("date", [981_173_106, 1_700_000_000, 1_926_000_007])
def test_a_date_of_another_year_stays_whenever_the_command_began(second: int, date: int) -> None:
    assert Clock(NOON + second, 4).kept(date, {}) == Moment(date, fixed=True)
