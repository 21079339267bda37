"""The grammar `tools`: every shape of call that models write, every way to get it wrong."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia_gym.actions import get_grammar, strip_thinking
from simia_gym.actions.thinking import THINKING
from simia_gym.actions.tools_grammar import ToolsGrammar
from simia_gym.errors import ActionError, InputError
from simia_gym.types import Action, Calls, JsonObject, Say, ToolCall

from ..work import processor_limit
from . import FUZZ, JSON, WEBSHOP

GRAMMAR = get_grammar("tools")
CALL = '<tool_call>\n{"name": "get_order", "arguments": {"id": "#W1"}}\n</tool_call>'
ORDER = ToolCall("get_order", {"id": "#W1"})
SHOWN = {"id": {"type": "string", "x-note": 1}, "x-ray": {"type": "boolean"}}
PAID = {
    "how": {"enum": ["card", "cash"]},
    "card": {"anyOf": [{"$ref": "#/$defs/Card"}, {"type": "null"}]},
    "items": {"type": "array", "items": {"type": "string"}},
    "amount": {"type": "number", "minimum": 1, "maximum": 2},
}
CARD = {"Card": {"type": "object", "properties": {"number": {"type": "integer"}}}}


def tool(name: str, description: str, **parameters: Any) -> JsonObject:
    function = {"name": name, "description": description, "parameters": {"type": "object", **parameters}}
    return {"type": "function", "x-simia": {"effect": "read"}, "function": function}


TOOLS = [
    tool("get_order", "Look an order up. Needs its id.", properties=SHOWN, required=["id"]),
    tool("pay", "Pay\nan order.", properties=PAID, required=["how", "items"], **{"$defs": CARD}),
]


def openai(*calls: JsonObject, content: object = None) -> str:
    return json.dumps({"role": "assistant", "content": content, "tool_calls": list(calls)})


@pytest.mark.parametrize(
    ("text", "action"),
    [
        (CALL, Calls((ORDER,))),
        (f"{CALL}\n{CALL}", Calls((ORDER, ORDER))),
        (f"One moment.\n{CALL}", Calls((ORDER,), "One moment.")),
        (f"<think>Which order?</think>\n\n{CALL}", Calls((ORDER,))),
        (f"Which order? {CALL}</think>{CALL}", Calls((ORDER,))),
        ("<think>a</think>Hello<think>b</think> there", Say("Hello there")),
        ("Hello <think>never closed <tool_call>", Say("Hello")),
        ("hm <tool_call>{ broken </think>Hello", Say("Hello")),
        ('{"name": "get_order", "arguments": {"id": "#W1"}}', Calls((ORDER,))),
        ('  {"name": "get_order", "parameters": {"id": "#W1"}}\n', Calls((ORDER,))),
        ('{"name": "get_order", "arguments": "{\\"id\\": \\"#W1\\"}"}', Calls((ORDER,))),
        ('[{"name": "get_order", "arguments": {"id": "#W1"}}]', Calls((ORDER,))),
        ('```json\n{"name": "get_order", "arguments": {"id": "#W1"}}\n```', Calls((ORDER,))),
        ('```\n[{"name": "get_order", "arguments": {"id": "#W1"}}]\n```', Calls((ORDER,))),
        ('Wait.\n```json\n{"name": "get_order", "arguments": {"id": "#W1"}}\n```', Calls((ORDER,), "Wait.")),
        (
            '<think>x</think>{"name": "say", "arguments": {"t": "<think>y</think>"}}',
            Calls((ToolCall("say", {"t": "<think>y</think>"}),)),
        ),
        ('Here it is:\n```json\n{"total": 3}\n```', Say('Here it is:\n```json\n{"total": 3}\n```')),
        ('```json\n{"total": 3}\n``` it is.', Say('```json\n{"total": 3}\n``` it is.')),
        ("```python\nprint()\n```", Say("```python\nprint()\n```")),
        ("[Note] It is [1, 2].", Say("[Note] It is [1, 2].")),
        ("[1, 2]", Say("[1, 2]")),
        ("5 < 6 and {x} is a set", Say("5 < 6 and {x} is a set")),
        ("  Hello.  ", Say("Hello.")),
        (
            openai({"id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}),
            Calls((ToolCall("f", {}, "c1"),)),
        ),
        (
            openai({"function": {"name": "f", "arguments": '{"a": 1}'}}, content="<think>x</think>Now"),
            Calls((ToolCall("f", {"a": 1}),), "Now"),
        ),
        ('{"message": "May I have your email?"}', Say('{"message": "May I have your email?"}')),
        (
            '```json\n{"reply": "Done.", "next": ["Wait."]}\n```',
            Say('```json\n{"reply": "Done.", "next": ["Wait."]}\n```'),
        ),
        ('{"message": "Here it is", "options": {"a": 1}}', Say('{"message": "Here it is", "options": {"a": 1}}')),
        (json.dumps({"role": "assistant", "content": "Hi"}), Say("Hi")),
        (json.dumps({"role": "assistant", "content": [{"type": "text", "text": "Hi"}]}), Say("Hi")),
        (json.dumps({"role": "assistant", "content": CALL, "tool_calls": []}), Calls((ORDER,))),
        ('{"type": "function", "function": {"name": "f", "arguments": {}}}', Calls((ToolCall("f", {}),))),
    ],
)
def test_reads(text: str, action: Action) -> None:
    assert GRAMMAR.parse(text) == action


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("", "empty_action", "empty"),
        ("  \n", "empty_action", "empty"),
        ("<think>only thought", "empty_action", "thinking"),
        ('<tool_call>{"name": "f" "arguments": {}}</tool_call>', "malformed_call", "character 24, near"),
        ('<tool_call>{"name": "f", "arguments": {}}}</tool_call>', "malformed_call", "character 41"),
        ("<tool_call>{'name': 'f', 'arguments': {}}</tool_call>", "malformed_call", "character 12"),
        ('<tool_call>{"name": "f", "arguments": {"a": NaN}}</tool_call>', "malformed_call", "NaN"),
        ('<tool_call>{"name": "f", "arguments": {"a": 1e999}}</tool_call>', "malformed_call", "too large"),
        ('<tool_call>{"name": "f", "arguments": {"a": ' + "9" * 5000 + "}}</tool_call>", "malformed_call", "digits"),
        ('<tool_call>{"name": "f", "arguments": {"a": 1, "a": 2}}</tool_call>', "malformed_call", "'a' occurs twice"),
        ('<tool_call>{"name": "f", "arguments": {}}', "unclosed_call", "not closed"),
        (f'<tool_call>{{"name": "f", "arguments": {{}}}}{CALL}', "unclosed_call", "character 41"),
        ("<tool_call>", "unclosed_call", "not closed"),
        ("Let me look <tool_ca", "unclosed_call", "breaks off"),
        ('{"name": "f", "argu', "malformed_call", "character 14"),
        ('Sure. {"name": "f", "arguments": {}}', "malformed_call", "outside of <tool_call> tags"),
        ('{"name": "f", "arguments": {}} Sure.', "malformed_call", "character 31"),
        ('{"name": "f", "arguments": {}}\n{"name": "g", "arguments": {}}', "malformed_call", "character 31"),
        ('```json\n{"name": "f", "arguments": {}}', "unclosed_call", "not closed"),
        ('Hm\n```json\n{"name": "f", "arguments": {}}', "unclosed_call", "not closed"),
        ('```json\n{"total": 3}', "unclosed_call", "not closed"),
        ('Hm\n```json\n{"role": "assistant", "tool_calls": []}\n```', "malformed_call", "whole reply"),
        ('{"name": "f", "arguments": {"a": ' + "[" * 9999 + "]" * 9999 + "}}", "malformed_call", "nested"),
        ('Hm\n```json\n{"name": "f", "arguments": {]}\n```', "malformed_call", "code fence"),
        ('{"tool": "calculate", "args": {"expression": "1"}}', "missing_name", "name"),
        ('{"message": "ok", "call": {"name": "calculate", "arguments": {}}}', "missing_name", "name"),
        ('{"action": "calculate"}', "missing_name", "name"),
        ("{}", "missing_name", "name"),
        ('{"n": 1}', "missing_name", "name"),
        ("<function=f>{}</function>", "malformed_call", "outside"),
        ('[TOOL_CALLS] [{"name": "f"}]', "malformed_call", "outside"),
        ('<tool_call>{"arguments": {}}</tool_call>', "missing_name", "name"),
        ('{"name": 3, "arguments": {}}', "missing_name", "name"),
        ('{"name": "f"}', "bad_arguments", '"arguments"'),
        ('{"name": "f", "arguments": [1]}', "bad_arguments", "object"),
        ('{"name": "f", "arguments": "{x}"}', "bad_arguments", "character 1"),
        ('{"name": "f", "arguments": {}, "parameters": {}}', "bad_arguments", "both"),
        ('{"name": "f", "arguments": {}, "order_id": 1}', "bad_arguments", "'order_id'"),
        ("[]", "malformed_call", "empty"),
        ('[{"name": "f", "arguments": {}}, 3]', "malformed_call", "object"),
        ('{"role": "user", "content": "Hi"}', "malformed_call", "'user'"),
        (openai({"id": "a", "function": {"name": "f", "arguments": "{"}}), "bad_arguments", "character 1"),
    ],
)
def test_refuses(text: str, code: str, words: str) -> None:
    with pytest.raises(ActionError) as caught:
        GRAMMAR.parse(text)
    assert caught.value.code == code
    assert words in caught.value.message.split(" A valid tool call")[0]
    assert '<tool_call>\n{"name": ' in caught.value.message


def test_halves_of_characters_are_refused() -> None:
    action = GRAMMAR.parse('{"name": "f", "arguments": {"a": ["x", {"b": "\\ud83d\\ude00"}]}}')
    assert action == Calls((ToolCall("f", {"a": ["x", {"b": "\U0001f600"}]}),))
    for argument in ('"\\ud800a": 1', '"a": ["x\\uDFFF"]', '"a": "\\ude00\\ud83d"'):
        with pytest.raises(ActionError, match="half of a surrogate pair"):
            GRAMMAR.parse(f'{{"name": "f", "arguments": {{{argument}}}}}')


MARKS = ["<tool_call>", "</tool_call>", "<think>", "</think>", "```", "```json\n{", "\\", '"', "\n"]
MARKS += ["search[", "click[", "]", "Action:", "["]
NASTY = st.sampled_from([*MARKS, '{"name": "f", "arguments": {}}'])
ARGUMENTS = st.dictionaries(st.text(), JSON | st.lists(NASTY | st.text(), max_size=4).map("".join), max_size=4)
NAMES = st.text(min_size=1).filter(lambda name: bool(name.strip()))
PLAIN_CALLS = st.builds(ToolCall, NAMES, ARGUMENTS)
WITH_IDS = st.lists(st.builds(ToolCall, NAMES, ARGUMENTS, st.text(min_size=1)), min_size=1, unique_by=lambda c: c.id)


@FUZZ
@given(st.lists(PLAIN_CALLS, min_size=1, max_size=3) | WITH_IDS, st.sampled_from(["", "One moment.", "5 < 6 {x}"]))
@pytest.mark.slow
def test_rendered_calls_read_back(calls: list[ToolCall], text: str) -> None:
    action = Calls(tuple(calls), text)
    assert GRAMMAR.parse(GRAMMAR.render(action)) == action


@FUZZ
@given(st.lists(PLAIN_CALLS, min_size=1, max_size=2))
@pytest.mark.slow
def test_any_json_spelling_of_a_call_reads_back(calls: list[ToolCall]) -> None:
    plain = [{"name": call.name, "arguments": call.arguments} for call in calls]
    texts = [json.dumps(plain), json.dumps(plain, indent=1, ensure_ascii=False), f"```json\n{json.dumps(plain)}\n```"]
    texts.append("\n".join(f"<tool_call>{json.dumps(item, ensure_ascii=False)}</tool_call>" for item in plain))
    for text in texts:
        assert GRAMMAR.parse(text) == Calls(tuple(calls))
        assert GRAMMAR.parse(f"<think>x</think>\n{text}") == Calls(tuple(calls))


@FUZZ
@given(st.text() | st.sampled_from([CALL, '{"a": 1}', "<think>x</think>y", "5 < 6"]))
def test_a_message_is_read_back_or_refused(text: str) -> None:
    try:
        written = GRAMMAR.render(Say(text))
    except InputError:
        return
    assert GRAMMAR.parse(written) == Say(text)


def check(text: str, name: str = "tools") -> None:
    try:
        action = get_grammar(name).parse(text)
    except ActionError:
        return
    if name == "tools" and isinstance(action, Say):
        assert "<tool_call>" not in action.text
        assert "</tool_call>" not in action.text
        assert action.text.strip()
    else:
        assert isinstance(action, Calls)
        assert action.calls
        for call in action.calls:
            json.dumps(call.arguments, allow_nan=False).encode()


@FUZZ
@given(st.text() | st.lists(NASTY | st.text(max_size=5), max_size=8).map("".join))
def test_any_text_gives_an_action_or_an_action_error(text: str) -> None:
    check(text)
    check(text, WEBSHOP)


@FUZZ
@given(st.data(), st.lists(PLAIN_CALLS, min_size=1, max_size=2), st.sampled_from(["", "Wait.", "<think>a</think>"]))
@pytest.mark.slow
def test_broken_calls_are_never_messages(data: st.DataObject, calls: list[ToolCall], before: str) -> None:
    text = before + GRAMMAR.render(Calls(tuple(calls)))
    cut = data.draw(st.integers(0, len(text)))
    check(text[:cut])
    check(text[cut:])
    other = data.draw(st.integers(0, len(text)))
    check(text[: min(cut, other)] + text[max(cut, other) :])
    check(text[:cut] + data.draw(NASTY | st.characters()) + text[cut:])


def test_instructions() -> None:
    full = GRAMMAR.instructions(TOOLS)
    block = full.split("<tools>\n")[1].split("\n</tools>")[0].split("\n")
    assert [json.loads(line)["function"]["name"] for line in block] == ["get_order", "pay"]
    assert "x-simia" not in full
    assert "x-note" not in full
    assert "x-ray" in full  # a property may be called so
    compact = GRAMMAR.instructions(TOOLS, compact=True)
    assert "- get_order(id: string, x-ray?: boolean) - Look an order up." in compact
    assert 'pay(how: "card" | "cash", card?: {number: integer} | null, items: list[string], amount?: number)' in compact
    assert len(compact) < len(full)
    assert "several tool calls" in full
    assert "never more" in GRAMMAR.instructions(TOOLS, parallel=False)
    assert "tools>" not in GRAMMAR.instructions([])


def test_samples_are_actions_and_depend_on_the_seed() -> None:
    texts = [GRAMMAR.sample(random.Random(seed), TOOLS, ["Hello."]) for seed in range(60)]
    assert texts == [GRAMMAR.sample(random.Random(seed), TOOLS, ["Hello."]) for seed in range(60)]
    actions = [GRAMMAR.parse(text) for text in texts]
    assert Say("Hello.") in actions
    calls = [call for action in actions if isinstance(action, Calls) for call in action.calls]
    assert {call.name for call in calls} == {"get_order", "pay"}
    for call in calls:
        assert isinstance(call.arguments.get("id", ""), str)
        assert call.arguments.get("how", "card") in ("card", "cash")
        assert 1 <= call.arguments.get("amount", 1) <= 2
    seen = [{"role": "system", "content": "#S9"}, {"role": "user", "content": "It is #W77."}]
    drawn = [GRAMMAR.sample(random.Random(seed), TOOLS[:1], messages=seen) for seed in range(40)]
    assert any("#W77" in text for text in drawn)
    assert not any("#S9" in text for text in drawn)
    assert GRAMMAR.sample(random.Random(0), [])


def test_unknown_grammars_are_named() -> None:
    for name in ("tool", "simia_gym.errors:Fault", "no_such_module:Grammar"):
        with pytest.raises(InputError, match=name):
            get_grammar(name)


@pytest.mark.parametrize(
    "piece", ["</think>", "<tool_call>{</think>", "<tool_call>{", '```json\n{"name":1', "<think>", "{"]
)
@pytest.mark.parametrize("name", ["tools", WEBSHOP])
def test_long_nonsense_is_refused_soon(name: str, piece: str) -> None:
    text = piece * (100_000 // len(piece))
    with processor_limit(), pytest.raises(ActionError):
        get_grammar(name).parse(text)


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_order\n```json\n{}\n```", "DeepSeek"),
        ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_order<｜tool▁sep｜>{}<｜tool▁call▁end｜>", "DeepSeek"),
        ('<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_order">\n</｜DSML｜function_calls>', "DeepSeek"),
        (
            "I look.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_order:0<|tool_call_argument_begin|>{}"
            "<|tool_call_end|><|tool_calls_section_end|>",
            "Kimi K2",
        ),
        ("<|channel|>commentary to=functions.get_order <|constrain|>json<|message|>{}<|call|>", "harmony"),
        ("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant to=functions.a<|message|>{}<|call|>", "harmony"),
        ('[get_order(id="#W1"), get_order(id="#W2")]', "Llama 4"),
        ('<|python_start|>[get_order(id="#W1")]<|python_end|>', "Llama 4"),
        ('<minimax:tool_call>\n<invoke name="get_order">\n</invoke>\n</minimax:tool_call>', "MiniMax"),
        ('<|START_ACTION|>[{"tool_name": "get_order", "parameters": {}}]<|END_ACTION|>', "Cohere"),
        ("<start_function_call>call:get_order{id:1}<end_function_call>", "Gemma"),
        ("<|tool_call>call:get_order{id:1}<tool_call|>", "Gemma"),
        ('```tool_code\nprint(get_order(id="#W1"))\n```', "tool_code"),
        ('Thought: I look.\nAction: get_order\nAction Input: {"id": "#W1"}\nObservation: shipped', "ReAct"),
        ('[THINK]which?[/THINK]get_order(id="#W1")', "name(argument="),
        ('<invoke name="get_order">\n<parameter name="id">#W1</parameter>\n</invoke>', "<invoke name="),
        ('<function_calls>\n<invoke name="get_order">\n</invoke>\n</function_calls>', "<invoke name="),
    ],
)
def test_a_call_in_another_dialect_is_an_error_that_names_it(text: str, dialect: str) -> None:
    with pytest.raises(ActionError, match=re.escape(f"dialect {dialect}")) as caught:
        GRAMMAR.parse(text)
    assert caught.value.code == "malformed_call"


@pytest.mark.parametrize(
    "text",
    [
        'I would write get_order(id="#W1") now.',
        "The mark <｜tool▁calls▁begin｜> begins a call.",
        "Action: I send the card back.",
        "[see note (a)]",
        'Claude writes `<invoke name="get_order">` for a call.',
        "Your order (#W1)",
        "Observation: it is late.\nObservation: it rains.",
        "Answers of tools stand between <tool_response> and </tool_response>.",
        "Mistral writes `[TOOL_CALLS]` before its calls, others `<function=name>`.",
        'The mark "[TOOL_CALLS]" is a token of its own.',
        'Send `{"name": "get_order", "arguments": {}}` to the server.',
    ],
)
def test_prose_that_quotes_a_call_stays_a_message(text: str) -> None:
    assert GRAMMAR.parse(text) == Say(text)


@pytest.mark.parametrize(("begin", "end"), [*THINKING.items()])
def test_a_call_inside_thinking_does_not_run(begin: str, end: str) -> None:
    assert GRAMMAR.parse(f"{begin}perhaps {CALL}{end}Hello") == Say("Hello")
    assert GRAMMAR.parse(f"Hello {begin}perhaps {CALL}") == Say("Hello")
    assert GRAMMAR.parse(f'{begin}a{end}\n{{"name": "get_order", "arguments": {{"id": "#W1"}}}}') == Calls((ORDER,))
    assert strip_thinking(f"a{begin}b{end}c") == "ac"


@pytest.mark.parametrize("answer", ["<tool_response>\n{}\n</tool_response>", "Observation: {}"])
def test_nothing_behind_an_invented_observation_runs(answer: str) -> None:
    assert GRAMMAR.parse(f"{CALL}\n{answer}\n{CALL}\nIt is shipped.") == Calls((ORDER,))
    assert GRAMMAR.parse(f"{CALL} My {answer}") == Calls((ORDER,), "My" if "<" in answer else f"My {answer}")
    assert ToolsGrammar().invents(f"{CALL}\n{answer}\nIt is shipped.")
    assert not ToolsGrammar().invents(f"{CALL}{CALL}")
    quoted = json.dumps({"name": "note", "arguments": {"text": f"a\n{answer}"}})
    text = f"<tool_call>{quoted}</tool_call>{CALL}"
    assert GRAMMAR.parse(text) == Calls((ToolCall("note", {"text": f"a\n{answer}"}), ORDER))
