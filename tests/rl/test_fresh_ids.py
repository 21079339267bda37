"""Other ids in every trajectory: alike, the same wherever they were the same, and nothing else changed."""

from __future__ import annotations

import json
import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia_gym.rl.sft.fresh_ids import with_fresh_ids
from simia_gym.types import Message

MIXED = st.builds(lambda tail: "B0" + tail, st.text("ABCXYZ0123456789", min_size=6, max_size=8))
NUMBER = st.integers(10_000, 10**10).map(str)
IDS = st.lists(MIXED | NUMBER, min_size=1, max_size=6)


def told(*texts: str) -> list[Message]:
    roles = ("user", "assistant")
    return [{"role": roles[place % 2], "content": text} for place, text in enumerate(texts)]


def contents(messages: list[Message]) -> list[str]:
    return [str(message["content"]) for message in messages]


@given(IDS, st.integers(0, 99))
def test_what_was_the_same_is_the_same_again_and_what_differed_differs(ids: list[str], seed: int) -> None:
    page = json.dumps({"found": ids, "lower": [item.lower() for item in ids]})
    seen, said = contents(with_fresh_ids(told(page, *(f"click[{item.lower()}]" for item in ids)), Random(seed)))[:2]
    fresh = json.loads(seen)
    assert [item.lower() for item in fresh["found"]] == fresh["lower"]
    assert said == f"click[{fresh['lower'][0]}]"
    assert len(set(fresh["found"])) == len(set(ids))
    for old, new in zip(ids, fresh["found"], strict=True):
        assert [c.isdigit() for c in new] == [c.isdigit() for c in old]
        assert new[:2] == old[:2] or old.isdigit()


@given(st.text())
def test_without_ids_nothing_changes(text: str) -> None:
    text = re.sub(r"[0-9]", "", text)
    assert contents(with_fresh_ids(told(text), Random(0))) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "$1189.59 goes back, or 1189.59, or 1,189 dollars",
        "in 2024, on 2025-01-31, at 10:45",
        "set of 2, 20 oz, page 1 of 50, item 123",
        "the Larkspur Drive",
    ],
)
def test_amounts_years_and_small_numbers_stay(text: str) -> None:
    assert contents(with_fresh_ids(told(text), Random(0))) == [text]


def test_names_stay_beside_their_numbers_and_rules_stay_whole() -> None:
    rules: Message = {"role": "system", "content": "Transfer order W1234567 to 55555."}
    talk = [rules, *told("I am nadia.novak5748@example.com", "nadia_novak_5748, order #W1234567, zip 55555, #W7654321")]
    first, *rest = contents(with_fresh_ids(talk, Random(3)))
    assert first == rules["content"]
    number = re.fullmatch(r"I am nadia\.novak([0-9]{4})@example\.com", rest[0])
    assert number is not None
    assert number[1] != "5748"
    assert re.fullmatch(rf"nadia_novak_{number[1]}, order #W1234567, zip 55555, #W7[0-9]{{6}}", rest[1])
    assert contents(with_fresh_ids(talk, Random(3))) == [first, *rest]
