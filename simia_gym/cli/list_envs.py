"""`simia list`."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.cli.terminal.output import Output, complain
from simia_gym.domain.registration import env_ids
from simia_gym.errors import InputError


def describe_environment(env: str) -> dict[str, Any]:
    """Facts of one environment.

    Raises:
        InputError: It does not load.
    """
    suite = load_suite(EnvConfig(env=env, split="all"))
    domain = suite.domain
    return {
        "id": env,
        "title": domain.config.title,
        "tools": len(domain.specs),
        "tasks": {split: len(domain.tasks.get(split, ())) for split in ("train", "test")},
        "grammar": domain.config.grammar,
        "user": domain.user,
        "generator": domain.generator is not None,
        "policies": sorted(domain.config.policies),
        "max_turns": domain.config.max_turns,
        "version": domain.config.version,
        "hash": domain.hash,
        "tool_names": list(domain.specs),
    }


def list_environments(*, json: bool) -> int:
    """Print them.

    Returns:
        The exit code: 2 where an environment does not load.
    """
    output = Output(json)
    table = Table(box=None, pad_edge=False)
    for title, justify in (("id", "left"), ("tools", "right"), ("train", "right"), ("test", "right")):
        table.add_column(title, justify="right" if justify == "right" else "left", no_wrap=True)
    for title in ("grammar", "user", "more tasks", "about"):
        table.add_column(title)
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
        table.add_row(
            env,
            str(row["tools"]),
            str(row["tasks"]["train"]),
            str(row["tasks"]["test"]),
            row["grammar"],
            row["user"] or "–",
            "any number" if row["generator"] else "–",
            row["title"],
        )
    if not json:
        output.console.print(table)
    for problem in broken:
        complain(problem)
    output.result(rows)
    return 2 if broken else 0
