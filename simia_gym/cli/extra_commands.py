"""Commands that other packages bring, through the entry-point group ``simia_gym.commands``.

An entry point names a Typer app or a function. It is loaded when its command runs and not before, so that the help of
the whole stays quick, and so that a broken package breaks its own command alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from simia_gym.common.output import tell
from simia_gym.errors import InputError

GROUP = "simia_gym.commands"
INTERRUPTED = 130


@cache
def extra_commands() -> dict[str, tuple[EntryPoint, ...]]:
    """Names of further commands, and who offers them; more than one where packages clash."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, _package(point), point.value)):
        offers = found.get(point.name, ())
        if all((item.value, _package(item)) != (point.value, _package(point)) for item in offers):
            found[point.name] = (*offers, point)
    return found


class Commands(TyperGroup):
    """The commands of this package, and then those of others; nobody replaces ours."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, ours first."""
        own = list(super().list_commands(ctx))
        return own + [name for name in extra_commands() if name not in own]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, loaded or still to load."""
        own = super().get_command(ctx, cmd_name)
        points = extra_commands().get(cmd_name)
        return own if own is not None or not points else _Unloaded(cmd_name, points)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; one that is interrupted and says nothing about it is said to be."""
        with _interrupts_told():
            return super().invoke(ctx)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read the words; that takes long enough to be interrupted, too."""
        with _interrupts_told():
            return super().make_context(info_name, args, parent, **extra)


@contextmanager
def _interrupts_told() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        tell("interrupted")
        raise typer.Exit(INTERRUPTED) from None


class _Unloaded(TyperCommand):
    """Stands for a command until it runs."""

    def __init__(self, name: str, points: tuple[EntryPoint, ...]) -> None:
        said = f"A command of {' and '.join(map(_package, points))}."
        super().__init__(name=name, help=said, short_help=said)
        self._points = points

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Load the command and let it read its own words."""
        return _load(self.name or "", self._points).make_context(info_name, args, parent, **extra)


def _load(name: str, points: tuple[EntryPoint, ...]) -> Any:
    """Load one command.

    Raises:
        InputError: It cannot be loaded, or is no command; names the package.
    """
    where = f"command {name!r}"
    if len(points) > 1:
        names = " and ".join(f"{_package(point)} ({point.value})" for point in points)
        raise InputError(f"it is offered by {names}", where=where, fix="Uninstall one of them.")
    point = points[0]
    package = _package(point)
    try:
        found: object = point.load()
        app = found if isinstance(found, typer.Typer) else None
        if app is None and callable(found):
            app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
            app.command(name)(found)
        command = None if app is None else typer.main.get_command(app)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        what = f"{package} cannot load it from {point.value}: {type(error).__name__}: {error}"
        raise InputError(what, where=where, fix=f"Mend, update or uninstall {package}.") from error
    if command is None:
        what = f"{package} gives a {type(found).__name__} ({point.value}), neither a Typer app nor a function"
        raise InputError(what, where=where, fix=f"Mend, update or uninstall {package}.")
    return command


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value.partition(":")[0]
