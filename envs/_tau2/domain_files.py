"""The text of the files of a domain's folder that code writes: ``state.json`` and ``tools.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from simia_gym.domain.world import World

Tables = dict[str, dict[str, dict[str, Any]]]


def state_text(tables: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """The tables as JSON text with one row a line, so that a change shows as a short diff."""
    parts = []
    for name, rows in tables.items():
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
        parts.append(f" {json.dumps(name)}: {{\n{lines}\n }}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def tools_text(world: type[World]) -> str:
    """The world's tool declarations as JSON text."""
    return json.dumps([spec.entry for spec in world.tools.values()], indent=2) + "\n"
