"""JSON Patch (RFC 6902) on read-only documents: add, replace, remove, test.

Each operation copies only the containers along its path and shares the rest. The original document never changes, so a
patch that fails midway has no effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simia_gym.errors import InputError, PatchError
from simia_gym.state.frozen import freeze, frozen_dict, frozen_list
from simia_gym.state.pointer import list_index, pointer_parts


class ParsedOp(NamedTuple):
    """An operation whose form has been checked."""

    name: str
    path: str
    parts: tuple[str, ...]
    value: Any


def parse_op(op: Mapping[str, Any]) -> ParsedOp:
    """Check the form of one operation, split its pointer and freeze its value.

    Raises:
        PatchError: The operation's name is unknown, or its pointer or value is missing or invalid.
    """
    if not isinstance(op, (dict, Mapping)):
        raise PatchError(f"an operation is an object, not a {type(op).__name__}")
    name, path = op.get("op"), op.get("path")
    if not isinstance(path, str):
        raise PatchError("'path' must be a JSON Pointer string")
    if name == "remove":
        return ParsedOp("remove", path, pointer_parts(path), None)
    if name not in ("add", "replace", "test"):
        if name in ("move", "copy"):
            raise PatchError(f"{name!r} is not supported; write it as 'remove' and 'add'", path=path)
        raise PatchError(f"unknown operation {name!r}; use add, replace, remove or test", path=path)
    if "value" not in op:
        raise PatchError(f"{name!r} needs a 'value'", path=path)
    try:
        value = freeze(op["value"])
    except InputError as error:
        raise PatchError(f"bad value: {error}", path=path) from None
    return ParsedOp(name, path, pointer_parts(path), value)


def located(error: PatchError, number: int, op: Any) -> PatchError:
    """Add the operation's index and path to an error."""
    path = op.get("path") if isinstance(op, Mapping) else None
    return PatchError(error.message, op_index=number, path=path if isinstance(path, str) else "")


def short(value: Any) -> str:
    """A value in an error message."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def write(node: Any, parts: Sequence[str], name: str, value: Any) -> Any:
    """Apply one ``add``, ``replace`` or ``remove`` to a frozen value; return the new value.

    Args:
        node: The frozen value.
        parts: The path in it; empty to replace the value itself.
        name: ``add``, ``replace`` or ``remove``.
        value: The frozen new value.

    Raises:
        PatchError: The path does not exist.
    """
    if not parts:
        return value
    token, rest = parts[0], parts[1:]
    if isinstance(node, dict):
        if token not in node and (rest or name != "add"):
            raise PatchError(f"no member {token!r}")
        if name == "remove" and not rest:
            return frozen_dict([{key: item for key, item in node.items() if key != token}])
        return frozen_dict((node, {token: write(node.get(token), rest, name, value)}))
    if isinstance(node, list):
        index = list_index(token, len(node))
        if name == "add" and not rest:
            return frozen_list([*node[:index], value, *node[index:]])
        if index == len(node):
            raise PatchError(f"index {token} is outside a list of {len(node)}")
        if name == "remove" and not rest:
            return frozen_list([*node[:index], *node[index + 1 :]])
        return frozen_list([*node[:index], write(node[index], rest, name, value), *node[index + 1 :]])
    raise PatchError(f"a {type(node).__name__} has no member {token!r}")
