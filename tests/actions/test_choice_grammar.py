"""The grammar of pages with lettered elements: a letter, an action, a value."""

from __future__ import annotations

import random
from typing import Any

import pytest

from simia_gym.actions import Grammar
from simia_gym.envs.mind2web.choice_grammar import ChoiceGrammar
from simia_gym.errors import ActionError, InputError
from simia_gym.types import Calls, End, ToolCall


def click(choice: str, **more: Any) -> ToolCall:
    return ToolCall("click", {"choice": choice, **more})


def select(choice: str, value: str) -> ToolCall:
    return ToolCall("select", {"choice": choice, "value": value})


def typing(choice: str, value: str) -> ToolCall:
    return ToolCall("type", {"choice": choice, "value": value})


MORE, DONE = ToolCall("more", {}), ToolCall("done", {})
OURS, PUBLISHED = ChoiceGrammar(), ChoiceGrammar().with_options({"compat": "mind2web", "top_k": 50})


@pytest.mark.parametrize(
    ("text", "call", "thought"),
    [
        ("Answer: C.\nAction: SELECT\nValue: Pickup", select("C", "Pickup"), ""),
        ("Thought: The list.\nAnswer: C.\nAction: SELECT\nValue:  Pick up ", select("C", "Pick up"), "The list."),
        ("Answer: B.\nAction: CLICK", click("B"), ""),
        ("Answer: B.\nAction: CLICK\nValue: None", click("B"), ""),
        ("Answer: Z\nAction: TYPE\nValue: a: 'b' <c>", typing("Z", "a: 'b' <c>"), ""),
        ("Answer: D.\nAction: TYPE\nValue:", typing("D", ""), ""),
        ("Answer: D. Action: TYPE Value: red lamp", typing("D", "red lamp"), ""),
        ("**Thought:** So.\n**Answer:** D.\n**Action:** TYPE\n**Value:** *x*", typing("D", "*x*"), "So."),
        ("The ANSWER: (D)\naction: click", click("D"), "The"),
        ("Answer: A.", MORE, ""),
        ("Answer: A. None of the above\nAction: CLICK", MORE, ""),
        ("Answer: A.\nAction: DONE", DONE, ""),
        ("Answer: A.\nAction: DONE\nValue: 3 March", ToolCall("done", {"answer": "3 March"}), ""),
        ("<think>Answer: B.\nAction: CLICK</think>Answer: C.\nAction: CLICK", click("C"), ""),
        ("Action: TYPE\nValue: x\nAnswer: C.\nAction: CLICK", click("C"), "Action: TYPE\nValue: x"),
        ("Answer: C.\nAction: CLICK\n\nNew page.\nAnswer: D.\nAction: TYPE\nValue: x", click("C"), ""),
        ("The answer: a lamp. Answer: C.\nAction: CLICK", click("C"), "The answer: a lamp."),
    ],
)
def test_what_is_read(text: str, call: ToolCall, thought: str) -> None:
    read = OURS.parse(text)
    assert isinstance(read, Calls)
    assert (read.calls, read.text) == ((call,), thought)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty_action"),
        ("<think>Answer: B.\nAction: CLICK</think>", "empty_action"),
        ("I press the third.", "no_answer"),
        ("Answer: None of the above", "no_answer"),
        ("Answer: 3\nAction: CLICK", "no_answer"),
        ("Answer: C.", "no_action"),
        ("Action: CLICK\nAnswer: C.", "no_action"),
        ("Answer: C.\nAction: HOVER", "unknown_action"),
        ("Answer: C.\nAction: SELECT", "bad_arguments"),
        ("Value: x\nAnswer: C.\nAction: TYPE", "bad_arguments"),
        ("Answer: C.\nAction: DONE", "bad_arguments"),
    ],
)
def test_what_is_refused_and_what_it_is_as_published(text: str, code: str) -> None:
    with pytest.raises(ActionError) as caught:
        OURS.parse(text)
    assert caught.value.code == code
    assert "Answer: C.\nAction: SELECT\nValue: Pickup" in str(caught.value)
    read = PUBLISHED.parse(text)
    assert isinstance(read, Calls)


@pytest.mark.parametrize(
    ("text", "call", "thought"),
    [
        ("", MORE, ""),
        ("The third one", MORE, "The third one"),
        ("Answer: G.\nAction: CLICK", MORE, "Answer: G.\nAction: CLICK"),
        ("Thought: so\nAnswer: F.\nAction: CLICK\nValue: x", click("F"), "so"),
        ("Answer: C.", click("C", op=""), ""),
        ("Answer: C.\nAction: HOVER", click("C", op=""), ""),
        ("Answer: C.\nAction: TYPE", typing("C", ""), ""),
        ("Action: TYPE\nValue: x\nAnswer: C.\nAction: CLICK", typing("C", "x"), "Action: TYPE\nValue: x"),
        ("Answer: A.\nAction: DONE", DONE, ""),
        ("Answer: A.\nAction: DONE\nValue: 3", ToolCall("done", {"answer": "3"}), ""),
        ("So.\nAnswer: A.\nAction: DONE", MORE, "So."),
        ("<think>Answer: B.</think>Answer: C.\nAction: CLICK", click("C"), ""),
    ],
)
def test_what_is_read_as_published(text: str, call: ToolCall, thought: str) -> None:
    assert PUBLISHED.parse(text) == Calls((call,), thought)


CALLS = [click("B"), select("C", "East: branch"), typing("D", ""), typing("Z", "*a* 'b'"), MORE]


@pytest.mark.parametrize("thought", ["", "I look.", "Two\nlines: Value: x"])
@pytest.mark.parametrize("call", [*CALLS, DONE, ToolCall("done", {"answer": "42"})])
def test_what_is_written_is_read(call: ToolCall, thought: str) -> None:
    action = Calls((call,), thought)
    assert OURS.parse(OURS.render(action)) == action


def test_an_answer_that_says_nothing_is_left_out() -> None:
    assert OURS.render(Calls((ToolCall("done", {"answer": ""}),))) == "Answer: A.\nAction: DONE"


@pytest.mark.parametrize("call", [*(each for each in CALLS if each.arguments.get("choice") != "Z"), click("C", op="")])
def test_what_is_written_is_read_as_published(call: ToolCall) -> None:
    action = Calls((call,), "I look.")
    assert PUBLISHED.parse(PUBLISHED.render(action)) == action


@pytest.mark.parametrize(
    "action",
    [
        End("done"),
        Calls(()),
        Calls((MORE, MORE)),
        Calls((click("AB"),)),
        Calls((click("C", op=""),)),
        Calls((typing("C", "two\nlines"),)),
        Calls((typing("C", " space"),)),
        Calls((ToolCall("search", {"keywords": "x"}),)),
        Calls((click("B"),), "Not Answer: C."),
    ],
)
def test_what_cannot_be_written_is_no_action(action: Any) -> None:
    with pytest.raises(InputError):
        OURS.render(action)


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("grammar", [OURS, PUBLISHED])
def test_the_instructions_name_the_form(grammar: Grammar, compact: bool) -> None:
    text = grammar.instructions([], compact)
    assert "Answer: C.\nAction: SELECT\nValue: Pickup" in text
    assert ("DONE" in text) is (grammar is OURS)
    assert len(OURS.instructions([], compact=True)) < len(OURS.instructions([]))


PAGE = """Previous actions:
None

A. None of the above
B. <button id=0> Send </button>
C. <select id=1 branch> East West </select>
D. <input id=2 title />

End your reply."""


def test_samples_are_actions_on_the_newest_page() -> None:
    messages = [{"role": "user", "content": PAGE.replace("B. <", "X. <")}, {"role": "user", "content": PAGE},
                {"role": "user", "content": "Error: no such choice."}]  # fmt: skip
    seen = set()
    for seed in range(200):
        read = OURS.parse(OURS.sample(random.Random(seed), [], ["Answer: A.\nAction: DONE"], messages))
        assert isinstance(read, Calls)
        (call,) = read.calls
        seen.add((call.name, call.arguments.get("choice")))
        if call.name == "select":
            assert call.arguments["value"] in ("select", "branch", "East", "West")
    assert seen == {("click", "B"), ("select", "C"), ("type", "D"), ("click", "D"), ("more", None), ("done", None)}
    assert OURS.sample(random.Random(1), []) == "Answer: A."
