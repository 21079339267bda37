"""Typed settings: each field is declared once, with its type, default, bounds and description.

Keyword arguments, JSON and YAML, command-line options, ``--help``, the documentation's tables and the settings in
records all follow from this declaration, so a new setting is one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, dataclass_transform

import pydantic
from pydantic import ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from simia_gym.common.secrets import shown_value
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
        default: The default; ``...`` for a required field.
        description: Description in one sentence.
        option: Name of the command-line option; ``None`` for the field's name, empty for no option.
        metavar: Placeholder of the value in ``--help``.
        panel: Section of ``--help`` that lists the option.
        unset: Description of the default for ``--help``, if the value itself does not explain it.
        also: Other names that errors use for this option, such as ``roles.user``.
        **constraints: Constraints of `pydantic.Field`, such as ``ge=1``.
    """
    shown: Any = {"option": option, "metavar": metavar, "panel": panel, "unset": unset, "also": list(also)}
    return Field(default, description=description, json_schema_extra=shown, **constraints)


@dataclass_transform(frozen_default=True)
class Settings:
    """Base class of all settings: subclasses are frozen dataclasses with strict validation by pydantic.

    An invalid value raises an `InputError` that names the field.
    """

    def __init_subclass__(cls) -> None:
        """Turn the subclass into a pydantic dataclass."""
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
        """The declared fields by name."""
        found: Mapping[str, FieldInfo] = cls.__pydantic_fields__  # type: ignore[attr-defined]
        return found

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """The defaults by field name; required fields are left out."""
        return {name: field.default for name, field in cls.fields().items() if not field.is_required()}

    def to_json(self) -> dict[str, Any]:
        """The fields that differ from their defaults, as plain JSON values."""
        default = self.defaults()
        found = {name: getattr(self, name) for name in self.fields()}
        return {name: _plain(value) for name, value in found.items() if name not in default or value != default[name]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str = "settings") -> Self:
        """Make settings from the result of `to_json`.

        Raises:
            InputError: A name is unknown or a value invalid; names ``where`` the data stands.
        """
        if not isinstance(data, Mapping):
            raise InputError(f"a {type(data).__name__} is no object", where=where, fix='Write {"NAME": VALUE}.')
        for name in data:
            if name not in cls.fields():
                fix = f"Known: {', '.join(cls.fields())}."
                raise InputError(f"unknown setting {name!r}", where=where, fix=fix)
        try:
            return cls(**data)
        except InputError as error:
            raise InputError(error.what, where=where, fix=error.fix) from None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _refused(cls: type[Settings], error: ValidationError) -> InputError:
    """The error about the first invalid field."""
    problems = error.errors(include_url=False)
    first = problems[0]
    begin, *rest = first["loc"]
    name = list(cls.fields())[begin] if isinstance(begin, int) else begin
    if name not in cls.fields():
        return InputError(f"unknown setting {name!r}", where="settings", fix=f"Known: {', '.join(cls.fields())}.")
    if first["type"] == "missing":
        return InputError(f"{name} is missing", where="settings", fix=f"Add {name!r}.")
    wanted = dict.fromkeys(item["msg"].removeprefix("Input should be ") for item in problems if item["loc"][0] == begin)
    value = shown_value(first["input"]) if cls.fields()[name].repr else "no such value"
    inside = f"[{rest[0]!r}]" if rest and isinstance(cls.fields()[name].default, Mapping) else ""
    return InputError(f"{name}{inside} is {value}", where=name, fix=f"It must be {' or '.join(wanted)}.")
