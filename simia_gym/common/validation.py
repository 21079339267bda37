"""Reads decoded JSON as a pydantic model; the error about a mistake names its place and value."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from simia_gym.errors import InputError

Model = TypeVar("Model", bound=BaseModel)


def validated(model: type[Model], value: Any, *, where: str, fix: str = "Correct it there.") -> Model:
    """Read a value as a model.

    Raises:
        InputError: About the first mistake; its place is ``where`` with the path inside the value, ``a.b[0]``.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ").partition(" or instance of ")[0]
        what = message if first["type"] == "missing" else f"{message}, got {first['input']!r:.80}"
        raise InputError(what, where=f"{where}{place}", fix=fix) from error
