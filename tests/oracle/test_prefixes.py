"""Conversations are worked out once, and prefixes are counted."""

from __future__ import annotations

from simia_gym.oracle.prefixes import Conversations, PrefixCache
from simia_gym.oracle.reading import Said


def test_each_message_is_worked_out_once() -> None:
    worked: list[str] = []

    def step(before: tuple[str, ...], said: Said) -> tuple[str, ...]:
        worked.append(said.text)
        return (*before, said.text)

    talk: Conversations[tuple[str, ...]] = Conversations()
    turns = [Said("user", "a"), Said("assistant", "-"), Said("user", "b")]
    assert talk.fold("x", tuple, turns[:1], step) == ("a",)
    assert talk.fold("x", tuple, turns, step) == ("a", "b")
    assert talk.fold("x", tuple, [*turns, Said("user", "a")], step) == ("a", "b", "a")
    assert worked == ["a", "b", "a"]
    assert talk.fold("y", tuple, turns, step) == ("a", "b")
    assert talk.fold("x", tuple, [Said("user", "b")], step) == ("b",)
    assert worked == ["a", "b", "a", "a", "b", "b"]


def test_only_a_common_beginning_counts() -> None:
    cache = PrefixCache()
    text = bytes(range(256)) * 8
    assert cache.cached(text) == 0
    assert cache.cached(text) == 2048
    assert cache.cached(text[:1024] + b"other" + text[1024:]) == 1024
    assert cache.cached(b"x" + text) == 0
