"""Canonical JSON: equal values give equal bytes.

Hash chains, content keys and record lines are made from these bytes, so the bytes depend on the value alone: compact
separators, UTF-8, the value's own key order. Values that JSON cannot hold are replaced: a text with lone surrogates as
`as_text` says, NaN and the infinities by null. Decoding the bytes and encoding the result gives the same bytes.
"""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, NoReturn

import orjson

from simia_gym.errors import InputError

# Dataclasses and dates are refused: they have several sensible JSON forms, and the caller has to choose one.
_OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def encode(value: Any) -> bytes:
    """Encode a JSON value as canonical bytes: compact UTF-8 with the value's own key order.

    Raises:
        InputError: The value contains something that JSON cannot hold, or is nested too deeply.
    """
    try:
        return orjson.dumps(value, option=_OPTIONS)
    except TypeError:
        return _encode_unusual(value)


def hash_of(data: bytes) -> str:
    """SHA-256 of bytes, such as the result of `encode`, as 64 hex digits."""
    return sha256(data).hexdigest()


def decode(data: bytes | str) -> Any:
    """Decode JSON without loss: integers of any size stay integers, and NaN is refused with a `ValueError`."""
    return json.loads(data, parse_constant=_refuse_constant)


def decode_fast(data: bytes | str) -> Any:
    """Decode JSON as `decode` does, several times as fast; half of a character is refused, too.

    Raises:
        json.JSONDecodeError: It is not JSON.
        ValueError: It has a NaN, and an integer of many digits elsewhere.
        RecursionError: It is nested too deeply, and has an integer of many digits.
    """
    digits = (data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data).translate(_DIGITS)
    return decode(data) if _MANY in digits else orjson.loads(data)


_DIGITS = bytes(ord("0") if chr(byte).isdecimal() and byte < 128 else ord(" ") for byte in range(256))
_MANY = b"0" * 19
"""So many digits may be an integer that `orjson` rounds."""


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _encode_unusual(value: Any) -> bytes:
    """Encode values that `orjson` refuses: big integers, lone surrogates, unusual mappings, deep nesting."""
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
        return as_text(value)
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
    return as_text(key)


BASE64 = "base64:"
"""The beginning of a text that stands for bytes which are no text."""


def as_text(data: bytes | str) -> str:
    """Write bytes as text, one rule for all that is recorded or shown: UTF-8 is decoded, all else is in base64.

    Different bytes give different texts; `as_bytes` is the inverse.

    Args:
        data: Bytes; or a text. A text with lone surrogates, such as half of an emoji, is no text: its characters are
            written as bytes (UTF-8, surrogates too) in base64. Any other text stays as it is.

    Returns:
        The text; ``base64:`` and the bytes in base64 if they are not UTF-8, or begin with ``base64:`` themselves.
    """
    if isinstance(data, str):
        if data.isascii():
            return data
        try:
            data.encode()
            return data
        except UnicodeEncodeError:
            # Two surrogates that form a pair are one character, as in JSON.
            joined = data.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
            data = joined.encode("utf-8", "surrogatepass")
    try:
        text = data.decode()
        if not text.startswith(BASE64):
            return text
    except UnicodeDecodeError:
        pass
    return BASE64 + b64encode(data).decode()


def texts_in(value: Any, *, keys: bool = False) -> Iterator[str]:
    """Every text in a JSON value; those of its keys only with ``keys``."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if keys:
                yield str(key)
            yield from texts_in(item, keys=keys)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_in(item, keys=keys)


def as_bytes(text: str) -> bytes:
    """The bytes that `as_text` has written as this text."""
    if text.startswith(BASE64):
        try:
            return b64decode(text.removeprefix(BASE64), validate=True)
        except ValueError:
            pass  # a text that was never bytes
    return text.encode("utf-8", "surrogatepass")
