"""Frozen dataclasses that are made fast.

A turn makes dozens of them. The ``__init__`` that `dataclasses` writes for a frozen class goes through
``object.__setattr__``, which looks each field up by its name; the slots themselves can be filled without that, in half
the time: the five that every step makes take 4.0 microseconds in place of 8.9 (best of three interleaved runs).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, TypeVar

T = TypeVar("T")


def quick_init(cls: type[T]) -> type[T]:
    """Give a dataclass an ``__init__`` that fills its slots directly; it takes what the one before took.

    Args:
        cls: A class that ``@dataclass(frozen=True, slots=True)`` has made, without ``__post_init__``, with plain
            fields only. It stays as frozen as it was.

    Returns:
        The class itself.
    """
    scope: dict[str, Any] = {"__name__": cls.__module__, "_missing": MISSING}
    parameters, lines = ["self"], []
    for field in fields(cls):  # type: ignore[arg-type]
        name = value = field.name
        if not field.init or field.kw_only or hasattr(cls, "__post_init__"):
            raise TypeError(f"{cls.__qualname__}.{name}: only plain fields can be filled directly")
        scope[f"_set_{name}"] = cls.__dict__[name].__set__
        if field.default is not MISSING:
            scope[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
        elif field.default_factory is not MISSING:
            scope[f"_make_{name}"] = field.default_factory
            parameters.append(f"{name}=_missing")
            value = f"_make_{name}() if {name} is _missing else {name}"
        else:
            parameters.append(name)
        lines.append(f"    _set_{name}(self, {value})")
    exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines), scope)
    made: Callable[..., None] = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = cls.__init__.__annotations__
    cls.__init__ = made  # type: ignore[method-assign]
    return cls
