"""The order of learning: each conversation once, batches of like length, and no run of ever shorter ones."""

from __future__ import annotations

import random
from itertools import pairwise
from statistics import fmean

from hypothesis import given
from hypothesis import strategies as st

from simia_gym.rl.sft.order import MixedLengths


@given(lengths=st.lists(st.integers(1, 2000), max_size=200), batch=st.integers(1, 9), seed=st.integers(0, 5))
def test_each_comes_once(lengths: list[int], batch: int, seed: int) -> None:
    order = MixedLengths(lengths, batch, seed)
    assert sorted(order) == list(range(len(lengths))) == list(range(len(order)))
    assert list(order) == list(MixedLengths(lengths, batch, seed))


def test_batches_are_of_like_length_and_come_in_no_order_of_length() -> None:
    chance = random.Random(0)
    lengths = [chance.randrange(100, 2000) for _ in range(1200)]
    places = list(MixedLengths(lengths, 12, 0))
    batches = [[lengths[place] for place in places[at : at + 12]] for at in range(0, 1200, 12)]
    padded = sum(max(batch) * len(batch) for batch in batches)
    assert padded < 1.1 * sum(lengths)
    means = [fmean(batch) for batch in batches]
    falls = sum(later < earlier for earlier, later in pairwise(means))
    assert 30 < falls < 70


def test_another_epoch_has_another_order() -> None:
    order = MixedLengths(range(1, 100), 4, 0)
    first = list(order)
    order.set_epoch(1)
    assert list(order) != first
    order.set_epoch(0)
    assert list(order) == first
