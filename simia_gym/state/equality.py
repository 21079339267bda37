"""The two equalities of JSON values, neither of which is Python's ``==``."""

from __future__ import annotations

from typing import Any


def strict_equal(a: Any, b: Any) -> bool:
    """Compare as RFC 6902 ``test`` does.

    Numbers compare by value (``1`` equals ``1.0``), a boolean equals no number, objects compare without order of keys,
    lists with order.

    Args:
        a: A JSON value.
        b: A JSON value.

    Returns:
        Whether they are the same JSON value.
    """
    if isinstance(a, dict):
        if not isinstance(b, dict) or len(a) != len(b):
            return False
        return all(key in b and (item is b[key] or strict_equal(item, b[key])) for key, item in a.items())
    if isinstance(a, list | tuple):
        if not isinstance(b, list | tuple) or len(a) != len(b):
            return False
        return all(x is y or strict_equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(b, dict | list | tuple):
        return False
    return bool(a == b)


def identical(a: Any, b: Any) -> bool:
    """Compare as bytes would: ``1``, ``1.0`` and ``True`` differ, and so do two orders of the same keys.

    Args:
        a: A JSON value.
        b: A JSON value.

    Returns:
        Whether both would be written as the same text.
    """
    if a is b:
        return True
    if isinstance(a, dict):
        if not isinstance(b, dict) or len(a) != len(b):
            return False
        for (key_a, item_a), (key_b, item_b) in zip(a.items(), b.items(), strict=True):
            if key_a != key_b or (item_a is not item_b and not identical(item_a, item_b)):
                return False
        return True
    if isinstance(a, list | tuple):
        if not isinstance(b, list | tuple) or len(a) != len(b):
            return False
        return all(x is y or identical(x, y) for x, y in zip(a, b, strict=True))
    if type(a) is not type(b):
        return False
    # 0.0 and -0.0 are equal, and written differently.
    return repr(a) == repr(b) if isinstance(a, float) else bool(a == b)
