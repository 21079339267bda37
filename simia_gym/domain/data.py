"""A user's own data for a domain: what takes the place of the embedded database, tasks and policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simia_gym.types import JsonObject, Row, Split, Task


@dataclass(frozen=True)
class DomainData:
    """What a domain's ``data`` function loads from a folder. ``None`` means: the domain keeps its own.

    Attributes:
        tables: The initial state that all tasks share, as ``{table: {key: row}}``.
        tasks: The tasks of each split.
        policy: The policy text for the system message.
        tools: OpenAI tool schemas that the folder brings; for comparison, the world's own declarations are used.
        options: Options of the world that fit the data, such as ``{"compat": "tau2"}``; what the caller asks for
            goes before them.
        user: The user that plays by default.
        reward: The Reward class, written ``package.module:Name``.
        hash: Content hash of everything that was read, so that caches and records tell data sets apart.
    """

    tables: Mapping[str, Mapping[str, Row]] | None = None
    tasks: Mapping[Split, Sequence[Task]] | None = None
    policy: str | None = None
    tools: Sequence[JsonObject] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    user: str | None = None
    reward: str | None = None
    hash: str = ""
