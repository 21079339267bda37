"""JSON Patch (RFC 6902) on read-only documents: add, replace, remove, test.

Each operation copies only the containers along its path and shares the rest. The original document never changes, so a
patch that fails midway has no effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from simia_gym.errors import InputError, PatchError
from simia_gym.state.equality import strict_equal
from simia_gym.state.frozen import FrozenDict, FrozenList, freeze, frozen_dict, frozen_list, thaw, with_member
from simia_gym.state.pointer import list_index, pointer_parts, resolve


class ParsedOp(NamedTuple):
    """An operation whose form has been checked."""

    name: str
    path: str
    parts: tuple[str, ...]
    value: Any


def parse_op(op: Mapping[str, Any]) -> ParsedOp:
    """Check the form of one operation and split its pointer.

    Args:
        op: ``{"op", "path"}``, and ``"value"`` except for ``remove``.

    Returns:
        The operation, with its value frozen.

    Raises:
        PatchError: The operation's name is unknown, or its pointer or value is missing or invalid.
    """
    if type(op) is not dict and not isinstance(op, Mapping):  # the exact type is the faster check
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
        value = op["value"]
        if type(value) is not str:
            value = freeze(value)
    except InputError as error:
        raise PatchError(f"bad value: {error}", path=path) from None
    return ParsedOp(name, path, pointer_parts(path), value)


def apply_patch(doc: Any, ops: Iterable[Mapping[str, Any]]) -> Any:
    """Apply operations, in order, to a plain JSON value.

    Args:
        doc: The document; it is not changed.
        ops: Operations.

    Returns:
        A new plain document that shares nothing with ``doc`` or with the operations.

    Raises:
        PatchError: An operation cannot be applied; the message has its index and path.
    """
    work = freeze(doc)
    for number, op in enumerate(ops):
        try:
            parsed = parse_op(op)
            if parsed.name == "test":
                check_test(resolve(work, parsed.parts), parsed.value)
            else:
                work = write(work, parsed.parts, parsed.name, parsed.value)
        except PatchError as error:
            raise located(error, number, op) from None
    return thaw(work)


def located(error: PatchError, number: int, op: Any) -> PatchError:
    """Add the operation's index and path to an error."""
    path = op.get("path") if isinstance(op, Mapping) else None
    return PatchError(error.message, op_index=number, path=path if isinstance(path, str) else "")


def check_test(found: Any, expected: Any) -> None:
    """Raise `PatchError` unless the value found equals the expected one by `strict_equal`."""
    if not strict_equal(found, expected):
        raise PatchError(f"test failed: expected {_short(expected)}, found {_short(found)}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def write(node: Any, parts: Sequence[str], name: str, value: Any, depth: int = 0) -> Any:
    """Apply one ``add``, ``replace`` or ``remove`` to a frozen document; return the new document.

    Args:
        node: The frozen value at ``parts[:depth]``.
        parts: The whole path.
        name: ``add``, ``replace`` or ``remove``.
        value: The frozen new value.
        depth: Number of path tokens that lead to ``node``.

    Returns:
        The new frozen value at ``parts[:depth]``.

    Raises:
        PatchError: The path does not exist.
    """
    if depth == len(parts):
        if name == "remove":
            raise PatchError("the whole document cannot be removed")
        return value
    if isinstance(node, dict):
        return _write_member(node, parts, name, value, depth)
    if isinstance(node, list):
        return _write_item(node, parts, name, value, depth)
    raise PatchError(f"a {type(node).__name__} has no member {parts[depth]!r}")


def _write_member(node: dict[str, Any], parts: Sequence[str], name: str, value: Any, depth: int) -> FrozenDict:
    token, last = parts[depth], depth + 1 == len(parts)
    if token not in node and not (last and name == "add"):
        raise PatchError(f"no member {token!r}")
    if last and name == "remove":
        return frozen_dict([{key: item for key, item in node.items() if key != token}])
    new = value if last else write(node[token], parts, name, value, depth + 1)
    return with_member(node, token, new)


def _write_item(node: list[Any], parts: Sequence[str], name: str, value: Any, depth: int) -> FrozenList:
    token, last = parts[depth], depth + 1 == len(parts)
    index = list_index(token, len(node))
    if last and name == "add":
        return frozen_list([*node[:index], value, *node[index:]])
    if index == len(node):
        raise PatchError(f"index {token} is outside a list of {len(node)}")
    if last and name == "remove":
        return frozen_list([*node[:index], *node[index + 1 :]])
    new = value if last else write(node[index], parts, name, value, depth + 1)
    return frozen_list([*node[:index], new, *node[index + 1 :]])
