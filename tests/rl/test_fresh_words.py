"""Other words in every trajectory: those that are said once they were read, and no others."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from simia_gym.rl.sft.fresh_words import FreshWords
from simia_gym.rl.sft.run import gather
from simia_gym.rl.sft.settings import SFTSettings
from simia_gym.types import Message

COLOURS = ("red", "green", "blue", "black", "white", "amber", "coral", "ivory")
WORDS = st.lists(st.sampled_from(COLOURS), min_size=1, max_size=6)


def talk(wanted: str, shown: str, said: str) -> list[Message]:
    return [
        {"role": "system", "content": "Choose what was asked for, such as amber."},
        {"role": "user", "content": f"please show me {wanted}"},
        {"role": "tool", "content": f"results: {shown}"},
        {"role": "assistant", "content": said},
    ]


def contents(messages: list[Message]) -> list[str]:
    return [str(message["content"]) for message in messages]


SEEN = [talk(colour, colour.capitalize(), f"certainly: {colour}") for colour in COLOURS]


@given(WORDS, st.integers(0, 99))
def test_what_was_the_same_is_the_same_again_and_what_differed_differs(words: list[str], seed: int) -> None:
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


def test_a_training_learns_from_fresh_words_and_looks_at_real_ones() -> None:
    told_of = SFTSettings(envs=("simia/webshop-v0",), policy="", trajectories=20, held_out=3, prompt="compact")
    plain, exchanged = gather(told_of), gather(replace(told_of, fresh_words=True))
    assert [item.messages for item in exchanged.held_out] == [item.messages for item in plain.held_out]
    assert all(before.messages != after.messages for before, after in zip(plain.train, exchanged.train, strict=True))
    assert gather(replace(told_of, fresh_words=True)) == exchanged
    for item in exchanged.train:
        query = item.messages[2]["content"].removeprefix("search[").removesuffix("]")
        assert all(word in item.messages[1]["content"] for word in query.split())
