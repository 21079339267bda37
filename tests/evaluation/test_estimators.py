"""The estimators, against numbers worked by hand and against counting every case."""

from __future__ import annotations

from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia_gym.errors import InputError
from simia_gym.evaluation.intervals import agresti_min, bootstrap, mean_difference, mean_over_tasks
from simia_gym.evaluation.passk import pass_at_k, pass_hat_k


@pytest.mark.parametrize(
    ("trials", "successes", "k", "hat", "at"),
    [
        (4, 2, 1, 1 / 2, 1 / 2),
        (4, 2, 2, 1 / 6, 5 / 6),  # of 6 pairs one is all successes, and one all failures
        (4, 2, 3, 0.0, 1.0),  # of three, one must succeed and one must fail
    ],
)
def test_by_hand(trials: int, successes: int, k: int, hat: float, at: float) -> None:
    assert pass_hat_k(trials, successes, k) == pytest.approx(hat)
    assert pass_at_k(trials, successes, k) == pytest.approx(at)


NUMBERS = st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))


@given(NUMBERS)
def test_they_are_shares_of_all_ways_to_draw_k_trials(numbers: tuple[int, int, int]) -> None:
    trials, successes, k = numbers
    drawn = list(combinations([1] * successes + [0] * (trials - successes), k))
    assert len(drawn) == comb(trials, k)
    assert pass_hat_k(trials, successes, k) == pytest.approx(sum(map(all, drawn)) / len(drawn))
    assert pass_at_k(trials, successes, k) == pytest.approx(sum(map(any, drawn)) / len(drawn))


@pytest.mark.parametrize(("trials", "successes", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0), (0, 0, 1)])
def test_numbers_that_cannot_be_are_refused(trials: int, successes: int, k: int) -> None:
    for estimate in (pass_hat_k, pass_at_k):
        with pytest.raises(InputError):
            estimate(trials, successes, k)


def test_a_proportion_of_tasks_has_wilsons_interval() -> None:
    """81 of 100: (0.81 + 1.92/100 +- 1.96 sqrt(0.1539/100 + 3.8416/40000)) / 1.038416. 10 of 10: 10/13.84 to 1."""
    found = mean_over_tasks([1.0] * 81 + [0.0] * 19)
    assert found == {
        "value": 0.81,
        "interval": pytest.approx([0.7222, 0.8749], abs=1e-4),
        "tasks": 100,
        "method": "wilson",
    }
    assert mean_over_tasks([1.0] * 10)["interval"] == pytest.approx([10 / (10 + 1.959964**2), 1], abs=1e-6)


def test_one_task_allows_no_interval_and_none_no_value() -> None:
    assert mean_over_tasks([0.5]) == {"value": 0.5, "interval": None, "tasks": 1, "method": "none"}
    assert mean_over_tasks([]) == {"value": None, "interval": None, "tasks": 0, "method": "none"}


@pytest.mark.parametrize("values", [[1.0] * 10, [0.0, 1.0] * 5])
def test_what_is_no_share_is_no_proportion_even_where_all_are_0_or_1(values: list[float]) -> None:
    found = mean_over_tasks(values, shares=False)
    assert (found["method"], found["interval"]) == ("bootstrap", list(bootstrap(values, seed=0)))
    assert mean_over_tasks([1.0], shares=False)["method"] == "none"


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=40), st.integers(0, 5))
def test_a_bootstrap_is_the_same_each_time_and_knows_no_order(values: list[float], seed: int) -> None:
    low, high = bootstrap(values, seed=seed, resamples=500)
    assert bootstrap(values[::-1], seed=seed, resamples=500) == (low, high)
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9


def test_a_bootstrap_is_what_drawing_tasks_gives() -> None:
    """Two tasks, 0 and 1: means 0, 1/2, 1 with chances 1/4, 1/2, 1/4. And the normal width for many."""
    assert bootstrap([0.0, 1.0], seed=0) == (0.0, 1.0)
    values = [n % 4 / 4 for n in range(400)]
    low, high = bootstrap(values, seed=0)
    half = 1.96 * (5 / 64) ** 0.5 / 20  # the values 0, 1/4, 1/2, 3/4 have variance 5/64
    assert high - low == pytest.approx(2 * half, rel=0.05)


def test_differences_are_paired() -> None:
    """Two policies that both solve half: tasks of opposite luck say little, the same tasks say much."""
    first = [0.0, 0.5] * 50
    same = mean_difference(first, [value + 0.25 for value in first])
    assert (same["value"], same["interval"]) == (0.25, [0.25, 0.25])
    other = mean_difference(first, first[::-1])
    low, high = other["interval"]
    assert other["value"] == 0
    assert low < -0.05 < 0.05 < high
    with pytest.raises(InputError):
        mean_difference([1.0], [1.0, 0.0])


def test_agresti_and_mins_interval_by_hand() -> None:
    """12 gained, 4 lost of 50: (12.5 - 4.5)/52 = 0.1538; sqrt(17 - 64/52)/52 = 0.0764; times 1.96."""
    bounds = agresti_min(12, 4, 50)
    assert bounds == pytest.approx((0.1538 - 0.1497, 0.1538 + 0.1497), abs=2e-4)
    found = mean_difference([0.0] * 12 + [1.0] * 4 + [1.0] * 34, [1.0] * 12 + [0.0] * 4 + [1.0] * 34)
    assert found == {"value": 0.16, "interval": list(bounds), "tasks": 50, "method": "agresti-min"}
    alike = mean_difference([1.0, 0.0, 1.0], [1.0, 0.0, 1.0])
    assert alike["value"] == 0 > alike["interval"][0]  # three tasks prove no equality


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))
def test_an_interval_of_differences_turns_with_its_sign(gained: int, lost: int, same: int) -> None:
    pairs = gained + lost + same + 1
    low, high = agresti_min(gained, lost, pairs)
    mirrored = agresti_min(lost, gained, pairs)
    assert [low, high] == pytest.approx([-mirrored[1], -mirrored[0]])
    assert -1 <= low < high <= 1
