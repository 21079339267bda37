"""Pairs two sides by what they have in common: tasks of two series, or episodes of two records."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from simia_gym.assembly.settings import EnvConfig
from simia_gym.common.json_encoding import encode

K = TypeVar("K", bound=Hashable)

_CHOICE = ("env", "data", "domain", "split", "generated", "without_dev")
"""Settings that say where the tasks come from: tasks are compared by their content."""


class Pairing(NamedTuple, Generic[K]):
    """What both sides have, in the order of the first, and how much only one of them has."""

    both: list[K]
    only_first: int
    only_second: int


def pair_up(first: Iterable[K], second: Collection[K]) -> Pairing[K]:
    """Pair the keys of two sides, each of which has a key once."""
    keys = [*first]
    both = [key for key in keys if key in second]
    return Pairing(both, len(keys) - len(both), len(second) - len(both))


def settings_of(config: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of an episode that decide how it goes, by dotted name, defaults included."""
    settings = {**EnvConfig.defaults(), **config, **run}
    if settings.get("simulator") == "auto":  # records say so for the world
        settings["simulator"] = "world"
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if name == "roles":
            flat |= {f"role.{role}.{key}": one for role, given in value.items() for key, one in given.items()}
        elif name not in _CHOICE:
            flat[name] = value
    return flat


def differing(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The settings whose values differ, with both values; ``None`` for one that a side does not have."""
    names = dict.fromkeys((*left, *right))
    pairs = {name: (left.get(name), right.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if encode(pair[0]) != encode(pair[1])}
