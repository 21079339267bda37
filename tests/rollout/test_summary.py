from __future__ import annotations

import pytest

from simia_gym.rollout.summary import Tally, wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (81, 100, 0.7222, 0.8749), (0, 0, 0.0, 1.0)],
)
def test_wilson(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson(successes, trials) == pytest.approx((low, high), abs=1e-4)


def test_no_valid_episode_gives_no_rate() -> None:
    tally = Tally(episodes=3)
    assert tally.success_rate is tally.mean_reward is tally.mean_turns is None


def test_tallies_add_up() -> None:
    one, two = Tally(4, 3, 2, 2.5, 30), Tally(1, 1, 1, 1.0, 5)
    assert Tally.sum([one, two]) == Tally(5, 4, 3, 3.5, 35)
    assert Tally.sum([]) == Tally()
