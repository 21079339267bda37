"""The commands of this package, and those of other packages from the entry-point group ``simia_gym.commands``.

Each command is a Typer app or a function, named by ``module:name``. It is loaded only when it runs, so that ``--help``
is fast and a broken package breaks only its own command. The command's line in ``--help`` is the first line of its
docstring, read from the source file without importing it.
"""

from __future__ import annotations

import ast
import inspect
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from simia_gym.errors import InputError

GROUP = "simia_gym.commands"
OWN = {
    "list": "list_envs:list_environments",
    "tasks": "tasks:list_tasks",
    "rollout": "rollout:rollout",
    "evaluate": "evaluate:evaluate",
    "compare": "compare:compare_sides",
    "replay": "records.replay:replay_record",
    "show": "records.show:show_episode",
    "view": "records.view:view",
    "synth": "synth:synth",
    "verify-recorded": "records.verify_recorded:verify",
    "export": "records.export:export_records",
    "check": "check:check_domain",
    "new-domain": "new_domain:write_domain",
    "schema": "schema:print_schema",
    "doctor": "doctor:examine",
    "serve-oracle": "serve_oracle:serve_oracle",
}
"""The commands of this package: module and function in `simia_gym.cli`."""


@cache
def commands() -> dict[str, tuple[EntryPoint, ...]]:
    """All commands with their entry points, this package's first; more than one entry point is a conflict.

    Other packages cannot replace a command of this package.
    """
    found: dict[str, tuple[EntryPoint, ...]] = {
        name: (EntryPoint(name, f"simia_gym.cli.{value}", GROUP),) for name, value in OWN.items()
    }
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, _package(point), point.value)):
        offers = found.get(point.name, ())
        known = any((item.value, _package(item)) == (point.value, _package(point)) for item in offers)
        if point.name not in OWN and not known:
            found[point.name] = (*offers, point)
    return found


class Commands(TyperGroup):
    """The group of all commands."""

    def __init__(self, **declared: Any) -> None:
        super().__init__(**declared)
        self.commands = {name: _Unloaded(name, points) for name, points in commands().items()}


class _Unloaded(TyperCommand):
    """A placeholder that loads its command when it runs."""

    def __init__(self, name: str, points: tuple[EntryPoint, ...]) -> None:
        said = _summary(points[0]) or f"A command of {' and '.join(map(_package, points))}."
        super().__init__(name=name, help=said, short_help=said)
        self._points = points

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Load the command and let it parse its arguments."""
        return _load(self.name or "", self._points).make_context(info_name, args, parent, **extra)


def _summary(point: EntryPoint) -> str | None:
    """The first line of the docstring of a command or else of its module; ``None`` if the source cannot be read."""
    module, _, name = point.value.partition(":")
    try:
        spec = find_spec(module)
        tree = ast.parse(Path((spec.origin if spec else None) or "").read_text(encoding="utf-8"))
    except Exception:
        return None
    defined = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    return (ast.get_docstring(defined[0] if defined else tree) or "").partition("\n")[0] or None


def _load(name: str, points: tuple[EntryPoint, ...]) -> Any:
    """Load one command.

    Raises:
        InputError: The command cannot be loaded, or is neither a Typer app nor a function; names the package.
    """
    where = f"command {name!r}"
    if len(points) > 1:
        names = " and ".join(f"{_package(point)} ({point.value})" for point in points)
        raise InputError(f"it is offered by {names}", where=where, fix="Uninstall one of them.")
    point = points[0]
    package = _package(point)
    fix = f"Mend, update or uninstall {package}."
    try:
        found: object = point.load()
        if isinstance(found, typer.Typer):
            return typer.main.get_command(found)
    except (Exception, SystemExit) as error:
        what = f"{package} cannot load it from {point.value}: {type(error).__name__}: {error}"
        raise InputError(what, where=where, fix=fix) from error
    if not callable(found):
        what = f"{package} gives a {type(found).__name__} ({point.value}), neither a Typer app nor a function"
        raise InputError(what, where=where, fix=fix)
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(name, help=inspect.cleandoc(found.__doc__ or "").partition("\n\n")[0])(found)
    return typer.main.get_command(app)


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value.partition(":")[0]
