"""Reads decoded values as pydantic models and dataclasses; every mistake is named with its place and value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from simia_gym.errors import DomainError

T = TypeVar("T")


def validated(
    model: type[T],
    value: Any,
    *,
    where: str | Callable[[Sequence[str | int]], str],
    fix: str = "Correct it there.",
    context: Mapping[str, Any] | None = None,
) -> T:
    """Read a value as a model.

    Args:
        model: The class.
        value: The decoded value.
        where: The place of the value, to which ``.a.b[0]`` is added (``a.b[0]`` if it ends in a space); or a function
            that gives the place of a part from the part's path.
        fix: What to do about a mistake, unless its kind says it.
        context: The context of the model's validators.

    Raises:
        DomainError: The value does not fit; ``problems`` holds one error per mistake.
    """
    try:
        adapter: TypeAdapter[T] = _adapter(cast(Any, model))
        return adapter.validate_python(value, context=context)
    except ValidationError as error:
        raise DomainError.of([_explain(model, one, where, fix) for one in error.errors(include_url=False)]) from error


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)


def _explain(model: type, detail: Any, where: str | Callable[[Sequence[str | int]], str], fix: str) -> DomainError:
    path = detail["loc"]
    inside = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    name = inside.removeprefix(".")
    place = f"{where}{name if where.endswith(' ') else inside}" if isinstance(where, str) else where(path)
    fields: Mapping[str, Any] = getattr(model, "__pydantic_fields__", {})
    if detail["type"] == "missing":
        note = getattr(fields.get(name), "description", None) or ""
        return DomainError(f"the key {name!r} is missing", where=place, fix=f"Add it. {note}".strip())
    if detail["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        keys = f" The keys are: {', '.join(fields)}." if len(path) == 1 and fields else ""
        return DomainError(f"there is no key {name!r}", where=place, fix=f"Remove it.{keys}")
    message = detail["msg"].removeprefix("Value error, ").partition(" or instance of ")[0]
    what = message if isinstance(where, str) else f"{name}: {message}"
    return DomainError(f"{what}, got {detail['input']!r:.80}", where=place.removesuffix(": "), fix=fix)
