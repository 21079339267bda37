"""JSON is read as the standard says, whatever its length."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia_gym.actions.strict_json import MAX_DEPTH, JsonProblem, decode_all, decode_at, skip_space

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(VALUES, st.booleans(), st.text(" \t\n\r", max_size=3))
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


@pytest.mark.parametrize("before", ["", "a" * 500, "\\u00e9\\n"])
@pytest.mark.parametrize("half", ["\\ud800", "\\uD800", "\\udfff", "\\uDcFf"])
def test_half_a_surrogate_pair_is_replaced_wherever_it_stands(before: str, half: str) -> None:
    (read,) = decode_all(f'["{before}{half}"]')
    assert read.endswith("\ufffd")


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("", "Expecting value", 0),
        ("[1, ]", "Expecting value", 4),
        ("nul", "Expecting value", 0),
        ('{"a": 1, "a": 2}', "Key 'a' occurs twice in one object", None),
        ("[NaN]", "NaN is not JSON", None),
        ("[1e999]", "Number 1e999 is too large", None),
        ('["a', "Unterminated string starting", 1),
        ("1 2", "Extra data", 2),
        ("9" * 5000, "A number has too many digits", None),
    ],
)
def test_mistakes_have_words_and_a_place(text: str, message: str, position: int | None) -> None:
    with pytest.raises(JsonProblem) as caught:
        decode_all(text)
    assert (caught.value.message, caught.value.position) == (message, position)


@given(st.text(" \t\n\r\v\u00a0\u2028x{", max_size=6), st.integers(0, 8))
def test_white_space_is_what_the_standard_calls_so(text: str, position: int) -> None:
    rest = text[position:]
    assert skip_space(text, position) == len(text) - len(rest.lstrip(" \t\n\r"))
