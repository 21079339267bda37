"""Keeps what was found in texts, within a bound of memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_MOST = 1024
_LONG = 10_000


def cached_by_text(function: Callable[Concatenate[str, P], T]) -> Callable[Concatenate[str, P], T]:
    """Cache a function of a text and other hashable arguments: of the latest 1,024 texts, but for very long ones."""
    kept = lru_cache(maxsize=_MOST)(function)

    @wraps(function)
    def cached(text: str, *more: P.args, **named: P.kwargs) -> T:
        return kept(text, *more, **named) if len(text) <= _LONG else function(text, *more, **named)

    return cached
