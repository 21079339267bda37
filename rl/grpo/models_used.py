"""What the models of a training's worlds took: each process notes with an episode what it has taken since the last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from simia_gym.llm.accounts import accounts
from simia_gym.types import JsonObject

_NUMBERS = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens", "cost_usd")
_COUNTS = ("failures", "faults")


def taken() -> JsonObject:
    """What this process has taken since it was asked last, by role; empty where no model was asked."""
    found = {role: account.to_json() for role, account in sorted(accounts().drain().items())}
    return {role: {name: values[name] for name in (*_NUMBERS, *_COUNTS)} for role, values in found.items()}


def added(parts: Iterable[Mapping[str, Any]]) -> JsonObject:
    """Several of these as one.

    Args:
        parts: What `taken` gave, or this function.
    """
    out: JsonObject = {}
    for part in parts:
        for role, values in part.items():
            sums = out.setdefault(role, {**dict.fromkeys(_NUMBERS, 0), **{name: {} for name in _COUNTS}})
            for name in _NUMBERS:
                sums[name] += values[name]
            for name in _COUNTS:
                sums[name] = dict(sorted((Counter(sums[name]) + Counter(values[name])).items()))
    return dict(sorted(out.items()))
