"""A prompt grows, and its forks grow apart."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from simia_gym.llm.prompt import Prompt

WORDS = st.lists(st.text(max_size=5), max_size=4)


def prompt_of(words: list[str]) -> Prompt:
    prompt = Prompt()
    for word in words:
        prompt.add("user", word)
    return prompt


@given(WORDS, WORDS, WORDS, st.booleans(), st.booleans())
def test_forks_are_hashed_as_if_they_had_grown_alone(
    common: list[str], left: list[str], right: list[str], before: bool, between: bool
) -> None:
    trunk = prompt_of(common)
    if before:
        assert trunk.digest == prompt_of(common).digest
    one, other = trunk.fork(), trunk.fork()
    for word in left:
        one.add("user", word)
    if between:
        assert one.digest == prompt_of(common + left).digest
    for word in right:
        other.add("user", word)
        assert len(other.digest) == 16
    for prompt, words in ((one, common + left), (other, common + right), (trunk, common)):
        assert prompt.digest == prompt_of(words).digest
        assert [message["content"] for message in json.loads(prompt.messages_json())] == words
        assert prompt.size == len(prompt.messages_json()) - 2
