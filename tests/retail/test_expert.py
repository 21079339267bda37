"""The expert serves everybody; policies that do not know the rules fail where they must."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from simia_gym.envs.retail.expert_talk import LINES
from simia_gym.types import Calls, Message, Say, Task
from tests.retail.play import Play, fixed, forbidden, generated, rate, suite

N = 250


@pytest.fixture(scope="module")
def many() -> list[Task]:
    return generated(N)


@pytest.mark.parametrize("name", ["expert", "thinker"])
def test_expert_succeeds_on_fixed_tasks(name: str) -> None:
    assert rate(name, fixed()) == 1.0


@pytest.mark.parametrize("name", ["expert", "thinker"])
def test_expert_succeeds_on_generated_tasks(name: str, many: list[Task]) -> None:
    assert rate(name, many) == 1.0


def test_the_thinker_is_the_expert_with_a_note_in_front_of_each_action() -> None:
    one, other = Play("expert"), Play("thinker")
    wishes: set[str] = set()
    for index, task in enumerate([*fixed(), *generated(80)]):
        actions: list[str] = []
        said: list[str] = []

        def listen(action: str, messages: Sequence[Message], said: list[str] = said) -> None:
            said.append(action)

        def watch(action: str, messages: Sequence[Message], actions: list[str] = actions) -> None:
            note, end, rest = action.partition("</think>\n")
            assert end
            seen = "\n".join(str(message["content"]) for message in messages)
            for order in re.findall(r"#W\d+", note):
                assert order in seen
            wishes.add(note.removeprefix("<think>").partition(",")[0])
            refuses = any(rest.startswith(words.partition("{")[0]) for words in LINES["sorry"])
            assert note.endswith(", refuse") or not refuses
            actions.append(rest)

        assert one(task, index, watch=listen).success
        assert other(task, index, watch=watch).success
        assert actions == said
    assert {"cancel", "modify address", "lookup price", "swap", "return", "transfer", "no wish yet"} <= wishes


def test_what_the_thinker_notes_is_seen_by_nobody() -> None:
    play = Play("thinker")
    for task in fixed()[:20]:
        play(task)
        assert "told order" not in json.dumps(play.episode.messages)
        assert "think>" not in json.dumps(play.episode.messages)


@pytest.mark.parametrize("name", ["null", "claimer", "random"])
def test_idlers_fail(name: str, many: list[Task]) -> None:
    assert rate(name, fixed()) <= 0.05
    assert rate(name, many) <= 0.05


def test_pushover_fails_whatever_policy_forbids(many: list[Task]) -> None:
    assert rate("pushover", [task for task in fixed() if forbidden(task)]) == 0.0
    assert rate("pushover", [task for task in many if forbidden(task)]) == 0.0


def test_pushover_succeeds_on_the_rest() -> None:
    assert rate("pushover", [task for task in fixed() if not forbidden(task)]) == 1.0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_wording_does_not_decide(seed: int) -> None:
    play = Play("expert")
    assert all(play(task, seed * 1000 + i).success for i, task in enumerate(fixed()))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def test_expert_is_causal() -> None:
    grammar = suite().domain.grammar
    checked = 0

    def watch(action: str, messages: Sequence[Message]) -> None:
        nonlocal checked
        parsed = grammar.parse(action)
        if not isinstance(parsed, Calls):
            return
        seen = "\n".join(str(message["content"]) for message in messages)
        for call in parsed.calls:
            for text in _texts(call.arguments):
                assert text in seen, f"{call.name}: {text!r} stood in no earlier message"
                checked += 1

    play = Play("expert")
    for index, task in enumerate([*fixed(), *generated(80)]):
        assert play(task, index, watch=watch).success
    assert checked > 1000


def test_expert_says_or_calls_and_never_both() -> None:
    grammar = suite().domain.grammar

    def watch(action: str, messages: Sequence[Message]) -> None:
        parsed = grammar.parse(action)
        assert isinstance(parsed, Say | Calls)
        if isinstance(parsed, Calls):
            assert len(parsed.calls) == 1
            assert not parsed.text.strip()
            assert action.startswith("<tool_call>")

    play = Play("expert")
    for task in fixed():
        play(task, watch=watch)


def test_same_seed_same_record() -> None:
    one, other = Play("expert"), Play("expert")
    for task in fixed()[:10]:
        one(task, 5)
        other(task, 5)
        assert one.episode.ledger.head == other.episode.ledger.head


def test_episodes_do_not_leak_into_each_other() -> None:
    task, another = fixed()[0], fixed()[2]
    play = Play("expert")
    play(task, 3)
    first = json.dumps(play.episode.messages)
    play(another, 3)
    play(task, 3)
    assert json.dumps(play.episode.messages) == first


def test_lines_vary() -> None:
    assert all(len(wordings) >= 3 for wordings in LINES.values())
    said: set[str] = set()
    play = Play("expert")
    for seed in range(12):
        play(fixed()[0], seed)
        said.update(str(m["content"]) for m in play.episode.messages if m["role"] == "assistant")
    assert len(said) > 10
