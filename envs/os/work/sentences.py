"""The kinds of tasks, each with several ways, and the sentences in which they are put."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from simia_gym.common.files import read_yaml
from simia_gym.envs._work.requests import Requests


@dataclass(frozen=True, slots=True)
class Way:
    """One of the ways of a kind of tasks.

    Attributes:
        name: Its name.
        kind: The kind of its tasks.
        like: The way whose sentences it has: itself, unless the sentences do not tell them apart.
        say: Its sentences, with the names of values in braces.
    """

    name: str
    kind: str
    like: str
    say: tuple[str, ...]


@cache
def ways() -> Mapping[str, Way]:
    """The ways by name, in the order of the file."""
    given: dict[str, Any] = read_yaml(Path(__file__).with_name("kinds.yaml"))
    return {
        name: Way(name, one["kind"], like := one.get("like", name), tuple(given[like]["say"]))
        for name, one in given.items()
    }


@cache
def kinds() -> Mapping[str, tuple[Way, ...]]:
    """The ways of each kind."""
    names = dict.fromkeys(way.kind for way in ways().values())
    return {kind: tuple(way for way in ways().values() if way.kind == kind) for kind in names}


@cache
def requests() -> Requests:
    """The sentences of all ways, to be read."""
    return Requests({way.name: way.say for way in ways().values() if way.like == way.name})
