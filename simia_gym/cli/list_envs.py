"""`simia list`."""

from __future__ import annotations

from typing import Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import domain_of
from simia_gym.cli.options import AsJson
from simia_gym.common.fitting_table import FittingTable
from simia_gym.common.formatting import NONE
from simia_gym.common.output import Output, complain
from simia_gym.domain.domain import SPLITS
from simia_gym.domain.registration import env_ids, resolve_env
from simia_gym.errors import InputError


def describe_environment(env: str) -> dict[str, Any]:
    """Facts about one environment, as JSON values.

    Raises:
        InputError: The environment does not load.
    """
    name, folder = resolve_env(env)
    domain = domain_of(EnvConfig(env=name, domain=folder))
    several = domain.config.grammar
    return {
        "id": env,
        "title": domain.config.title,
        "tools": len(domain.specs),
        "tasks": {split: len(domain.tasks_of(split)) for split in SPLITS},
        "grammar": ", ".join(several) if isinstance(several, dict) else domain.grammar.name,
        "user": domain.user,
        "generator": domain.generator is not None,
        "policies": sorted(domain.config.policies),
        "max_turns": domain.config.max_turns,
        "version": domain.config.version,
        "hash": domain.hash,
        "tool_names": list(domain.specs),
    }


def list_environments(*, json: AsJson = False) -> int:
    """List the environments: tools, tasks, grammar.

    Returns:
        The exit code: 0, or 2 if an environment does not load.
    """
    output = Output(json)
    table = FittingTable("id", dispensable=("about", "more tasks", "grammar"), text=("grammar", "user", "about"))
    rows: list[dict[str, Any]] = []
    broken: list[str] = []
    for env in env_ids():
        try:
            row = describe_environment(env)
        except InputError as error:
            broken.append(str(error))
            rows.append({"id": env, "error": str(error)})
            continue
        rows.append(row)
        cells = {"tools": str(row["tools"])} | {split: str(count) for split, count in row["tasks"].items()}
        cells |= {"grammar": row["grammar"], "user": row["user"] or NONE}
        cells |= {"more tasks": "generated" if row["generator"] else NONE, "about": row["title"]}
        table.add(env, cells)
    if not json:
        output.console.print(table)
    for problem in broken:
        complain(problem)
    output.result(rows)
    return 2 if broken else 0
