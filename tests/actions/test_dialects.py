"""The setting `dialect`: calls in a model family's own format run as they were meant, or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast, get_args

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia_gym import EnvConfig, InputError
from simia_gym.actions import get_grammar
from simia_gym.actions.calls import MAX_CHARACTERS, read_action
from simia_gym.actions.dialects import NAMES, Dialect, DialectReader
from simia_gym.actions.dialects.names import MARKS
from simia_gym.actions.thinking import THINKING
from simia_gym.cli.app import run
from simia_gym.env import SimiaEnv
from simia_gym.errors import ActionError
from simia_gym.record.records import read_records
from simia_gym.types import Action, Calls, JsonObject, Say, ToolCall

from ..work import processor_limit
from . import FUZZ

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
GRAMMAR = get_grammar("tools")
WHOLE = {"type": "object", "properties": {"city": {"type": "string"}}}
PROPERTIES: JsonObject = {
    "text": {"type": "string"},
    "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "number": {"type": "number"},
    "yes": {"type": "boolean"},
    "listed": {"type": "array"},
    "inner": {"$ref": "#/$defs/Inner"},
    "either": {"type": ["string", "integer"]},
}
TOOLS = [
    {"function": {"name": name, "parameters": {"properties": PROPERTIES, "$defs": {"Inner": WHOLE}}}}
    for name in ("get_order", "pay-it", "f")
]


def reader(dialect: Dialect) -> DialectReader:
    return DialectReader(dialect, TOOLS)


def read(dialect: Dialect, text: str) -> Action | ActionError:
    return read_action(GRAMMAR, text, reader(dialect))[1]


# How each family's template writes calls.


def deepseek_v3(calls: Sequence[ToolCall]) -> str:
    each = (
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{call.name}\n```json\n{dump(call.arguments)}\n```<｜tool▁call▁end｜>"
        for call in calls
    )
    return "<｜tool▁calls▁begin｜>" + "\n".join(each) + "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>"


def deepseek_v31(calls: Sequence[ToolCall]) -> str:
    each = (
        f"<｜tool▁call▁begin｜>{call.name}<｜tool▁sep｜>{dump(call.arguments)}<｜tool▁call▁end｜>" for call in calls
    )
    return "<｜tool▁calls▁begin｜>" + "".join(each) + "<｜tool▁calls▁end｜>"


def deepseek_v32(calls: Sequence[ToolCall]) -> str:
    return tags(calls, "｜DSML｜", "｜DSML｜function_calls", typed=True)


def kimi(calls: Sequence[ToolCall]) -> str:
    each = (
        f"<|tool_call_begin|>functions.{call.name}:{number}<|tool_call_argument_begin|>{dump(call.arguments)}"
        "<|tool_call_end|>"
        for number, call in enumerate(calls)
    )
    return "<|tool_calls_section_begin|>" + "".join(each) + "<|tool_calls_section_end|>"


def harmony(calls: Sequence[ToolCall]) -> str:
    each = (
        f"<|channel|>commentary to=functions.{call.name} <|constrain|>json<|message|>{dump(call.arguments)}<|call|>"
        for call in calls
    )
    return "<|start|>assistant".join(each)


def harmony_to_first(calls: Sequence[ToolCall]) -> str:
    return "".join(
        f"<|start|>assistant to=functions.{call.name}<|channel|>commentary json<|message|>{dump(call.arguments)}"
        "<|call|>"
        for call in calls
    )


def pythonic(calls: Sequence[ToolCall]) -> str:
    return f"[{', '.join(map(python, calls))}]"


def pythonic_marked(calls: Sequence[ToolCall]) -> str:
    return f"<|python_start|>{pythonic(calls)}<|python_end|><|eom|>"


def minimax(calls: Sequence[ToolCall]) -> str:
    return tags(calls, "", "minimax:tool_call") + "[e~["


def cohere(calls: Sequence[ToolCall]) -> str:
    each = [
        {"tool_call_id": str(number), "tool_name": call.name, "parameters": call.arguments}
        for number, call in enumerate(calls)
    ]
    return f"<|START_THINKING|>I look.<|END_THINKING|><|START_ACTION|>{json.dumps(each, indent=4)}<|END_ACTION|>"


def gemma(calls: Sequence[ToolCall]) -> str:
    return "".join(f"<|tool_call>call:{call.name}{{{pairs(call.arguments, QUOTE)}}}<tool_call|>" for call in calls)


def functiongemma(calls: Sequence[ToolCall]) -> str:
    return "".join(
        f"<start_function_call>call:{call.name}{{{pairs(call.arguments, '<escape>')}}}<end_function_call>"
        for call in calls
    )


def tool_code(calls: Sequence[ToolCall]) -> str:
    lines = [python(call) if number % 2 else f"print({python(call)})" for number, call in enumerate(calls)]
    return "\n".join(["```tool_code", *lines, "```"])


def react(calls: Sequence[ToolCall]) -> str:
    return f"Action: {calls[0].name}\nAction Input: {dump(calls[0].arguments)}"


def bare(calls: Sequence[ToolCall]) -> str:
    return "\n".join(map(python, calls))


def invoke(calls: Sequence[ToolCall]) -> str:
    return tags(calls, "", "function_calls")


QUOTE = '<|"|>'


def dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def python(call: ToolCall) -> str:
    return f"{call.name}({', '.join(f'{name}={value!r}' for name, value in call.arguments.items())})"


def pairs(values: JsonObject, quote: str) -> str:
    return ",".join(f"{name}:{own(value, quote)}" for name, value in values.items())


def own(value: Any, quote: str) -> str:
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    if isinstance(value, dict):
        return f"{{{pairs(value, quote)}}}"
    if isinstance(value, list):
        return f"[{','.join(own(item, quote) for item in value)}]"
    return dump(value)


def tags(calls: Sequence[ToolCall], prefix: str, around: str, typed: bool = False) -> str:
    lines = [f"<{around}>"]
    for call in calls:
        lines.append(f'<{prefix}invoke name="{call.name}">')
        for name, value in call.arguments.items():
            kind = f' string="{str(isinstance(value, str)).lower()}"' if typed else ""
            written = value if isinstance(value, str) else dump(value)
            lines.append(f'<{prefix}parameter name="{name}"{kind}>{written}</{prefix}parameter>')
        lines.append(f"</{prefix}invoke>")
    return "\n".join([*lines, f"</{around}>"])


TEMPLATES: list[tuple[Dialect, Callable[[Sequence[ToolCall]], str]]] = [
    ("deepseek", deepseek_v3),
    ("deepseek", deepseek_v31),
    ("deepseek", deepseek_v32),
    ("kimi", kimi),
    ("harmony", harmony),
    ("harmony", harmony_to_first),
    ("pythonic", pythonic),
    ("pythonic", pythonic_marked),
    ("minimax", minimax),
    ("cohere", cohere),
    ("gemma", gemma),
    ("gemma", functiongemma),
    ("tool_code", tool_code),
    ("react", react),
    ("bare", bare),
    ("invoke", invoke),
]
IN_TAGS = (deepseek_v32, minimax, invoke, gemma, functiongemma)
ONE = (react,)

WORDS = st.text(max_size=12) | st.sampled_from(
    [
        CALL := '<tool_call>{"name": "pay", "arguments": {}}</tool_call>',
        "```",
        "a'b\"c\\d\n",
        "</think>x",
        "[/THINK]",
        ")]",
    ]
)
PLAIN = st.text(st.characters(exclude_characters="<|", exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)


def calls_of(write: Callable[[Sequence[ToolCall]], str]) -> st.SearchStrategy[list[ToolCall]]:
    """Calls that the template can write: in tags a text holds no mark."""
    words = PLAIN if write in IN_TAGS else WORDS
    inner = st.dictionaries(st.sampled_from(["city", "zip"]), words | NUMBERS | st.none() | st.lists(words, max_size=2))
    arguments = st.fixed_dictionaries(
        {},
        optional={
            "text": words,
            "number": NUMBERS,
            "yes": st.booleans(),
            "listed": st.lists(words | st.booleans() | st.none() | inner, max_size=3),
            "inner": inner,
            "maybe": st.none() | words.filter(lambda text: text.strip() != "null"),
        },
    )
    names = st.sampled_from(["get_order", "f"])
    return st.lists(st.builds(ToolCall, names, arguments), min_size=1, max_size=1 if write in ONE else 3)


@pytest.mark.parametrize(("dialect", "write"), TEMPLATES, ids=[write.__name__ for _, write in TEMPLATES])
@pytest.mark.slow
def test_what_the_template_writes_is_read(dialect: Dialect, write: Callable[[Sequence[ToolCall]], str]) -> None:
    @FUZZ
    @given(calls_of(write))
    def check(calls: list[ToolCall]) -> None:
        text = write(calls)
        said = "" if dialect in ("pythonic", "bare", "react", "harmony") else "I look.\n"
        for before in ("", "<think>get_order(text='x')</think>\n", "So I thought.</think>", said):
            if not ("think>" in text and "think>" in before):
                assert read(dialect, before + text) == Calls(tuple(calls), said.strip() if before == said else "")
        message = {"role": "assistant", "content": text}
        if "</think>" not in text:
            assert read_action(GRAMMAR, message, reader(dialect))[1] == Calls(tuple(calls))

    check()


CUT = [ToolCall("get_order", {"text": "some words", "listed": ["a", 1, None]}), ToolCall("f", {"number": 1.5})]
SEPARATE = (bare, harmony, harmony_to_first, gemma, functiongemma)  # nothing stands around all calls


def whole_text(write: Callable[[Sequence[ToolCall]], str]) -> str:
    """Two calls without thinking and the turn's end."""
    return re.sub(r"(<\|START_THINKING.*END_THINKING\|>)|(<｜end▁of▁sentence｜>|<\|eom\|>|\[e~\[)$", "", write(CUT))


@pytest.mark.parametrize(("dialect", "write"), TEMPLATES, ids=[write.__name__ for _, write in TEMPLATES])
def test_a_reply_that_breaks_off_runs_nothing_and_reaches_nobody(
    dialect: Dialect, write: Callable[[Sequence[ToolCall]], str]
) -> None:
    text = whole_text(write)
    least = re.search(r"[<(`\n]", text)
    assert least is not None
    whole = Calls(tuple(CUT[:1] if write in ONE else CUT))
    for end in range(least.end(), len(text)):
        for before in ("", "<think>Hm.</think>"):
            cut = read(dialect, before + text[:end])
            if isinstance(cut, Calls):  # only what the turn's end, or a call of its own, was cut off
                assert cut == whole or (cut.calls == whole.calls[:1] and write in SEPARATE)
                assert len(text) - end < 16 or cut != whole
            else:
                assert isinstance(cut, ActionError), (text[:end], cut)
                assert cut.code in ("unclosed_call", "malformed_call", "bad_arguments")


def broken_texts() -> list[tuple[Dialect, str]]:
    """Replies in which one mark, bracket or quote is missing."""
    found = []
    for dialect, write in TEMPLATES:
        text = whole_text(write)
        pieces = list(re.finditer(r"</?[^<>]+>|[\[\](){}:=,]|```(?:json|tool_code)?|['\"](?!\")|Input", text))
        found += [(dialect, text[: piece.start()] + text[piece.end() :]) for piece in pieces]
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_missing_mark_changes_no_argument(dialect: Dialect) -> None:
    texts = [text for own, text in broken_texts() if own == dialect]
    assert texts
    for text in texts:
        action = read(dialect, text)
        if isinstance(action, Calls):
            known = [call for call in action.calls if call.name in ("get_order", "f")]
            assert all(call in CUT for call in known), (text, action)
        else:
            assert isinstance(action, ActionError) or not text.startswith(("<", "`", "Action:")), (text, action)


@pytest.mark.parametrize(
    ("dialect", "text", "code", "words"),
    [
        ("deepseek", deepseek_v31([ToolCall("f", {})]).replace("{}", '{"a": NaN}'), "malformed_call", "NaN"),
        ("deepseek", deepseek_v31([ToolCall("f", {})]).replace("{}", "[]"), "bad_arguments", "JSON object"),
        ("deepseek", deepseek_v32([ToolCall("f", {"a": 1})]).replace(">1<", ">one<"), "bad_arguments", "'a' of 'f'"),
        (
            "deepseek",
            deepseek_v32([ToolCall("f", {"a": 1})]).replace(' string="false"', ""),
            "malformed_call",
            "string=",
        ),
        ("kimi", kimi([ToolCall("f", {})]).replace("{}", '{"a": 1, "a": 2}'), "malformed_call", "'a' occurs twice"),
        ("kimi", kimi([ToolCall("f", {})]) + "Done.", "malformed_call", "more behind the calls"),
        ("harmony", harmony([ToolCall("f", {})]).replace("{}", "{'a': 1}"), "malformed_call", "harmony"),
        ("pythonic", '[get_order("#W1")]', "bad_arguments", "name=value"),
        ("pythonic", '[get_order(id="#W1", id="#W2")]', "bad_arguments", "'id' twice"),
        ("pythonic", "[get_order(id=other(1))]", "malformed_call", "Expecting a literal"),
        ("pythonic", "[get_order(id=007)]", "malformed_call", "Expecting a literal"),
        ("pythonic", "[get_order(id=1e999)]", "malformed_call", "too large"),
        ("pythonic", "[get_order(id='\\d')]", "malformed_call", "means nothing"),
        ("pythonic", "[get_order(id='\\ud800')]", "malformed_call", "surrogate"),
        ("pythonic", "[get_order(id=('a'))]", "malformed_call", "','"),
        ("pythonic", f"[f(a={'[' * 65}{']' * 65})]", "malformed_call", "deeper"),
        ("minimax", minimax([ToolCall("f", {"yes": "perhaps"})]), "bad_arguments", "boolean"),
        ("minimax", minimax([ToolCall("f", {"either": 5})]), "bad_arguments", "may be a text or 5"),
        (
            "invoke",
            invoke([ToolCall("f", {"text": "a"}), ToolCall("f", {})]).replace('"f"', '"'),
            "malformed_call",
            "invoke",
        ),
        ("cohere", cohere([ToolCall("f", {})]).replace("parameters", "arguments"), "bad_arguments", "'arguments'"),
        ("cohere", "<|START_ACTION|>[]<|END_ACTION|>", "malformed_call", "empty"),
        ("gemma", "<|tool_call>call:f{city:Tokyo}<tool_call|>", "malformed_call", "another value"),
        ("gemma", "<start_function_call>call:f{a:1,a:2}<end_function_call>", "malformed_call", "twice"),
        ("tool_code", "```tool_code\nx = f(a=1)\n```", "malformed_call", "Expecting a call"),
        ("react", "Action: f\nAction Input: the order", "malformed_call", "ReAct"),
        ("react", 'Action: f\nAction Input: "the order"', "bad_arguments", "not valid JSON"),
        ("bare", "get_order('#W1')", "bad_arguments", "name=value"),
        ("bare", "get_order(order)\n", "bad_arguments", "name=value"),
        ("pythonic", "[get_order(**{'id': 1})] ", "bad_arguments", "name=value"),
        ("bare", "get_order(id=1)\nAnd then.", "malformed_call", "more behind the calls"),
    ],
)
def test_what_is_wrong_is_said(dialect: Dialect, text: str, code: str, words: str) -> None:
    action = read(dialect, text)
    assert isinstance(action, ActionError)
    assert (action.code, words in action.message) == (code, True), action


@pytest.mark.parametrize(
    ("dialect", "text", "arguments"),
    [
        (
            "pythonic",
            "[f(a=true, b=null, c=-1., d=(1, 'x'), e={'k': [.5]})]",
            {"a": True, "b": None, "c": -1.0, "d": [1, "x"], "e": {"k": [0.5]}},
        ),
        ("bare", 'f(a="""two\nlines""", b=\'\\x41\\u00e9\\U0001F600\\n\')', {"a": "two\nlines", "b": "Aé😀\n"}),
        ("tool_code", "```tool_code\nprint(default_api.f(a=1))\n```", {"a": 1}),
        (
            "deepseek",
            '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="f">\n{"a": 1}\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
            {"a": 1},
        ),
        (
            "minimax",
            minimax([ToolCall("f", {"text": "5", "maybe": "null", "new": "a"})]),
            {"text": "5", "maybe": None, "new": "a"},
        ),
        ("invoke", '<invoke name="f"><parameter name="either" string="false">5</parameter></invoke>', {"either": 5}),
        ("harmony", "<|channel|>analysis to=functions.f <|constrain|>json<|message|>{}", {}),
        ("kimi", kimi([ToolCall("f", {})]).replace("{}", "") + "<|im_end|>", {}),
        ("react", 'Thought: one.\nTwo.\n\nAction: f\nAction Input: {"a": "Action: g"}', {"a": "Action: g"}),
    ],
)
def test_other_forms_that_models_write(dialect: Dialect, text: str, arguments: JsonObject) -> None:
    action = read(dialect, text)
    assert isinstance(action, Calls), action
    assert action.calls == (ToolCall("f", arguments),)


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        (
            "harmony",
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>",
        ),
        ("harmony", "<|channel|>final<|message|>Hello."),
        ("cohere", "<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Hello.<|END_RESPONSE|>"),
        ("react", "Thought: I greet.\nFinal Answer: Hello."),
    ],
)
def test_a_message_loses_the_marks_that_the_family_puts_around_it(dialect: Dialect, text: str) -> None:
    assert read(dialect, text) == Say("Hello.")
    assert GRAMMAR.parse(text) != Say("Hello.")


def test_the_call_of_an_unknown_tool_is_left_to_the_environment() -> None:
    assert read("invoke", invoke([ToolCall("nothing", {"a": "1"})])) == Calls((ToolCall("nothing", {"a": "1"}),))


def test_a_preamble_of_harmony_stands_beside_the_call() -> None:
    preamble = "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant"
    assert read("harmony", preamble + harmony(CUT[:1])) == Calls((CUT[0],), "I look.")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "text",
    [
        'I would write get_order(id="#W1") now.',
        'get_order(id="#W1") is what I would write.',
        "The mark <｜tool▁calls▁begin｜> begins a call.",
        "Kimi writes `<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0` before the arguments.",
        "Action: I send the card back.",
        "[see note (a)]",
        "Your order (#W1)",
        "Hello",
        "May I have your id (name=value)?",
    ],
)
def test_prose_stays_a_message(dialect: Dialect, text: str) -> None:
    assert read(dialect, text) == Say(text)


@pytest.mark.parametrize(("dialect", "write"), TEMPLATES, ids=[write.__name__ for _, write in TEMPLATES])
def test_nothing_in_thinking_or_behind_an_invented_observation_runs(
    dialect: Dialect, write: Callable[[Sequence[ToolCall]], str]
) -> None:
    text = write(CUT[:1])
    for begin, end in THINKING.items():
        if end not in text:
            assert read(dialect, f"{begin}perhaps {text}{end}Hello") == Say("Hello")
    assert read(dialect, f"{text}</think>Hello") == Say("Hello")
    assert read(dialect, f"{text}</think>{text}") == Calls(tuple(CUT[:1]))
    for answer in ("\nObservation: {}", "\n<tool_response>\n{}\n</tool_response>"):
        reading = reader(dialect).read(f"{text}{answer}\nIt is shipped. {text}")
        assert reading is not None
        assert (reading.action, reading.invented) == (Calls(tuple(CUT[:1])), True)
    reading = reader(dialect).read(text)
    assert reading is not None
    assert not reading.invented


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.sampled
def test_any_text_gives_an_action_or_an_error(dialect: Dialect) -> None:
    marks = [mark for each in MARKS.values() for mark in (*each.openings, *each.closings)]
    pieces = st.sampled_from(
        [
            *marks,
            *THINKING,
            *THINKING.values(),
            "f(",
            "a=",
            "'",
            '"',
            ")",
            "[",
            "{",
            "}",
            ":",
            "1",
            "<|message|>",
            "```\n",
            "Action: f\n",
            "Action Input:",
            '<parameter name="a">',
            "</parameter>",
            "call:f{",
            QUOTE,
            "<｜tool▁sep｜>",
            "\\",
        ]
    )

    @FUZZ
    @given(st.lists(pieces | st.text(max_size=3), max_size=20).map("".join))
    def check(text: str) -> None:
        assert isinstance(read(dialect, text), Calls | Say | ActionError)

    check()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "piece", ["", "</think>", "f(a='", "<think>", "f(a=1)\n", "[", "\n", " ", "'''\\", "Action: f\n"]
)
@pytest.mark.slow
def test_long_nonsense_is_read_soon(dialect: Dialect, piece: str) -> None:
    with processor_limit():
        for mark in MARKS[dialect].openings if dialect in MARKS else ("f(a=", "Action: f\n"):
            read(dialect, mark * (MAX_CHARACTERS // len(mark)))
            if piece:
                read(dialect, (mark + piece * MAX_CHARACTERS)[:MAX_CHARACTERS])


@pytest.mark.parametrize(("dialect", "write"), TEMPLATES, ids=[write.__name__ for _, write in TEMPLATES])
def test_off_it_is_an_error_that_names_the_dialect(
    dialect: Dialect, write: Callable[[Sequence[ToolCall]], str]
) -> None:
    if write not in (deepseek_v3, pythonic_marked, minimax):  # the turn's end stands behind these
        with pytest.raises(ActionError, match=re.escape(NAMES[dialect])):
            GRAMMAR.parse(write(CUT[:1]))
    for other in DIALECTS:
        if other != dialect:
            assert not isinstance(read(other, write(CUT[:1])), Calls) or {other, dialect} == {"bare", "tool_code"}


@pytest.mark.parametrize("name", [*DIALECTS, *NAMES.values()])
def test_it_is_named_as_errors_name_it(name: Any) -> None:
    config = EnvConfig("simia/retail-v0", dialect=name)
    assert config.dialect in DIALECTS
    assert name in (config.dialect, NAMES[config.dialect])
    assert EnvConfig.from_json(config.to_json()) == config
    with pytest.raises(InputError, match=r"'deepseek'.*'invoke'"):
        EnvConfig("simia/retail-v0", dialect="hermes")  # type: ignore[arg-type]


@pytest.mark.parametrize(("dialect", "write"), TEMPLATES, ids=[write.__name__ for _, write in TEMPLATES])
def test_an_environment_executes_it(dialect: Dialect, write: Callable[[Sequence[ToolCall]], str]) -> None:
    call = ToolCall("calculate", {"expression": "1 + 2"})
    plain = played({}, GRAMMAR.render(Calls((call,))))
    assert played({"dialect": dialect}, write([call])) == plain
    assert plain[0] == "3.0"


def played(settings: dict[str, Any], action: str) -> tuple[str, list[JsonObject]]:
    """What an environment answers to an action, which its ledger holds as it was written."""
    env = gym.make("simia/retail-v0", **settings)
    env.reset(seed=0)
    observation, *_, info = env.step(action)
    events = cast(SimiaEnv, env.unwrapped).episode.ledger.events
    assert [event["text"] for event in events if event["type"] == "action"] == [action]
    env.close()
    return observation, info["messages"]


PLAYER = """
class Player:
    def act(self, messages):
        return %r
"""


def test_a_rollout_with_it_is_replayed_and_resumed_with_the_same_dialect_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "player.py").write_text(PLAYER % kimi([ToolCall("calculate", {"expression": "1 + 2"})]), "utf-8")
    path = tmp_path / "one.jsonl"
    words = ["rollout", "simia/retail-v0", "--policy", f"{tmp_path / 'player.py'}:Player", "--max-turns", "2"]
    words += ["--episodes", "1", "--out", str(path)]
    assert run([*words, "--dialect", "kimi"]) == 0
    (record,) = read_records(path)
    assert record.to_json()["config"]["dialect"] == "kimi"
    assert [event["call"]["name"] for event in record.events if event["type"] == "transition"] == ["calculate"] * 2
    assert not [event for event in record.events if event["type"] == "invalid"]
    assert run(["replay", str(path)]) == 0
    assert run([*words, "--resume"]) == 2
    assert "dialect='kimi'" in capsys.readouterr().err
