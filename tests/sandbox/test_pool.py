"""Sandboxes that wait for the next episode."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from simia_gym.errors import InputError
from simia_gym.sandbox import Entry, Pool, new_shell

from .conftest import SMALL, needs_sandbox

pytestmark = needs_sandbox

ONE = {"/root/a": Entry("file", data=b"one\n")}
TWO = {"/root/a": Entry("file", data=b"two\n")}


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool(SMALL, most=2)
    yield made
    made.close()


def test_one_that_has_the_tree_is_taken_before_another(pool: Pool) -> None:
    one, two = pool.take(ONE), pool.take(TWO)
    for sandbox in (one, two):
        pool.give(sandbox)
    assert pool.take(ONE) is one
    assert pool.take(ONE) is two
    assert two.run("cat a", new_shell()).output == b"one\n"
    for sandbox in (one, two):
        sandbox.close()


def test_nothing_is_left_of_an_episode(pool: Pool) -> None:
    first = pool.take(ONE)
    first.run("echo x > /tmp/x; echo x > a; sleep 60 &", new_shell())
    pool.give(first)
    second = pool.take(ONE)
    assert second is first
    assert second.run("ls /tmp; cat a; echo /proc/[0-9]*", new_shell()).output == b"one\n/proc/1 /proc/2\n"
    second.close()


def test_one_that_has_ended_is_not_given_to_anybody(pool: Pool) -> None:
    first, second = pool.take(ONE), pool.take(ONE)
    first.close()
    pool.give(first)
    pool.give(second)
    second._end.shutdown(2)  # it ends while it waits
    third = pool.take(TWO)
    assert third not in (first, second)
    assert second.closed
    third.close()


def test_no_more_wait_than_it_may(pool: Pool) -> None:
    taken = [pool.take(ONE) for _ in range(3)]
    for sandbox in taken:
        pool.give(sandbox)
    assert [sandbox.closed for sandbox in taken] == [False, False, True]


def test_a_tree_that_is_refused_costs_no_sandbox(pool: Pool) -> None:
    first = pool.take(ONE)
    pool.give(first)
    with pytest.raises(InputError, match="outside of the writable roots"):
        pool.take({"/etc/a": Entry("file")})
    assert pool.take(ONE) is first
    first.close()


def test_threads_share_it(pool: Pool) -> None:
    def play(number: int) -> bytes:
        sandbox = pool.take({"/root/n": Entry("file", data=b"%d" % number)})
        try:
            return sandbox.run("cat n; echo x >> n", new_shell()).output
        finally:
            pool.give(sandbox)

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(play, range(24))) == [b"%d" % number for number in range(24)]
