"""`simia doctor`."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from typing import Any

from rich.table import Table

from simia_gym.cli.listing import describe_environment
from simia_gym.cli.output import Output
from simia_gym.config import EnvConfig
from simia_gym.errors import InputError
from simia_gym.loop import run_sync
from simia_gym.policies import NullPolicy
from simia_gym.registration import env_ids
from simia_gym.rollout.play import play
from simia_gym.suite import load_suite
from simia_gym.version import __version__

DISTRIBUTION = "simia-gym"
LEAST_PYTHON = (3, 11)
VARIABLES = (
    "SIMIA_POLICY_MODEL",
    "SIMIA_POLICY_BASE_URL",
    "SIMIA_POLICY_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_API_KEY",
)
_REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)(?:\[.*?\])?[^;]*(?:;.*?extra\s*==\s*['\"]([^'\"]+)['\"])?")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        part: Which part of the installation.
        name: What.
        ok: Whether it is as it should be; ``None`` where either is fine.
        says: What was found.
    """

    part: str
    name: str
    ok: bool | None
    says: str


def examine(*, json: bool) -> int:
    """Look at the installation and print what was found.

    Returns:
        The exit code: 0, or 1 where something is not as it should be.
    """
    output = Output(json)
    findings = [*_packages(), *_extras(), *_variables(), *_domains(), *_episodes()]
    table = Table(box=None, show_header=False, pad_edge=False)
    marks = {True: "ok", False: "WRONG", None: "–"}
    for item in findings:
        table.add_row(item.part, item.name, marks[item.ok], item.says)
    output.console.print(table, markup=False)
    ok = all(item.ok is not False for item in findings)
    output.say("everything is in order" if ok else "something is wrong: see the lines marked WRONG")
    output.result({"ok": ok, "findings": [_as_json(item) for item in findings]})
    return 0 if ok else 1


def _as_json(item: Finding) -> dict[str, Any]:
    return {"part": item.part, "name": item.name, "ok": item.ok, "says": item.says}


def _requirements() -> Iterator[tuple[str, str]]:
    """Names of required packages with the extra that wants them, or an empty text."""
    try:
        lines = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return
    for line in lines:
        found = _REQUIREMENT.match(line)
        if found is not None:
            yield found.group(1), found.group(2) or ""


def _packages() -> Iterator[Finding]:
    yield Finding("python", platform.python_version(), sys.version_info >= LEAST_PYTHON, platform.platform())
    yield Finding("package", DISTRIBUTION, True, __version__)
    for name, extra in _requirements():
        if not extra:
            found = _version(name)
            yield Finding("package", name, found is not None, found or "not installed: pip install simia-gym")


def _extras() -> Iterator[Finding]:
    extras: dict[str, list[str]] = {}
    for name, extra in _requirements():
        if extra and name != DISTRIBUTION:
            extras.setdefault(extra, []).append(name)
    for extra, names in extras.items():
        missing = [name for name in names if _version(name) is None]
        says = f"not installed: {', '.join(missing)}; pip install '{DISTRIBUTION}[{extra}]'" if missing else "installed"
        yield Finding("extra", extra, None if missing else True, says)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return version_of_module(name)


def version_of_module(name: str) -> str | None:
    """A stand-in for packages without metadata: whether the module is there."""
    return "installed" if find_spec(name.replace("-", "_")) is not None else None


def _variables() -> Iterator[Finding]:
    """Whether each variable is set; its value is nobody's business."""
    for name in VARIABLES:
        yield Finding("variable", name, None, "set" if os.environ.get(name) else "not set")


def _domains() -> Iterator[Finding]:
    for env in env_ids():
        try:
            row = describe_environment(env)
        except InputError as error:
            yield Finding("environment", env, False, str(error))
            continue
        tasks = ", ".join(f"{count} {split}" for split, count in row["tasks"].items())
        yield Finding("environment", env, True, f"{row['tools']} tools, tasks: {tasks}")


def _episodes() -> Iterator[Finding]:
    """One tiny episode: the first environment that loads, and a policy that does nothing."""
    for env in env_ids():
        try:
            suite = load_suite(EnvConfig(env=env, split="all", max_turns=2))
        except InputError:
            continue
        episode = suite.episode()
        run_sync(play(episode, suite.tasks[0], seed=0, policy=NullPolicy(), env=env), inline=episode.inline)
        verdict = episode.verdict
        valid = verdict is not None and verdict.valid
        says = f"{episode.turn} turns, ended by {episode.ended}" if valid else str(verdict and verdict.reason)
        yield Finding("episode", env, valid, says)
        return
    yield Finding("episode", "", False, "no environment loads")
