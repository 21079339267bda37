"""JSON Pointers (RFC 6901): the paths of operations in a document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from simia_gym.errors import PatchError


def pointer_parts(pointer: str) -> tuple[str, ...]:
    """Split a JSON Pointer into unescaped reference tokens, outermost first; none for ``""``, the whole document.

    Raises:
        PatchError: The text is not a JSON Pointer.
    """
    if not pointer:
        return ()
    if pointer[0] != "/":
        raise PatchError("a JSON Pointer is empty or begins with '/'", path=pointer)
    tokens = pointer[1:].split("/")
    if "~" not in pointer:
        return tuple(tokens)
    if re.search("~(?![01])", pointer):
        raise PatchError("'~' must be written as '~0' in a JSON Pointer ('~1' stands for '/')", path=pointer)
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in tokens)


def make_pointer(*parts: str | int) -> str:
    """Join unescaped keys and list indices, outermost first, into a JSON Pointer; ``""`` without parts."""
    pointer = ""
    for part in parts:
        token = str(part)
        pointer += "/" + (token.replace("~", "~0").replace("/", "~1") if "~" in token or "/" in token else token)
    return pointer


def list_index(token: str, length: int) -> int:
    """Parse a token as an index from 0 up to and including ``length``; ``-`` is ``length``.

    The caller checks whether ``length`` itself is allowed.

    Raises:
        PatchError: The token is not an index (leading zeros are invalid), or is out of range.
    """
    if token == "-":
        return length
    if not (token.isascii() and token.isdigit()) or (token[0] == "0" and len(token) > 1):
        raise PatchError(f"{token!r} is no list index (digits without leading zeros, or '-' to append)")
    if len(token) > 18 or (index := int(token)) > length:
        raise PatchError(f"index {token} is outside a list of {length}")
    return index


def resolve(document: Any, parts: Sequence[str]) -> Any:
    """The value of a document at unescaped reference tokens; not a copy.

    Raises:
        PatchError: The path does not exist.
    """
    for token in parts:
        if isinstance(document, dict):
            if token not in document:
                raise PatchError(f"no member {token!r}")
            document = document[token]
        elif isinstance(document, list):
            index = list_index(token, len(document))
            if index == len(document):
                raise PatchError(f"index {token} is outside a list of {len(document)}")
            document = document[index]
        else:
            raise PatchError(f"a {type(document).__name__} has no member {token!r}")
    return document


def covers(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether a path lies at or below a pattern.

    In a pattern, ``*`` stands for any one token, and inside a token for any characters: ``("files", "/tmp/*")``.
    """
    if len(pattern) > len(parts):
        return False
    for want, have in zip(pattern, parts, strict=False):
        if want != "*" and want != have and not ("*" in want and _matches(want, have)):
            return False
    return True


def _matches(pattern: str, token: str) -> bool:
    regex = ".*".join(map(re.escape, pattern.split("*")))
    return re.fullmatch(regex, token, re.DOTALL) is not None
