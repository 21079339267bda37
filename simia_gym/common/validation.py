"""Reads decoded values as pydantic models and dataclasses; every mistake is named with its place and value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from functools import cache
from typing import Any, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from simia_gym.common.files import dotted
from simia_gym.errors import DomainError, did_you_mean

T = TypeVar("T")

Where = Callable[[Sequence[str | int]], str]
"""Gives the place of a part from the part's path, as `Lines.where` does."""

_LONGEST = 60
_LISTS = dict.fromkeys(("list_type", "tuple_type"), "Input should be a list")
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
_OBJECTS = ("dict_type", "mapping_type", "dataclass_type", "model_type", "model_attributes_type")
_KINDS: Mapping[str, str] = {
    **_LISTS,
    **dict.fromkeys(_OBJECTS, "Input should be an object"),
    "too_short": "Input should not be empty",
}
"""What is said, in JSON's words, where a value is of the wrong kind."""


class StrictModel(BaseModel):
    """A part of a file, which refuses keys that it does not declare."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def validated(
    model: type[T],
    value: Any,
    *,
    where: str | Where,
    fix: str = "Correct it there.",
    context: Mapping[str, Any] | None = None,
) -> T:
    """Read a value as a model.

    Args:
        model: The class.
        value: The decoded value.
        where: The place of the value, to which ``.a.b[0]`` is added (``a.b[0]`` if it ends in a space); or a function
            that gives the place of a part from the part's path, such as `Lines.where`.
        fix: What to do about a mistake, unless its kind says it.
        context: The context of the model's validators.

    Raises:
        DomainError: The value does not fit; ``problems`` holds one error per mistake.
    """
    try:
        adapter: TypeAdapter[T] = _adapter(cast(Any, model))
        return adapter.validate_python(value, context=context)
    except ValidationError as error:
        # A key that is wrong comes first, because one that is missing may be its correct name. A list is not short
        # because its items have mistakes.
        found = [one for one in error.errors(include_url=False) if not (one["type"] == "too_short" and one["input"])]
        found.sort(key=lambda one: one["type"] not in _UNKNOWN)
        raise DomainError.of([_explain(model, value, one, where, fix) for one in found]) from error


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)


def _explain(model: type, value: Any, detail: Any, where: str | Where, fix: str) -> DomainError:
    kind = detail["type"]
    path = _path_in(value, detail["loc"])
    if kind == "missing":
        path.append(detail["loc"][-1])
    name = dotted(path)
    inside = name if not name or name[0] == "[" else f".{name}"
    place = f"{where}{name if where.endswith(' ') else inside}" if isinstance(where, str) else where(path)
    if kind == "missing":
        note = getattr(_fields_at(model, path[:-1]).get(str(path[-1])), "description", None) or ""
        return DomainError(f"the key {path[-1]!r} is missing", where=place, fix=f"Add it. {note}".strip())
    if kind in _UNKNOWN:
        known = _fields_at(model, path[:-1])
        keys = f" The keys are: {', '.join(known)}." if known else ""
        hint = did_you_mean(str(path[-1]), known) or "Remove it."
        return DomainError(f"there is no key {path[-1]!r}", where=place, fix=f"{hint.strip()}{keys}")
    what = _KINDS.get(kind) or detail["msg"].removeprefix("Value error, ")
    got = repr(detail["input"])
    shown = got if len(got) <= _LONGEST else f"{got[:_LONGEST]}…"
    return DomainError(f"{what}, got {shown}", where=place.removesuffix(": "), fix=fix)


def _fields_at(model: Any, path: Sequence[str | int]) -> dict[str, Any]:
    """The fields, by their keys in a file, of the models at a path; parts that name no field are keys of a mapping."""
    models = [model]
    for part in path:
        named = [fields[part] for fields in map(_fields, models) if part in fields]
        below = [inner for field in named for inner in _models_in(getattr(field, "annotation", None))]
        models = below if named else models
    return {key: field for each in models for key, field in _fields(each).items()}


def _fields(model: Any) -> dict[Any, Any]:
    fields: Mapping[str, Any] = getattr(model, "__pydantic_fields__", {})
    if not fields and is_dataclass(model):
        return {field.name: field for field in dataclass_fields(model)}
    return {field.alias or name: field for name, field in fields.items()}


def _models_in(annotation: Any) -> list[Any]:
    """The models of which a value of this type consists, as in ``Mapping[str, Model]``."""
    if hasattr(annotation, "__pydantic_fields__"):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]


def _path_in(value: Any, location: Sequence[str | int]) -> list[str | int]:
    """The parts of a location that lead to a part of the value; the others name a kind of value that was tried."""
    path: list[str | int] = []
    for part in location:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            continue
        path.append(part)
    return path
