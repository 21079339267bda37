"""Read-only subclasses of ``dict`` and ``list``.

As subclasses, they work with `json.dumps`, `orjson.dumps`, ``==`` and indexing at full speed; mutating methods raise
`TypeError`. A frozen container holds only frozen values, so states can share rows, operations can share values, and
ledgers can keep events, all without copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, NoReturn, cast

from simia_gym.errors import InputError
from simia_gym.state.pointer import make_pointer

_READ_ONLY = "read-only {}: use draft.edit() for a private copy to change, or thaw() for a plain copy"
_new_dict, _new_list = dict.__new__, list.__new__
_fill_dict, _fill_list, _set_item = dict.update, list.extend, dict.__setitem__


class FrozenDict(dict[str, Any]):
    """A deeply read-only dictionary.

    Args:
        value: A mapping, or pairs of key and value; copied and frozen recursively.
    """

    __slots__ = ()

    def __new__(cls, value: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> FrozenDict:  # noqa: D102
        return cast(FrozenDict, freeze(dict(value)))

    def __init__(self, value: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        # __new__ has set the content; a second call of __init__ must not change it.
        pass

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(_READ_ONLY.format("row or object"))

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return cast("dict[str, Any]", thaw(self))

    def __reduce__(self) -> tuple[object, ...]:
        return freeze, (dict(self),)


class FrozenList(list[Any]):
    """A deeply read-only list.

    Args:
        value: The items; copied and frozen recursively.
    """

    __slots__ = ()

    def __new__(cls, value: Iterable[Any] = ()) -> FrozenList:  # noqa: D102
        return cast(FrozenList, freeze(list(value)))

    def __init__(self, value: Iterable[Any] = ()) -> None:
        # __new__ has set the content; a second call of __init__ must not change it.
        pass

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(_READ_ONLY.format("list"))

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = pop = remove = clear = sort = reverse = _refuse

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return cast("list[Any]", thaw(self))

    def __reduce__(self) -> tuple[object, ...]:
        return freeze, (list(self),)


def freeze(value: Any) -> Any:
    """Copy a JSON value into read-only containers; frozen values are returned without a copy.

    Args:
        value: A JSON value: mappings with string keys, lists, tuples, strings, finite numbers, booleans, None.

    Raises:
        InputError: A value in it is not JSON (a set, a date, NaN, a key that is not a string).
    """
    try:
        return _freeze(value)
    except _NotJson:
        where, what = _locate(value, ())
        raise InputError(
            what, where=where, fix="State and records hold JSON values only; write bytes with simia_gym.as_text."
        ) from None
    except RecursionError:
        raise InputError("value is nested too deeply, or contains itself", fix="Flatten it.") from None


def thaw(value: Any) -> Any:
    """Copy a JSON value, frozen or not, into plain, mutable dictionaries and lists; a deep copy."""
    if type(value) is FrozenDict:
        # A row is copied for each edit, and most of its values are texts and numbers: all at once is faster.
        plain = {**value}
        for key, item in plain.items():
            if type(item) not in _PLAIN:
                plain[key] = thaw(item)
        return plain
    if isinstance(value, list | tuple):
        return [item if type(item) in _PLAIN else thaw(item) for item in value]
    return {key: thaw(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def frozen_dict(parts: Iterable[Mapping[str, Any]]) -> FrozenDict:
    """Merge mappings with frozen values into one `FrozenDict`, in order; the values are not checked."""
    new = _new_dict(FrozenDict)
    for part in parts:
        _fill_dict(new, part)
    return new


def frozen_list(items: Iterable[Any]) -> FrozenList:
    """Make a `FrozenList` of frozen items; the items are not checked."""
    new = _new_list(FrozenList)
    _fill_list(new, items)
    return new


class _NotJson(Exception):
    """Raised inside the recursion, without the place; `freeze` finds the place and raises `InputError`."""


_PLAIN = frozenset({str, int, float, bool, type(None)})
_SETTLED = _PLAIN - {float} | {FrozenDict, FrozenList}
"""Types whose values need no freezing; checked first, because most values are of these types."""
_EMPTY = frozen_list(())


def _freeze(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        new = _new_dict(FrozenDict)
        _fill_dict(new, value)
        for key, item in value.items():
            if type(key) is not str:
                return _freeze_unusual(value)
            sort = type(item)
            if sort not in _SETTLED and not (sort is float and isfinite(item)):
                _set_item(new, key, _freeze(item))
        return new
    if kind in _SETTLED:
        return value
    if kind is list or kind is tuple:
        if not value:
            return _EMPTY
        items = _new_list(FrozenList)
        _fill_list(items, [item if type(item) in _SETTLED else _freeze(item) for item in value])
        return items
    if kind is float and isfinite(value):
        return value
    return _freeze_unusual(value)


def _freeze_unusual(value: Any) -> Any:
    """Freeze floats, and values of subclasses of JSON types, which are converted to the base type."""
    if isinstance(value, float):
        if not isfinite(value):
            raise _NotJson
        return float(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise _NotJson
        return frozen_dict([{str.__str__(key): _freeze(item) for key, item in value.items()}])
    if isinstance(value, list | tuple):
        return frozen_list([_freeze(item) for item in value])
    raise _NotJson


def _locate(value: Any, path: tuple[str | int, ...]) -> tuple[str, str]:
    """Find the first part of a value that is not JSON; return its pointer and a description of the mistake."""
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                return make_pointer(*path), f"key {key!r} is a {type(key).__name__}, not a string"
        steps: Iterable[tuple[str | int, Any]] = value.items()
    elif isinstance(value, list | tuple):
        steps = enumerate(value)
    else:
        return make_pointer(*path), f"{value!r:.80} ({type(value).__name__}) is not a JSON value"
    for key, item in steps:
        try:
            _freeze(item)
        except _NotJson:
            return _locate(item, (*path, key))
    return make_pointer(*path), "value changed while it was being frozen"
