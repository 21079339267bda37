"""What several processes took is what one would have taken."""

from __future__ import annotations

import pickle

from simia_gym.llm.accounts import Accounts
from simia_gym.llm.types import Usage


def take(accounts: Accounts, number: int) -> None:
    """Something that depends on the number."""
    role = ("simulator", "judge")[number % 2]
    accounts.asked(role, 100 * number, 10 * number)
    if number % 5 == 0:
        accounts.failed(role, "timeout")
    accounts.answered(role, Usage(number, number // 2, 3), 0.01 * number, 0.003 * (number + 1))
    if number % 7 == 0:
        accounts.gave_up(role, "bad_reply")


def test_counts_that_were_drained_elsewhere_add_up() -> None:
    whole, driver, workers = Accounts(), Accounts(), [Accounts(), Accounts()]
    for number in range(60):
        take(whole, number)
        take(workers[number % 3 > 0], number)
        if number % 4 == 0:
            driver.add(pickle.loads(pickle.dumps(workers[number % 2].drain())))
    assert driver.snapshot() != whole.snapshot()
    for worker in workers:
        driver.add(worker.drain())
        assert worker.snapshot() == {}
    assert driver.snapshot() == whole.snapshot()
