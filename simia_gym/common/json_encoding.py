"""Canonical JSON: one value, one sequence of bytes.

Hash chains, content keys and record lines all rest on these bytes, so they must depend on the value alone: compact
separators, UTF-8, key order as it stands in the value. What JSON cannot carry is settled once, here: a lone surrogate
becomes U+FFFD, NaN and the infinities become null. Reading the bytes back and encoding again gives the same bytes.
"""

from __future__ import annotations

import json
import json.encoder
import math
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, NoReturn

import orjson

from simia_gym.errors import InputError

# Dataclasses, dates and the like have more than one sensible JSON form; whoever records them must choose.
_OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def encode(value: Any) -> bytes:
    """Encode a JSON value as canonical bytes.

    Args:
        value: Dictionaries with string keys, lists, tuples, strings, integers of any size, floats, booleans, None.

    Returns:
        Compact UTF-8 JSON with the value's own key order.

    Raises:
        InputError: The value holds something that is not JSON, or is nested too deeply.
    """
    try:
        return orjson.dumps(value, option=_OPTIONS)
    except TypeError:
        return _encode_unusual(value)


_NOTHING = sha256()


def hash_of(data: bytes) -> str:
    """SHA-256 in hex digits, of which the values to be hashed are mostly small.

    Setting a hash up takes longer than hashing a small value; a copy of one that is set up is had for half of that.

    Args:
        data: Bytes, such as those of `encode`.
    """
    found = _NOTHING.copy()
    found.update(data)
    return found.hexdigest()


def decode(data: bytes | str) -> Any:
    """Read JSON back without loss: integers of any size stay integers, and NaN is refused.

    Args:
        data: UTF-8 bytes, or text.

    Returns:
        The plain value.

    Raises:
        ValueError: The text is not JSON.
    """
    return json.loads(data, parse_constant=_refuse_constant)


def spaced_writer(*, ensure_ascii: bool = True) -> Callable[[Any], str]:
    """Make a function that writes JSON as Python's ``json.dumps`` does, with a space after each comma and colon.

    `json.dumps` sets its encoder up anew for each value, which takes longer than a small value itself.

    Args:
        ensure_ascii: As in ``json.dumps``.

    Returns:
        A function of a value; it raises what ``json.dumps`` raises.
    """
    careful = json.JSONEncoder(ensure_ascii=ensure_ascii)
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return careful.encode
    write_text = json.encoder.encode_basestring_ascii if ensure_ascii else json.encoder.encode_basestring
    pieces = make(None, careful.default, write_text, None, ": ", ", ", False, False, True)

    def write(value: Any) -> str:
        try:
            return "".join(pieces(value, 0))
        except RecursionError:
            return careful.encode(value)  # says of a value that contains itself that it does

    return write


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _encode_unusual(value: Any) -> bytes:
    """Encode what the fast encoder refuses: big integers, lone surrogates, unusual mappings, deep nesting."""
    try:
        clean = _clean(value)
        try:
            return orjson.dumps(clean, option=_OPTIONS)
        except TypeError:
            return json.dumps(clean, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except (RecursionError, ValueError) as error:
        raise InputError(
            f"value cannot be encoded as JSON ({error})", fix="Keep values shallow and free of cycles."
        ) from error


def _clean(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_clean_key(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    raise InputError(f"a {type(value).__name__} is not a JSON value", fix="Convert it before it is recorded.")


def _clean_key(key: Any) -> str:
    if not isinstance(key, str):
        raise InputError(f"object key {key!r} is a {type(key).__name__}", fix="Keys of JSON objects are strings.")
    return clean_text(key)


def clean_text(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates by U+FFFD, so that the text can be written as UTF-8.

    Args:
        text: Any Python string.

    Returns:
        The text itself where it has no surrogates.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
