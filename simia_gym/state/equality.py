"""Two equalities of JSON values: by value (`strict_equal`) and by encoding (`identical`)."""

from __future__ import annotations

from typing import Any

import orjson

_CONTAINERS = (dict, list)
_SEQUENCES = (list, tuple)


def strict_equal(a: Any, b: Any, tolerance: float = 0.0) -> bool:
    """Compare as RFC 6902 ``test`` does.

    Numbers compare by value (``1`` equals ``1.0``), a boolean equals no number, objects compare regardless of key
    order, lists in order.

    Args:
        a: A JSON value.
        b: A JSON value.
        tolerance: Maximum difference between numbers that count as equal.
    """
    if a is b:
        return True
    if isinstance(a, dict):
        if not isinstance(b, dict) or len(a) != len(b):
            return False
        for key, item in a.items():
            # States share unchanged values, so most members are the same object.
            if key not in b or (item is not b[key] and not strict_equal(item, b[key], tolerance)):
                return False
        return True
    if isinstance(a, list | tuple):
        if not isinstance(b, list | tuple) or len(a) != len(b):
            return False
        return all(x is y or strict_equal(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, bool) or isinstance(b, bool | dict | list | tuple):
        return False
    if tolerance and isinstance(a, int | float) and isinstance(b, int | float):
        return abs(a - b) <= tolerance
    return bool(a == b)


def identical(a: Any, b: Any) -> bool:
    """Whether two values have the same JSON text: ``1``, ``1.0``, ``True`` differ, and so do two orders of keys."""
    if a is b:
        return True
    if isinstance(a, _CONTAINERS) and isinstance(b, _CONTAINERS):
        try:
            # Python's == and equal encodings together imply identity, and both run in C.
            return a == b and orjson.dumps(a) == orjson.dumps(b)
        except (TypeError, RecursionError):
            # Big integers, lone surrogates.
            return _identical_containers(a, b)
    if type(a) is not type(b):
        both_sequences = isinstance(a, _SEQUENCES) and isinstance(b, _SEQUENCES)
        return both_sequences and _identical_containers(list(a), list(b))
    # 0.0 and -0.0 are equal but have different texts.
    return repr(a) == repr(b) if isinstance(a, float) else bool(a == b)


def _identical_containers(a: Any, b: Any) -> bool:
    if len(a) != len(b):
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(identical(item, b[key]) for key, item in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return all(identical(x, y) for x, y in zip(a, b, strict=True))
    return False
