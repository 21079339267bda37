"""JSON is read as the standard says, whatever its length."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia_gym.actions.strict_json import MAX_DEPTH, JsonProblem, decode_all, decode_at, skip_space

from . import JSON


@given(JSON, st.booleans(), st.text(" \t\n\r", max_size=3))
def test_what_is_written_is_read(value: object, escaped: bool, space: str) -> None:
    text = json.dumps(value, ensure_ascii=escaped)
    assert decode_all(f"{space}{text}{space}") == value
    assert decode_at(f"x{text} rest", 1) == (value, len(text) + 1)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"":', "}"), ("[ ", " ]")])
@pytest.mark.parametrize("inside", ["", "0"])
def test_the_deepest_nesting_is_the_same_for_every_way_of_writing(opening: str, closing: str, inside: str) -> None:
    inside = inside or ("[]" if opening[0] == "[" else "{}")
    own = inside != "0"
    decode_all(opening * (MAX_DEPTH - own) + inside + closing * (MAX_DEPTH - own))
    with pytest.raises(JsonProblem, match="nested deeper"):
        decode_all(opening * (MAX_DEPTH + 1 - own) + inside + closing * (MAX_DEPTH + 1 - own))


@given(st.text(" \t\n\r\v\u00a0\u2028x{", max_size=6), st.integers(0, 8))
def test_white_space_is_what_the_standard_calls_so(text: str, position: int) -> None:
    rest = text[position:]
    assert skip_space(text, position) == len(text) - len(rest.lstrip(" \t\n\r"))


@pytest.mark.parametrize("text", [r'{"a":1,"a":"\u003a"}', r'[{"a":1,"\u0061":":"}]', '{"b": {"a": 1, "a": 1}}'])
def test_a_key_occurs_once_in_an_object_however_it_is_written(text: str) -> None:
    for decode in (decode_all, lambda given: decode_at(given, 0)):
        with pytest.raises(JsonProblem, match="'a' occurs twice"):
            decode(text)


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e400", "[1e999]", "9" * 5_000])
def test_a_number_is_finite_and_has_an_end(text: str) -> None:
    with pytest.raises(JsonProblem):
        decode_all(text)


@pytest.mark.parametrize("number", ["12345678901234567890123", "-0", "9007199254740993.0", "1.50"])
def test_numbers_are_what_python_reads(number: str) -> None:
    assert repr(decode_all(number)) == repr(json.loads(number))
