"""The files of a domain's folder that code writes: ``state.json``, ``tools.json`` and the fixed tasks."""

from __future__ import annotations

import json
from pathlib import Path

from simia_gym.domain.world import World
from simia_gym.envs._tau2.rows import Tables
from simia_gym.service import Generator, load_service, write_fixed


def state_text(tables: Tables) -> str:
    """The tables as JSON text with one row a line, so that a change shows as a short diff."""
    parts = []
    for name, rows in tables.items():
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
        parts.append(f" {json.dumps(name)}: {{\n{lines}\n }}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def tools_text(world: type[World]) -> str:
    """The world's tool declarations as JSON text."""
    return json.dumps([spec.entry for spec in world.tools.values()], indent=2) + "\n"


def write_files(folder: Path, tables: Tables, world: type[World]) -> None:
    """Write all of these files of a service's domain."""
    (folder / "state.json").write_text(state_text(tables), encoding="utf-8")
    (folder / "tools.json").write_text(tools_text(world), encoding="utf-8")
    service = load_service(folder)
    fixed = service.declared.fixed
    write_fixed(Generator(service, service.ids), folder, fixed["train"], fixed["test"])
