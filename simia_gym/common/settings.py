"""Settings as typed models: each field is declared once, with its type, default, bounds and description.

Everything that shows or reads a setting goes by that declaration: keyword arguments, JSON and YAML, the options of the
command line, ``--help``, the tables of the documentation, the header of a record. A new setting is one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self, dataclass_transform

import pydantic
from pydantic import ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from simia_gym.errors import InputError

_CONFIG = ConfigDict(strict=True, allow_inf_nan=False, extra="forbid")


def setting(
    default: Any,
    description: str,
    *,
    option: str | None = None,
    metavar: str | None = None,
    panel: str | None = None,
    unset: str | None = None,
    also: tuple[str, ...] = (),
    **constraints: Any,
) -> Any:
    """Declare a field of `Settings`.

    Args:
        default: Its default; ``...`` for a field without one.
        description: What it is, in a sentence.
        option: Its name on the command line where that is another one; empty for no option.
        metavar: Stands for its value in ``--help``.
        panel: The part of ``--help`` that lists it.
        unset: What holds where it is left out, if the default does not say it.
        also: Other places that errors name when they mean this option, such as ``roles.user``.
        **constraints: As for `pydantic.Field`, such as ``ge=1``.
    """
    shown: Any = {"option": option, "metavar": metavar, "panel": panel, "unset": unset, "also": list(also)}
    return Field(default, description=description, json_schema_extra=shown, **constraints)


@dataclass_transform(frozen_default=True)
class Settings:
    """Base of all settings: subclasses are frozen dataclasses whose values pydantic checks strictly.

    An impossible value raises an `InputError` that names the field.
    """

    FORMER: ClassVar[Mapping[str, str]] = {}
    """Former names of fields in what older versions wrote, and their names now."""

    def __init_subclass__(cls) -> None:
        """Make the subclass a dataclass of pydantic."""
        pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)(cls)
        checked: Any = cls.__init__

        def init(self: Settings, *args: Any, **given: Any) -> None:
            try:
                checked(self, *args, **given)
            except ValidationError as error:
                raise _refused(type(self), error) from None

        cls.__init__ = init  # type: ignore[assignment, method-assign]

    @classmethod
    def fields(cls) -> Mapping[str, FieldInfo]:
        """The declarations by name."""
        found: Mapping[str, FieldInfo] = cls.__pydantic_fields__  # type: ignore[attr-defined]
        return found

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Defaults by name, of the fields that have one."""
        return {name: field.default for name, field in cls.fields().items() if not field.is_required()}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values of the fields that differ from their default."""
        default = self.defaults()
        found = {name: getattr(self, name) for name in self.fields()}
        return {name: _plain(value) for name, value in found.items() if name not in default or value != default[name]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str = "settings") -> Self:
        """Read what `to_json` wrote.

        Args:
            data: Fields by name.
            where: Where they stand, for errors.

        Raises:
            InputError: A name is unknown or a value impossible.
        """
        if not isinstance(data, Mapping):
            raise InputError(f"{data!r} is no object", where=where, fix='Write {"NAME": VALUE}.')
        given = {cls.FORMER.get(name, name): value for name, value in data.items()}
        for name in given:
            if name not in cls.fields():
                fix = f"Known: {', '.join(cls.fields())}."
                raise InputError(f"unknown setting {name!r}", where=where, fix=fix)
        try:
            return cls(**given)
        except InputError as error:
            raise InputError(error.what, where=where, fix=error.fix) from None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _refused(cls: type[Settings], error: ValidationError) -> InputError:
    """The complaint about the first field that is wrong."""
    problems = error.errors(include_url=False)
    first = problems[0]
    begin, *rest = first["loc"]
    name = list(cls.fields())[begin] if isinstance(begin, int) else begin
    if name not in cls.fields():
        return InputError(f"unknown setting {name!r}", where="settings", fix=f"Known: {', '.join(cls.fields())}.")
    if first["type"] == "missing":
        return InputError(f"{name} is missing", where="settings", fix=f"Add {name!r}.")
    wanted = dict.fromkeys(item["msg"].removeprefix("Input should be ") for item in problems if item["loc"][0] == begin)
    value = repr(first["input"]) if cls.fields()[name].repr else "no such value"
    inside = f"[{rest[0]!r}]" if rest and isinstance(cls.fields()[name].default, Mapping) else ""
    return InputError(f"{name}{inside} is {value}", where=name, fix=f"It must be {' or '.join(wanted)}.")
