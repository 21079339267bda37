"""Programs: the functions that rubric checks name, with typed arguments.

A program is ``function(finished, args) -> Finding``, a coroutine function if it waits. Its second parameter is
annotated with a subclass of `Args`, whose fields are the arguments that a rubric may give, or with
``Mapping[str, Any]`` to take whatever the rubric gives.
"""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator
from pydantic.fields import FieldInfo

from simia_gym.common.dotted_names import load_object
from simia_gym.common.validation import StrictModel, Where, validated
from simia_gym.errors import DomainError, InputError, did_you_mean
from simia_gym.record.finished_episode import FinishedEpisode


class Args(StrictModel):
    """Base class of a program's arguments: rejects unknown arguments and validates values.

    Arguments that name tools are declared as `ToolNames`, those that name tables as `TableNames`, so that a misspelt
    name is found before any episode.
    """


def named(value: Any, mark: str) -> Iterator[str]:
    """The texts of the arguments with a mark, also inside others, such as patterns of calls."""
    if isinstance(value, Args):
        for name, field in type(value).model_fields.items():
            inside = getattr(value, name)
            if mark in field.metadata:
                yield from [inside] if isinstance(inside, str) else inside
            elif inside and not isinstance(inside, str):
                yield from named(inside, mark)
    elif isinstance(value, tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            if not isinstance(item, str):
                yield from named(item, mark)


ProgramFunction: TypeAlias = Callable[[FinishedEpisode, Any], Any]
"""Gives a `Finding`, or a coroutine of one."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program.

    Attributes:
        name: Its name in a rubric.
        function: The function.
        args: The type of its arguments; ``None`` if it takes any mapping.
        waits: Whether it is a coroutine function.
    """

    name: str
    function: ProgramFunction
    args: type[Args] | None
    waits: bool

    @property
    def summary(self) -> str:
        """The first sentence of its documentation."""
        return (inspect.getdoc(self.function) or "").split("\n\n")[0].replace("\n", " ")

    @property
    def arguments(self) -> dict[str, tuple[str, str]]:
        """Each argument's name, with its default (JSON, or ``needed`` if required) and its description."""
        fields = {} if self.args is None else self.args.model_fields
        return {name: (_default(field), field.description or "") for name, field in fields.items()}

    def read_args(self, given: Mapping[str, Any], where: Where) -> Args | Mapping[str, Any]:
        """Check the arguments that a rubric gives.

        Raises:
            DomainError: With every mistake in ``problems``; each names its argument.
        """
        if self.args is None:
            return dict(given)
        return validated(self.args, dict(given), where=lambda path: where(("check", *path)))


def load_function(name: str, folder: Path | None, where: str, fix: str) -> Callable[..., Any]:
    """Load the function that a domain names, as ``package.module:function`` or ``file.py:function``.

    Raises:
        DomainError: It cannot be loaded, or is not callable.
    """
    try:
        function = load_object(name, folder=folder, where=where)
    except InputError as error:
        raise DomainError(error.what, where=where, fix=error.fix) from error
    if not callable(function):
        raise DomainError(f"{name!r} is not a function", where=where, fix=fix)
    return function


_FORM = "Write `def check(finished: FinishedEpisode, args: Mapping[str, Any]) -> Finding`."


def read_program(function: ProgramFunction, name: str, where: str = "") -> Program:
    """Create a program from a function with two parameters by reading its signature.

    Raises:
        DomainError: The function takes other parameters.
    """
    try:
        parameters, hints = _signature(function)
    except (TypeError, ValueError, NameError) as error:
        what = f"the signature of {name!r} cannot be read ({error})"
        raise DomainError(what, where=where, fix=_FORM) from error
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(needed) != 2:
        raise DomainError(f"{name!r} does not take (finished, args)", where=where, fix=_FORM)
    hint = hints.get(needed[1].name)
    args = hint if isinstance(hint, type) and issubclass(hint, Args) else None
    return Program(name, function, args, inspect.iscoroutinefunction(function))


@lru_cache(maxsize=256)
def _signature(function: ProgramFunction) -> tuple[list[inspect.Parameter], dict[str, Any]]:
    return list(inspect.signature(function).parameters.values()), typing.get_type_hints(function)


def find_program(known: Mapping[str, Program], name: Any, *, folder: Path | None, where: str) -> Program:
    """Find the program that a rubric names: a generic one, or ``package.module:function`` or ``file.py:function``.

    Raises:
        DomainError: There is no such program; lists the known ones.
    """
    if isinstance(name, str) and name in known:
        return known[name]
    if isinstance(name, str) and ":" in name:
        return read_program(load_function(name, folder, where, _FORM), name, where)
    hint = did_you_mean(str(name), known)
    fix = f"{hint}Known: {', '.join(sorted(known))}; or write your own as 'package.module:function'."
    raise DomainError(f"there is no program {name!r}", where=where, fix=fix)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "needed"
    value = field.get_default(call_default_factory=True)
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _texts(value: Any) -> Any:
    items = value if isinstance(value, list | tuple) else [value]
    return tuple(map(_text, items))


def _text(value: Any) -> Any:
    """Let a rubric write numbers without quotes."""
    if isinstance(value, str):
        if not value.strip():
            raise ValueError("should not be empty")
        return value
    if isinstance(value, bool) or value is None:
        raise ValueError("should be a text or a number")
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f")
    return str(value) if isinstance(value, int) else value


Texts = Annotated[
    tuple[str, ...], BeforeValidator(_texts, json_schema_input_type=str | float | tuple[str | float, ...])
]
"""One text or a list of texts; numbers are taken as written."""

NAMES_TOOLS = "names tools"
ToolNames = Annotated[Texts, NAMES_TOOLS]
"""The names of tools, one text or a list."""
ByTool = Annotated[dict[str, tuple[Texts, ...]], NAMES_TOOLS]
"""The name of a tool to lists of texts."""

NAMES_TABLES = "names tables"
TableName = Annotated[str, NAMES_TABLES]
"""The name of a table, or a pointer into one."""
TableNames = Annotated[Texts, NAMES_TABLES]
"""One such text or a list."""
