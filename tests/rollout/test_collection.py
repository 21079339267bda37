"""Rarer garbage collection while a rollout runs."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from simia_gym.rollout.collection import rarer_collection


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize(
    ("before", "episodes", "within"),
    [
        ((700, 10, 10), 1, (50_000, 10, 10)),
        ((700, 10, 10), 1000, (2_000_000, 10, 10)),
        ((90_000, 5, 5), 1, (90_000, 5, 5)),
        ((0, 10, 10), 1, (0, 10, 10)),
    ],
)
def test_collection_is_rarer_only_where_that_helps_and_only_meanwhile(
    before: tuple[int, int, int], episodes: int, within: tuple[int, int, int]
) -> None:
    gc.set_threshold(*before)
    with rarer_collection(episodes):
        assert gc.get_threshold() == within
    assert gc.get_threshold() == before
