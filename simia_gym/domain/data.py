"""Custom data for a domain: it replaces the domain's database, tasks, policy text, and what else it sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from simia_gym.common.json_encoding import encode, hash_of
from simia_gym.types import Row, Split, Task

Tasks: TypeAlias = Mapping[Split, Sequence[Task]]
SETTINGS = ("max_turns", "ends", "grammar", "history", "world")
"""What data may set of the keys of ``domain.yaml``."""


@dataclass(frozen=True)
class DomainData:
    """The result of a domain's ``data`` function, loaded from a folder. ``None`` keeps the domain's own value.

    Attributes:
        tables: The initial state that all tasks share, as ``{table: {key: row}}``.
        tasks: The tasks of each split, or a function of the options that returns them.
        generator: Makes any number of further tasks, ``generate(split, index)``; the domain's own makes none of these
            data.
        policy: The policy text for the system message.
        options: Options of the world that suit the data, such as ``{"compat": "tau2"}``; the caller's options take
            precedence.
        user: The default user simulator.
        reward: The Reward class, as ``package.module:Name``.
        max_turns: The turn limit.
        ends: The rules that end an episode, as the key of ``domain.yaml``.
        grammar: The name of the grammar that is the default; one of the domain's.
        history: What a policy is shown, as the key of ``domain.yaml``.
        world: The World class, as ``package.module:Name``, for data whose tables differ from the domain's.
        state_schema: The content of a ``state.schema.json`` for these tables.
        hash: Content hash of all files that were read, so that caches and records distinguish data sets.
    """

    tables: Mapping[str, Mapping[str, Row]] | None = None
    tasks: Tasks | Callable[[Mapping[str, Any]], Tasks] | None = None
    generator: Callable[[Split, int], Task] | None = None
    policy: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    user: str | None = None
    reward: str | None = None
    max_turns: int | None = None
    ends: Sequence[Mapping[str, Any]] | None = None
    grammar: str | None = None
    history: str | None = None
    world: str | None = None
    state_schema: Mapping[str, Any] | None = None
    hash: str = ""


def files_hash(files: Iterable[Path]) -> str:
    """A hash of the names and contents of files, 16 hex digits, for `DomainData.hash`."""
    return hash_of(encode([[file.name, hash_of(file.read_bytes())] for file in files]))[:16]
