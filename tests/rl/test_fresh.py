"""Other ids and words in every trajectory: the same wherever they were the same, and nothing else changed."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia_gym.rl.sft.fresh_ids import FreshIds
from simia_gym.rl.sft.fresh_words import FreshWords
from simia_gym.rl.sft.run import gather
from simia_gym.rl.sft.settings import SFTSettings
from simia_gym.types import Message

MIXED = st.builds(lambda tail: "B0" + tail, st.text("ABCXYZ0123456789", min_size=6, max_size=8))
NUMBER = st.integers(10_000, 10**10).map(str)
IDS = st.lists(MIXED | NUMBER, min_size=1, max_size=6)


def told(*texts: str) -> list[Message]:
    roles = ("user", "assistant")
    return [{"role": roles[place % 2], "content": text} for place, text in enumerate(texts)]


def fresh(messages: list[Message], random: Random) -> list[Message]:
    return FreshIds([messages], random).of(messages)


def contents(messages: list[Message]) -> list[str]:
    return [str(message["content"]) for message in messages]


@given(IDS, st.integers(0, 99))
def test_what_was_the_same_is_the_same_again_and_what_differed_differs(ids: list[str], seed: int) -> None:
    text = json.dumps({"found": ids, "lower": [item.lower() for item in ids]})
    seen, said = contents(fresh(told(text, *(f"click[{item.lower()}]" for item in ids)), Random(seed)))[:2]
    page = json.loads(seen)
    assert [item.lower() for item in page["found"]] == page["lower"]
    assert said == f"click[{page['lower'][0]}]"
    assert len(set(page["found"])) == len(set(ids))
    for old, new in zip(ids, page["found"], strict=True):
        assert (len(new), new.isdigit()) == (len(old), old.isdigit())
        assert new[:2] == old[:2] or old.isdigit()


@given(st.text())
def test_without_ids_nothing_changes(text: str) -> None:
    text = re.sub(r"[0-9]", "", text)
    assert contents(fresh(told(text), Random(0))) == [text]


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
    assert contents(fresh(told(text), Random(0))) == [text]


def test_names_stay_beside_their_numbers_and_rules_stay_whole() -> None:
    rules: Message = {"role": "system", "content": "Transfer order W1234567 to 55555."}
    talk = [rules, *told("I am nadia.novak5748@example.com", "nadia_novak_5748, order #W1234567, zip 55555, #W7654321")]
    first, *rest = contents(fresh(talk, Random(3)))
    assert first == rules["content"]
    number = re.fullmatch(r"I am nadia\.novak([0-9]{4})@example\.com", rest[0])
    assert number is not None
    assert number[1] != "5748"
    assert re.fullmatch(rf"nadia_novak_{number[1]}, order #W1234567, zip 55555, #W7[0-9]{{6}}", rest[1])
    assert contents(fresh(talk, Random(3))) == [first, *rest]


def test_ids_come_from_the_other_conversations() -> None:
    talks = [told(f"click[b0{number:06d}xy] and B0{number:06d}XY") for number in range(50)]
    source = FreshIds(talks, Random(0))
    known = {f"b0{number:06d}xy" for number in range(50)}
    drawn = [contents(source.of(talk))[0] for talk in talks]
    found = [re.fullmatch(r"click\[(\w+)\] and (\w+)", text) for text in drawn]
    assert all(match is not None and match[1].upper() == match[2] and match[1] in known for match in found)
    assert sum(text == contents(talk)[0] for text, talk in zip(drawn, talks, strict=True)) < 10


@pytest.mark.parametrize("fresh", ["fresh_ids", "fresh_words"])
def test_a_training_learns_from_fresh_ones_and_looks_at_real_ones(fresh: str) -> None:
    told_of = SFTSettings(envs=("simia/webshop-v0",), policy="", trajectories=20, held_out=3, prompt="compact")
    asked: dict[str, Any] = {fresh: True}
    plain, exchanged = gather(told_of), gather(replace(told_of, **asked))
    assert [item.messages for item in exchanged.held_out] == [item.messages for item in plain.held_out]
    pairs = list(zip(plain.train, exchanged.train, strict=True))
    assert [before.task for before, _ in pairs] == [after.task for _, after in pairs]
    assert sum(before.messages != after.messages for before, after in pairs) > 15
    assert gather(replace(told_of, **asked)) == exchanged
    for item in exchanged.train:
        query = item.messages[2]["content"].removeprefix("search[").removesuffix("]")
        assert all(word in item.messages[1]["content"] for word in query.split())


COLOURS = ("red", "green", "blue", "black", "white", "amber", "coral", "ivory")
WORDS = st.lists(st.sampled_from(COLOURS), min_size=1, max_size=6)


def talk(wanted: str, shown: str, said: str) -> list[Message]:
    return [
        {"role": "system", "content": "Choose what was asked for, such as amber."},
        {"role": "user", "content": f"please show me {wanted}"},
        {"role": "tool", "content": f"results: {shown}"},
        {"role": "assistant", "content": said},
    ]


SEEN = [talk(colour, colour.capitalize(), f"certainly: {colour}") for colour in COLOURS]


@given(WORDS, st.integers(0, 99))
def test_equal_words_stay_equal_and_different_ones_different(words: list[str], seed: int) -> None:
    source = FreshWords(SEEN, Random(seed))
    asked, shown, said = (" ".join(way(word) for word in words) for way in (str.lower, str.capitalize, str.upper))
    first, *others = contents(source.of(talk(asked, shown, said)))
    assert first == "Choose what was asked for, such as amber."
    new = others[0].removeprefix("please show me ").split()
    assert others[1] == f"results: {' '.join(word.capitalize() for word in new)}"
    assert others[2] == " ".join(word.upper() for word in new)
    assert len(set(new)) == len(set(words))
    assert all((before == "amber") == (after == "amber") for before, after in zip(words, new, strict=True))
    assert set(new) <= set(COLOURS)


def test_common_words_rules_and_what_is_said_unread_stay() -> None:
    text = contents(FreshWords(SEEN, Random(0)).of(talk("some paint", "please", "certainly: amber, B0amber, ambers")))
    assert text[1:] == ["please show me some paint", "results: please", "certainly: amber, B0amber, ambers"]
