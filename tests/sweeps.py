"""Sweeps over many cases: a sample of them is among the fast tests, the whole is slow."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest


def sample(cases: Iterable[Any], number: int) -> list[Any]:
    """A sample of cases for ``parametrize``, always the same; a benchmark plays all of them."""
    every = list(cases)
    return [every[place] for place in _chosen(every, number)]


def sweep(cases: Iterable[Any], fast: int) -> list[Any]:
    """All cases for ``parametrize``; but for a sample, always the same, they are marked ``slow``."""
    every = list(cases)
    chosen = set(_chosen(every, fast))
    return [_slow(case) if place not in chosen else case for place, case in enumerate(every)]


def sizes(few: int, many: int) -> list[Any]:
    """How many to play, for ``parametrize``: few among the fast tests, many among the slow ones."""
    return [pytest.param(few, id="few"), pytest.param(many, id="many", marks=pytest.mark.slow)]


def _chosen(every: list[Any], number: int) -> list[int]:
    return sorted(random.Random(0).sample(range(len(every)), min(number, len(every))))


def _slow(case: Any) -> Any:
    values = case if isinstance(case, tuple | list) else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)
