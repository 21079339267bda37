"""The expert serves everybody; policies that do not know the rules fail where they must."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest

from simia_gym.envs.retail.expert_talk import LINES
from simia_gym.types import Calls, Message, Say, Task
from tests.retail.play import Play, fixed, forbidden, generated, rate, strings, suite

N = 250


@pytest.fixture(scope="module")
def many() -> list[Task]:
    return generated(N)


@pytest.mark.parametrize("name", ["expert", "thinker"])
def test_the_expert_succeeds_on_every_task(name: str, many: list[Task]) -> None:
    assert rate(name, [*fixed(), *many]) == 1.0


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
        assert "think>" not in json.dumps(other.episode.messages)
    assert {"cancel", "modify address", "lookup price", "swap", "return", "transfer", "no wish yet"} <= wishes


@pytest.mark.parametrize("name", ["null", "claimer", "random"])
def test_idlers_fail(name: str, many: list[Task]) -> None:
    assert rate(name, [*fixed(), *many]) <= 0.05


def test_pushover_fails_what_policy_forbids_and_succeeds_on_the_rest(many: list[Task]) -> None:
    assert rate("pushover", [task for task in [*fixed(), *many] if forbidden(task)]) == 0.0
    assert rate("pushover", [task for task in fixed() if not forbidden(task)]) == 1.0


def test_expert_is_causal_and_calls_one_tool_at_a_time() -> None:
    grammar = suite().domain.grammar
    checked = 0

    def watch(action: str, messages: Sequence[Message]) -> None:
        nonlocal checked
        parsed = grammar.parse(action)
        if isinstance(parsed, Say):
            return
        assert isinstance(parsed, Calls)
        assert (len(parsed.calls), parsed.text.strip()) == (1, "")
        seen = "\n".join(str(message["content"]) for message in messages)
        for text in strings(parsed.calls[0].arguments):
            assert text in seen, f"{parsed.calls[0].name}: {text!r} stood in no earlier message"
            checked += 1

    play = Play("expert")
    for index, task in enumerate([*fixed(), *generated(80)]):
        assert play(task, 1000 + index, watch=watch).success
    assert checked > 1000


def test_episodes_do_not_leak_into_each_other() -> None:
    task, another = fixed()[0], fixed()[2]
    play = Play("expert")
    play(task, 3)
    first = json.dumps(play.episode.messages)
    play(another, 3)
    play(task, 3)
    assert json.dumps(play.episode.messages) == first
