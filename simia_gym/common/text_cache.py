"""Keeps what was found in texts, within a bound of memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, update_wrapper
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_MOST = 1024
_LONG = 10_000


def cached_by_text(function: Callable[[str, *Ts], T]) -> Callable[[str, *Ts], T]:
    """Cache a function of a text and other hashable arguments: of the latest 1,024 texts, but for very long ones."""
    kept = lru_cache(maxsize=_MOST)(function)

    def cached(text: str, *more: *Ts) -> T:
        return kept(text, *more) if len(text) <= _LONG else function(text, *more)

    update_wrapper(cached, function)
    return cached
