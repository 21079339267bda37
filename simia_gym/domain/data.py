"""Custom data for a domain: it replaces the domain's database, tasks and policy text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simia_gym.common.json_encoding import encode, hash_of
from simia_gym.types import Row, Split, Task


@dataclass(frozen=True)
class DomainData:
    """The result of a domain's ``data`` function, loaded from a folder. ``None`` keeps the domain's own value.

    Attributes:
        tables: The initial state that all tasks share, as ``{table: {key: row}}``.
        tasks: The tasks of each split.
        policy: The policy text for the system message.
        options: Options of the world that suit the data, such as ``{"compat": "tau2"}``; the caller's options take
            precedence.
        user: The default user simulator.
        reward: The Reward class, as ``package.module:Name``.
        hash: Content hash of all files that were read, so that caches and records distinguish data sets.
    """

    tables: Mapping[str, Mapping[str, Row]] | None = None
    tasks: Mapping[Split, Sequence[Task]] | None = None
    policy: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    user: str | None = None
    reward: str | None = None
    hash: str = ""


def files_hash(files: Iterable[Path]) -> str:
    """A hash of the names and contents of files, 16 hex digits, for `DomainData.hash`."""
    return hash_of(encode([[file.name, hash_of(file.read_bytes())] for file in files]))[:16]
