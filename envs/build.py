"""Writes what code makes of domains' folders: ``python -m simia_gym.envs.build retail airline webshop mind2web ...``.

That is the domain's own database, if it is a file, the state schema, if it follows from other files, and the fixed
tasks. ``simia check --write-tools`` writes ``tools.json``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from simia_gym.common.dotted_names import load_function
from simia_gym.common.json_encoding import encode
from simia_gym.domain.config import DomainConfig, read_config
from simia_gym.domain.registration import domain_path
from simia_gym.domain.tasks import task_to_json
from simia_gym.envs._tau2.rows import Tables
from simia_gym.service import Generator, load_service
from simia_gym.types import Split, Task


def files(name: str) -> Iterator[tuple[Path, bytes]]:
    """The files of a domain, with what belongs into each; tasks follow from the database that is in the folder then."""
    folder = domain_path(f"simia/{name}-v0")
    config = read_config(folder / "domain.yaml")
    if config.state == "state.json" and config.service is not None:
        build = load_function(f"simia_gym.envs.{name}.build:build")
        yield folder / config.state, _state_text(build()).encode()
    if find_spec(own := f"simia_gym.envs.{name}.state") is not None:
        yield folder / "state.schema.json", load_function(f"{own}:schema_text")().encode()
    for split, path in config.tasks.items():
        lines = [encode(task_to_json(task)) + b"\n" for task in _fixed(config, folder, split)]
        yield folder / path, b"".join(lines)


def _fixed(config: DomainConfig, folder: Path, split: Split) -> Sequence[Task]:
    if config.service is None:
        assert config.generator is not None
        module = config.generator.partition(":")[0]
        made: Sequence[Task] = load_function(f"{module}:fixed_tasks")(split)
        return made
    service = load_service(folder)
    return Generator(service, service.ids).fixed(split, service.declared.fixed[split])


def _state_text(tables: Tables) -> str:
    """The tables as JSON text with one row a line, so that a change shows as a short diff."""
    parts = []
    for name, rows in tables.items():
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
        parts.append(f" {json.dumps(name)}: {{\n{lines}\n }}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    for domain in sys.argv[1:]:
        for path, data in files(domain):
            path.write_bytes(data)
