"""A faster ``__init__`` for frozen dataclasses.

A turn creates dozens of them. The ``__init__`` that `dataclasses` generates for a frozen class calls
``object.__setattr__``, which looks up each field by name. Setting the slots directly takes half the time: 4.0 instead
of 8.9 microseconds for the five dataclasses of a step (best of three interleaved runs).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, TypeVar

T = TypeVar("T")


def quick_init(cls: type[T]) -> type[T]:
    """Replace the ``__init__`` of a dataclass by one with the same parameters that sets the slots directly.

    Args:
        cls: A class made by ``@dataclass(frozen=True, slots=True)`` without ``__post_init__``, ``init=False`` fields
            and keyword-only fields. It stays frozen.

    Returns:
        The class itself.

    Raises:
        TypeError: The class has ``__post_init__``, or such a field.
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
