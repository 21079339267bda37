"""Generates a command's options from the fields of settings, so that each option is declared only once."""

from __future__ import annotations

import inspect
import json
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

import typer
from pydantic.fields import FieldInfo

from simia_gym.common.settings import Settings
from simia_gym.errors import InputError

S = TypeVar("S", bound=Settings)
Environment = Annotated[str, typer.Argument(metavar="ENV", help="An id from `simia list`, or the folder of a domain.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print the traceback of every bug, not only the first.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value as the last line of standard output.")]


@dataclass(frozen=True)
class Option:
    """The option of a settings field; ``default`` is its value if it is not given."""

    name: str
    field: FieldInfo
    default: Any

    @property
    def shown(self) -> Mapping[str, Any]:
        """The field's display settings, see `simia_gym.common.settings.setting`."""
        extra = self.field.json_schema_extra
        return extra if isinstance(extra, dict) else {}

    @property
    def flag(self) -> str:
        """The option's flag, such as ``--max-turns``."""
        return f"--{self.shown.get('option') or self.name.replace('_', '-')}"

    @property
    def negated(self) -> str:
        """The flag that turns a switch off."""
        return f"--no-{self.flag[2:]}"

    @property
    def kind(self) -> Any:
        """The type of one value; a mapping is given as ``KEY=VALUE`` strings."""
        return next(one for one in _alternatives(self.field.annotation) if one is not type(None))

    @property
    def repeated(self) -> bool:
        """Whether the option may be given several times."""
        return _is_mapping(self.kind) or typing.get_origin(self.kind) is tuple

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed values; empty if any value is allowed."""
        return typing.get_args(self.kind) if typing.get_origin(self.kind) is Literal else ()

    def parameter(self) -> inspect.Parameter:
        """The function parameter from which Typer creates the option."""
        kind, default, declared = self.kind, self.default, [self.flag]
        if self.repeated:
            kind, default = list[str], None
        elif kind is bool:
            declared = [self.flag if default is False else f"{self.flag}/{self.negated}"]
        elif float in _alternatives(self.field.annotation):
            kind = float
        least = next((item.ge for item in self.field.metadata if hasattr(item, "ge")), None)
        more = " May be repeated." if self.repeated else ""
        if self.default is None and self.shown["unset"]:
            more = f" Else {self.shown['unset']}."
        option = typer.Option(
            *declared,
            metavar=None if self.choices else self.shown.get("metavar"),
            min=least,
            help=f"{self.field.description}{more}",
            rich_help_panel=self.shown.get("panel"),
        )
        kind = kind | None if default is None else kind
        return inspect.Parameter(
            self.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
        )

    def read(self, typed: Any) -> Any:
        """Convert the typed value to the field's value.

        Raises:
            InputError: An item of a mapping is not ``KEY=VALUE``.
        """
        if not self.repeated:
            return typed
        return _read_words(self, typed or ()) if _is_mapping(self.kind) else tuple(typed or ())


def options_of(
    model: type[Settings], *, omit: Collection[str] = (), defaults: Mapping[str, Any] | None = None
) -> list[Option]:
    """The options for the fields of a settings class; ``omit`` and ``defaults`` as in `with_options`."""
    own = {**model.defaults(), **(defaults or {})}
    found = [Option(name, field, own.get(name)) for name, field in model.fields().items() if name not in omit]
    return [one for one in found if one.shown.get("option") != "" and one.shown]


class Typed:
    """The options of a command, with the parsed values by field name."""

    def __init__(self, options: Sequence[Option], given: Mapping[str, Any]) -> None:
        self._options = options
        self._given = {one.name: one.read(given[one.name]) for one in options}

    def values(self, model: type[Settings]) -> dict[str, Any]:
        """The field values for a settings class; without fields that were not given and have no default."""
        fields, default = model.fields(), model.defaults()
        found = {one.name: self._given[one.name] for one in self._options if one.field is fields.get(one.name)}
        return {name: value for name, value in found.items() if value is not None or default.get(name, ...) is None}

    def make(self, model: type[S], **more: Any) -> S:
        """Create settings from the parsed options; ``more`` are values of fields that are not options.

        Raises:
            InputError: A value is invalid.
        """
        return model(**self.values(model), **more)

    def changed(self) -> Iterator[Option]:
        """The options that differ from their default."""
        return (one for one in self._options if self._given[one.name] not in (one.default, {}, ()))

    def words(self) -> list[str]:
        """The given options that determine the results, as arguments; without files, folders and addresses."""
        found = []
        for one in self.changed():
            value = self._given[one.name]
            if one.kind is bool and value in (True, False):
                found.append(one.flag if value else one.negated)
            elif not one.repeated and one.shown["metavar"] not in ("FILE", "DIR", "URL"):
                found += [one.flag, str(value)]
        return found

    def as_typed(self, error: InputError) -> InputError:
        """Replace the setting's name in an error by the option's flag; errors about files stay as they are."""
        if type(error) is not InputError:
            return error
        name, _, rest = error.where.partition(".")
        for one in self.changed():
            if error.where in one.shown["also"]:
                return InputError(error.what, where=one.flag, fix=error.fix)
        for one in self._options:
            if name == one.name or name in one.shown["also"]:
                flag = one.negated if one.default is True else one.flag
                return InputError(error.what, where=f"{flag} {rest}".rstrip(), fix=error.fix)
        return error


def with_options(
    *models: type[Settings], omit: Collection[str] = (), defaults: Mapping[str, Any] | None = None
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add the options of settings classes to a command.

    Args:
        *models: The settings classes; the command gets their values as `Typed` in its first argument.
        omit: Fields that are not options of this command.
        defaults: Defaults that replace the classes' own, by field.

    Returns:
        A decorator for the command. The command's own options come first in its help. An error about a setting names
        the option.
    """
    options = [one for model in models for one in options_of(model, omit=omit, defaults=defaults)]

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        _, *own = inspect.signature(command, eval_str=True).parameters.values()

        def run(**given: Any) -> int:
            typed = Typed(options, {one.name: given.pop(one.name) for one in options})
            try:
                return command(typed, **given)
            except InputError as error:
                raise typed.as_typed(error) from error.__cause__

        generated = (one.parameter() for one in options)
        listed = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*own, *generated)]
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in listed}
        return run

    return decorate


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return typing.get_args(annotation) if union else (annotation,)


def _is_mapping(kind: Any) -> bool:
    origin = typing.get_origin(kind)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _read_words(option: Option, words: Collection[str]) -> dict[str, Any]:
    """Parse ``KEY=VALUE`` strings (``KEY.KEY=VALUE`` for nested mappings); values that are JSON are decoded."""
    nested = _is_mapping(typing.get_args(option.kind)[1])
    found: dict[str, Any] = {}
    for word in words:
        place, equals, text = word.partition("=")
        begin, dot, key = place.partition(".") if nested else ("", ".", place)
        if not equals or not dot or not key or (nested and not begin):
            shape = option.shown["metavar"]
            raise InputError(f"{word!r} is not {shape}", where=option.flag, fix=f"Write {option.flag} {shape}.")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        (found.setdefault(begin, {}) if nested else found)[key] = value
    return found
