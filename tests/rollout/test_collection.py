"""Rarer garbage collection while a rollout runs."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from simia_gym.rollout import collection
from simia_gym.rollout.collection import rarer_collection


class Knot:
    """Garbage that only a round finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(collection, "_aged", 0)
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize(
    ("before", "within"),
    [((700, 10, 10), (50_000, 10, 10)), ((90_000, 5, 5), (90_000, 5, 5)), ((0, 10, 10), (0, 10, 10))],
)
def test_collection_is_rarer_only_where_that_helps_and_only_meanwhile(
    before: tuple[int, int, int], within: tuple[int, int, int]
) -> None:
    gc.set_threshold(*before)
    with rarer_collection():
        assert gc.get_threshold() == within
    assert gc.get_threshold() == before


def test_the_more_episodes_the_rarer() -> None:
    gc.set_threshold(700, 10, 10)
    with rarer_collection(1000):
        assert gc.get_threshold() == (2_000_000, 10, 10)


def knots(number: int) -> weakref.ref[Knot]:
    """So many objects that are garbage; one of them."""
    *_, one = [weakref.ref(Knot()) for _ in range(number)]
    return one


def test_no_round_is_due_when_it_is_over() -> None:
    gc.set_threshold(700, 10, 10)
    gc.collect()
    with rarer_collection():
        one = knots(5_000)
    more = [[n] for n in range(500)]
    assert one() is not None, f"the young were looked through ({len(more)} objects later)"


def test_garbage_that_counts_as_old_is_found_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "_MOST_AGED", 12_000)
    gc.set_threshold(700, 10, 10)
    gc.collect()
    found = []
    for _ in range(4):
        with rarer_collection():
            found.append(knots(5_000))
    assert [one() is None for one in found] == [True, True, True, False]


def test_what_is_frozen_stays_so() -> None:
    gc.set_threshold(700, 10, 10)
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with rarer_collection():
            knots(5_000)
        assert gc.get_freeze_count() >= frozen - 500
    finally:
        gc.unfreeze()
        gc.collect()
