"""Usage of the models that simulate, judge or play the user in a training, logged with each episode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from simia_gym.llm.accounts import accounts
from simia_gym.types import JsonObject

_NUMBERS = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens", "cost_usd")
_COUNTS = ("failures", "faults")


def taken() -> JsonObject:
    """Usage of this process since the last call, by role; empty if no model was called."""
    found = {role: account.to_json() for role, account in sorted(accounts().drain().items())}
    return {role: {name: values[name] for name in (*_NUMBERS, *_COUNTS)} for role, values in found.items()}


def added(parts: Iterable[Mapping[str, Any]]) -> JsonObject:
    """The sum of several usages.

    Args:
        parts: Results of `taken` or of this function.
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
