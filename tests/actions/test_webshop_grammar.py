"""The grammar `webshop`."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia_gym.actions import get_grammar
from simia_gym.envs.webshop.grammar import available_actions
from simia_gym.errors import ActionError, InputError
from simia_gym.types import Calls, JsonObject, ToolCall

from . import FUZZ, WEBSHOP

GRAMMAR = get_grammar(WEBSHOP)


def search(words: str) -> ToolCall:
    return ToolCall("search", {"keywords": words})


def click(value: str) -> ToolCall:
    return ToolCall("click", {"value": value})


@pytest.mark.parametrize(
    ("text", "calls", "beside"),
    [
        ("search[red shoes]", [search("red shoes")], ""),
        ("Thought:\nA lamp.\n\nAction:\nsearch[ lamp ]", [search("lamp")], "Thought:\nA lamp."),
        ("thought: go\naction: click[< Prev]", [click("< Prev")], "thought: go"),
        ("Thought: or click[x]\nclick[y] maybe\nAction:\nsearch[z]", [search("z")], None),
        ("search[a]\nclick[b]", [search("a"), click("b")], ""),
        ("search[a] click[b], click[c]", [search("a"), click("b"), click("c")], ""),
        ("click[size [large]]", [click("size [large]")], ""),
        ("search[how to click[here]]", [search("how to click[here]")], ""),
        ("search[shoes] to see [some]", [search("shoes")], "to see [some]"),
        ("<think>click[a]</think>search[b]", [search("b")], ""),
        ("**Action:** `search[b]`", [search("b")], "`"),
        ("search[a]\r\nclick[b]\r\n", [search("a"), click("b")], ""),
    ],
)
def test_reads(text: str, calls: list[ToolCall], beside: str | None) -> None:
    action = GRAMMAR.parse(text)
    assert isinstance(action, Calls)
    assert list(action.calls) == calls
    if beside is not None:
        assert action.text == beside


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty_action"),
        ("<think>search[a]", "empty_action"),
        ("I have done it.", "no_action"),
        ("Let me search[a] now", "no_action"),
        ("click[a]\nAction:\n", "no_action"),
        ("search[a", "unclosed_call"),
        ("click[a search[b]", "unclosed_call"),
        ("search[ ]", "bad_arguments"),
        ('<tool_call>{"name": "search", "arguments": {"keywords": "a"}}</tool_call>', "no_action"),
    ],
)
def test_refuses(text: str, code: str) -> None:
    with pytest.raises(ActionError) as caught:
        GRAMMAR.parse(text)
    assert caught.value.code == code
    example = caught.value.message.split("for example:\n")[1]
    assert isinstance(GRAMMAR.parse(example), Calls)


CALLS = st.lists(
    st.builds(search, st.text()) | st.builds(click, st.text() | st.sampled_from(["a [b]", "]", "[x", "Action: y"]))
)


@FUZZ
@given(CALLS, st.sampled_from(["", "Thought:\nBuy it."]))
def test_rendered_calls_read_back_or_are_refused(calls: list[ToolCall], text: str) -> None:
    action = Calls(tuple(calls), text)
    try:
        written = GRAMMAR.render(action)
    except InputError:
        return
    assert GRAMMAR.parse(written) == action


def page(clickables: list[str], bar: bool) -> JsonObject:
    line = json.dumps({"has_search_bar": bar, "clickables": clickables})
    return {
        "role": "user",
        "content": f"Instruction: [SEP] a crimson teapot [SEP] Search\n\nAvailable Actions:\n{line}",
    }


def test_samples_use_the_page() -> None:
    start = [{"role": "system", "content": "Available Actions: {}"}, page(["search"], True)]
    later = [*start, page(["Buy Now", "< Prev"], False)]
    searches = {GRAMMAR.sample(random.Random(seed), [], (), start) for seed in range(30)}
    assert all(text.startswith("search[") for text in searches)
    assert any("teapot" in text for text in searches)
    drawn = [GRAMMAR.sample(random.Random(seed), [], (), later) for seed in range(200)]
    assert {text for text in drawn if not text.startswith("search[")} == {"click[Buy Now]", "click[< Prev]"}
    assert 60 < sum(text.startswith("search[") for text in drawn) < 140
    assert GRAMMAR.sample(random.Random(0), [], ("click[a]",)) == "click[a]"
    assert isinstance(GRAMMAR.parse(GRAMMAR.sample(random.Random(0), [])), Calls)


def test_available_actions_survive_broken_lines() -> None:
    assert available_actions([{"role": "user", "content": "Available Actions:\n{broken"}]) == {}
    assert available_actions([{"role": "user", "content": None}]) == {}
