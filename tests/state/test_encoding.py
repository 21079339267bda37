from __future__ import annotations

import datetime
from types import MappingProxyType
from typing import Any

import pytest

from simia_gym.common.json_encoding import as_bytes, as_text, decode, encode
from simia_gym.errors import InputError
from simia_gym.state import freeze


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ({"b": 1, "a": [1.5, None, True]}, b'{"b":1,"a":[1.5,null,true]}'),
        ("ü\n\u2028", '"ü\\n\u2028"'.encode()),
        (2**64, b"18446744073709551616"),
        ({"n": -(2**80), "t": ("ü",)}, '{"n":-1208925819614629174706176,"t":["ü"]}'.encode()),
        (float("nan"), b"null"),
        ([float("inf"), 2**70], b"[null,1180591620717411303424]"),
        ("a\ud800b", b'"base64:Ye2ggGI="'),
        ({"\udfff": "\ud83d\ude00"}, '{"base64:7b+/":"\U0001f600"}'.encode()),
        (MappingProxyType({"a": (1, MappingProxyType({}))}), b'{"a":[1,{}]}'),
    ],
)
def test_bytes(value: Any, data: bytes) -> None:
    assert encode(value) == data
    assert encode(decode(data)) == data


BYTES = [b"", b"plain", "ü".encode(), b"\xff", b"\xfe", b"\xed\xa0\x80", b"a\x00b", "\ufffd".encode()]
BYTES += [b"base64:", b"base64:/w==", b"base64:oh!", as_text(b"base64:/w==").encode(), bytes(range(256))]


def test_different_bytes_are_different_texts() -> None:
    texts = [as_text(data) for data in BYTES]
    assert len({*texts}) == len(BYTES)
    assert [as_bytes(text) for text in texts] == BYTES
    assert [as_text(text) for text in texts] == texts
    halves = ["\ud800", "\ud801", "\udfff", "\ufffd", "a\ud800", "\ud800\ud800", "\udfff\ud800"]
    assert len({as_text(text) for text in halves}) == len({encode(text) for text in halves}) == len(halves)
    assert as_bytes("base64:oh!") == b"base64:oh!"


def test_order_of_keys_and_types_of_numbers_count() -> None:
    values = [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1.0, "b": 2}, {"a": True, "b": 2}]
    assert len({encode(value) for value in values}) == 4
    assert encode(freeze(values)) == encode(values)


@pytest.mark.parametrize("value", [{1: 2}, {1, 2}, object(), datetime.date(2024, 1, 1), [b"x"], {"a": 2**70, 5: 1}])
def test_what_is_not_json_is_refused(value: Any) -> None:
    with pytest.raises(InputError):
        encode(value)


def test_depth_is_bounded_by_a_clear_error() -> None:
    value: Any = []
    for _ in range(400):
        value = [value]
    assert decode(encode(value)) == value
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(InputError, match="cannot be encoded"):
        encode(loop)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "{", b"-Infinity"])
def test_decoding_is_strict(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"JSON|Expecting"):
        decode(text)
