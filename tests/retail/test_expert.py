"""The expert serves everybody; policies that do not know the rules fail where they must."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from simia_gym.types import Calls, Message, Say
from tests.retail.play import Play, fixed, forbidden, generated, rate, strings, suite


def test_the_expert_succeeds_on_what_it_was_told_and_the_thinker_adds_a_note_to_each_action() -> None:
    """Each action of the expert is one call or words; each argument stood in an earlier message."""
    grammar = suite().domain.grammar
    one, other = Play("expert"), Play("thinker")
    said: list[str] = []
    noted: list[str] = []
    checked = 0

    def listen(action: str, messages: Sequence[Message]) -> None:
        nonlocal checked
        said.append(action)
        parsed = grammar.parse(action)
        if isinstance(parsed, Say):
            return
        assert isinstance(parsed, Calls)
        assert (len(parsed.calls), parsed.text.strip()) == (1, "")
        seen = "\n".join(str(message["content"]) for message in messages)
        if "summary" in parsed.calls[0].arguments:  # in the agent's own words
            return
        for text in strings(parsed.calls[0].arguments):
            assert text in seen, f"{parsed.calls[0].name}: {text!r} stood in no earlier message"
            checked += 1

    def watch(action: str, messages: Sequence[Message]) -> None:
        note, end, rest = action.partition("</think>\n")
        assert end
        seen = "\n".join(str(message["content"]) for message in messages)
        assert all(order in seen for order in re.findall(r"#W\d+", note))
        noted.append(rest)

    for index, task in enumerate([*fixed(), *generated(250)]):
        assert one(task, index, watch=listen).success, task.id
        assert other(task, index, watch=watch).success, task.id
        assert noted == said
        assert "think>" not in json.dumps(other.episode.messages)
    assert checked > 3000


def test_pushover_fails_what_policy_forbids_and_succeeds_on_the_rest() -> None:
    assert rate("pushover", [task for task in [*fixed(), *generated(250)] if forbidden(task)]) == 0.0
    assert rate("pushover", [task for task in fixed() if not forbidden(task) and task.kind != "transfer"]) == 1.0


def test_episodes_do_not_leak_into_each_other() -> None:
    task, another = fixed()[0], fixed()[2]
    play = Play("expert")
    play(task, 3)
    first = json.dumps(play.episode.messages)
    play(another, 3)
    play(task, 3)
    assert json.dumps(play.episode.messages) == first
