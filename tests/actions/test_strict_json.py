"""JSON is read as the standard says, whatever its length."""

from __future__ import annotations

import json
from collections.abc import Callable
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simia_gym.actions import strict_json
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


MARKS = ["{", "}", "[", "]", ",", ":", " ", "\n", "\u00a0", "-", "[" * 40, "]" * 40]
TEXTS = ['"a"', '"a":', '"b:c"', r'"\u003a"', r'"\ud800"', r'"\u00e9"']
ATOMS = ["0", "-0", "1.50", "1e400", "12345678901234567890123", "9007199254740993.0", "true", "null", "NaN"]
PIECES = st.sampled_from(MARKS + TEXTS + ATOMS)


@example(r'{"a":1,"a":"\u003a"}')
@example(r'[{"a":1,"a":"\u003A"}]')
@given(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=30))
def test_the_fast_way_reads_what_the_careful_way_reads(text: str) -> None:
    def carefully() -> object:
        with patch.object(strict_json, "_SCAN", strict_json._CAREFUL_SCAN):
            value, end = decode_at(text, skip_space(text, 0))
        if skip_space(text, end) < len(text):
            raise JsonProblem("Extra data", skip_space(text, end))
        return value

    def outcome(read: Callable[[], object]) -> tuple[str, object]:
        try:
            return "value", repr(read())
        except JsonProblem as problem:
            return "problem", (str(problem), problem.position)

    assert outcome(lambda: decode_all(text)) == outcome(carefully)
