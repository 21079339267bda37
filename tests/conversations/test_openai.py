"""Chat messages of all spellings become one, and what cannot be read is told with its line."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from simia_gym.conversations import (
    Conversation,
    Unreadable,
    detect_format,
    formats,
    read_conversations,
    write_conversations,
)
from simia_gym.errors import InputError
from simia_gym.types import JsonObject, Message

ASK: Message = {"role": "user", "content": "How warm is it?"}
TOOL: JsonObject = {"name": "get", "description": "Gets.", "parameters": {"type": "object", "properties": {}}}


def called(arguments: Any = "{}", call_id: str | None = "c1", name: str = "get") -> JsonObject:
    call = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return call if call_id is None else {"id": call_id, **call}


def asked(*calls: JsonObject, **more: Any) -> Message:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def answer(content: Any = "warm", call_id: str | None = "c1", **more: Any) -> Message:
    return {"role": "tool", "content": content, **({} if call_id is None else {"tool_call_id": call_id}), **more}


def read(path: Path, *rows: Any, name: str | None = None) -> list[Conversation | Unreadable]:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return list(read_conversations(path, name))


def only(path: Path, *messages: Message, **row: Any) -> Conversation:
    (found,) = read(path, {"messages": list(messages), **row})
    assert isinstance(found, Conversation), found
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.jsonl"


@pytest.mark.parametrize("arguments", [{"n": 2**70}, f'{{"n": {2**70}}}', f' {{"n":{2**70}}} '])
@pytest.mark.parametrize("tools", [[TOOL], [{"type": "function", "function": TOOL}], json.dumps([TOOL])])
def test_every_spelling_is_read_as_the_same(path: Path, arguments: Any, tools: Any) -> None:
    found = only(
        path, {"role": "developer", "content": "Be kind."}, ASK, asked(called(arguments)), answer(), tools=tools
    )
    assert found.system == "Be kind."
    assert found.tools == ({"type": "function", "function": TOOL},)
    assert found.messages == (
        ASK,
        {"role": "assistant", "content": "", "tool_calls": [called({"n": 2**70})]},
        {"role": "tool", "tool_call_id": "c1", "name": "get", "content": "warm"},
    )
    assert found.source == "c.jsonl:1"
    assert found.where == f"{path}:1"


@pytest.mark.parametrize(
    ("message", "content", "reasoning"),
    [
        ({"content": "<think>\nhm\n</think>\n\nYes."}, "Yes.", "hm"),
        ({"content": "Yes.", "reasoning": "hm"}, "Yes.", "hm"),
        ({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Yes."}]}, "Yes.", "hm"),
        ({"content": [{"type": "text", "text": "Y"}, {"type": "text", "text": "es."}]}, "Yes.", None),
        ({"content": "Yes. <think>hm</think>", "reasoning_content": None}, "Yes. <think>hm</think>", None),
        ({"content": "<think>never closed"}, "<think>never closed", None),
    ],
)
def test_reasoning_is_kept_apart(path: Path, message: Message, content: str, reasoning: str | None) -> None:
    found = only(path, ASK, {"role": "assistant", **message}).messages[1]
    assert found == {"role": "assistant", "content": content} | ({"reasoning_content": reasoning} if reasoning else {})


def test_calls_in_parallel_find_their_answers(path: Path) -> None:
    calls = [called(call_id="a", name="one"), called(call_id="b", name="two")]
    found = only(path, ASK, asked(*calls), answer("2", "b"), answer("1", "a"))
    assert [(each["name"], each["content"]) for each in found.messages[2:]] == [("two", "2"), ("one", "1")]
    calls = [called(call_id=None, name="one"), called(call_id=None, name="two")]
    found = only(path, ASK, asked(*calls), answer("2", None, name="two"), answer("1", None))
    assert [(each["name"], each["tool_call_id"]) for each in found.messages[2:]] == [
        ("two", "call_1_1"),
        ("one", "call_1_0"),
    ]
    legacy = {"role": "assistant", "content": "", "function_call": {"name": "get", "arguments": "{}"}}
    found = only(path, ASK, legacy, {"role": "function", "name": "get", "content": "warm"})
    assert found.messages[2]["tool_call_id"] == "call_1_0"


def test_what_has_no_name_here_goes_through(path: Path, tmp_path: Path) -> None:
    image = [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": "u"}}]
    row = {"domain": "desk", "license": "MIT", "reward": 0.5, "seed": "odd", "mine": {"a": [None]}, "source": "s:3"}
    said = {"role": "assistant", "content": "Hm.", "weight": 0, "refusal": "no"}
    found = only(path, {"role": "user", "content": image}, said, **row)
    assert (found.env, found.licence, found.reward, found.seed, found.source) == ("desk", "MIT", 0.5, None, "s:3")
    assert found.extra == {"seed": "odd", "mine": {"a": [None]}}
    assert found.messages[1] == {"role": "assistant", "content": "Hm.", "loss": False, "refusal": "no"}
    out = tmp_path / "out.jsonl"
    write_conversations(out, [found], "openai")
    assert list(read_conversations(out)) == [found]
    written = json.loads(out.read_text())
    assert written["messages"][1]["weight"] == 0
    assert "simia" not in written


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([], "there are no messages"),
        ("hi", "there are no messages"),
        (["hi"], "message 1 is no object"),
        ([{"role": "bot", "content": "hi"}], "message 1 has the role 'bot'"),
        ([ASK, {"role": "assistant", "content": 3}], "the content of message 2 is neither"),
        ([ASK, asked(called("{"))], "call 1 of message 2 has arguments that are a text and no JSON"),
        ([ASK, asked(called("NaN"))], "call 1 of message 2 has arguments that are a text and no JSON"),
        ([ASK, asked(called([]))], "call 1 of message 2 cannot be read"),
        ([ASK, asked(called(name=""))], "call 1 of message 2 cannot be read"),
        ([ASK, asked(called()), answer(call_id="c2")], "message 3 answers the call 'c2', which does not stand open"),
        ([ASK, asked(called()), answer(), answer()], "message 4 answers the call 'c1', which does not stand open"),
        ([ASK, answer(call_id=None)], "message 2 is the answer of a tool, and a call does not stand open"),
        ([ASK, asked(called()), answer(call_id=None, name="x")], "a call of 'x' does not stand open"),
        ([{**ASK, "tool_calls": [called()]}], "message 1 of the role 'user' calls tools"),
    ],
)
def test_what_is_no_conversation_is_told_with_its_line(path: Path, messages: Any, why: str) -> None:
    good, bad, _ = read(path, {"messages": [ASK]}, {"messages": messages}, {"messages": [ASK]}, name="openai")
    assert isinstance(good, Conversation)
    assert isinstance(bad, Unreadable)
    assert bad.where == f"{path}:2"
    assert why in bad.why
    assert "\n" not in str(bad)


def row(text: str = "hi") -> str:
    return json.dumps({"messages": [{"role": "user", "content": text}]})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{row()}\n\n{row()}", {1: "", 3: ""}),
        (f"\ufeff{row()}\n", {1: ""}),
        (f'{row()}\n{{"messages": [\n{row()}\n', {1: "", 2: "is not valid JSON", 3: ""}),
        (f"{row()}\n3\n", {1: "", 2: "is no JSON object"}),
        (f"[\n{row()},\n{row()}\n]\n", {2: "", 3: ""}),
        (f"[{row()},\n{{,\n{row()}]", {1: "", 2: "is not valid JSON"}),
        (f"[{row()}\n{row()}]", {1: "", 2: "goes on without a comma"}),
        (json.dumps(json.loads(row()), indent=1), {1: ""}),
        ("{\n 3", {2: "is not valid JSON"}),
        ("", {}),
    ],
)
def test_each_row_of_a_file_has_its_line(path: Path, text: str, found: dict[int, str]) -> None:
    path.write_text(text, encoding="utf-8")
    seen = {int(each.where.rpartition(":")[2]): each for each in read_conversations(path, "openai")}
    assert seen.keys() == found.keys()
    for line, why in found.items():
        each = seen[line]
        assert isinstance(each, Unreadable if why else Conversation)
        assert not isinstance(each, Unreadable) or why in each.why


def test_a_changed_row_counts_as_it_stands(path: Path) -> None:
    """What a format cannot hold travels beside it, but only as long as nobody has changed what it belongs to."""
    found = Conversation(messages=(ASK, {"role": "assistant", "content": "<think>a</think>b"}), system="", source="s:1")
    write_conversations(path, [found], "openai")
    written = json.loads(path.read_text())
    assert "simia" in written
    assert read(path, written) == [found]
    written["messages"][2]["content"] = "<think>a</think>c"
    assert only(path, *written["messages"]).messages[1]["content"] == "c"
    (changed,) = read(path, written)
    assert isinstance(changed, Conversation)
    assert changed.messages[1] == {"role": "assistant", "content": "c", "reasoning_content": "a"}
    (bad,) = read(path, {**written, "simia": "[]"})
    assert isinstance(bad, Unreadable)


def test_a_broken_package_breaks_its_own_format_only(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = {
        "mine": EntryPoint("mine", "simia_gym.conversations.openai_chat:OpenAIChat", "simia_gym.formats"),
        "openai": EntryPoint("openai", "nowhere:Another", "simia_gym.formats"),
        "odd": EntryPoint("odd", "nowhere:Odd", "simia_gym.formats"),
    }

    def entry_points(group: str, name: str | None = None) -> list[EntryPoint]:
        return [point for point in points.values() if name in (None, point.name)]

    monkeypatch.setattr("simia_gym.conversations.table.entry_points", entry_points)
    formats.cache_clear()
    try:
        assert {"mine", "openai"} <= formats().keys()
        assert len(read(path, {"messages": [ASK]}, name="mine")) == 1
        with pytest.raises(InputError, match=r"'odd' cannot be loaded: ModuleNotFoundError.*Mend nowhere:Odd"):
            read(path, {"messages": [ASK]}, name="odd")
    finally:
        formats.cache_clear()


def test_what_is_nested_deeply_is_read_or_told(path: Path, tmp_path: Path) -> None:
    for depth in (200, 900, 5_000):
        inner = '{"a":' * depth + "1" + "}" * depth
        for arguments in (inner, json.dumps(inner)):
            call = f'{{"id": "c", "function": {{"name": "get", "arguments": {arguments}}}}}'
            said = f'{{"role": "assistant", "content": "", "tool_calls": [{call}]}}'
            path.write_text(f'{{"messages": [{json.dumps(ASK)}, {said}]}}\n')
            (found,) = read_conversations(path, "openai")
            for name in ("openai", "atif", "hermes", "sharegpt"):
                if isinstance(found, Unreadable):
                    continue
                if depth > 200:
                    with pytest.raises(InputError, match=f"c.jsonl:1: cannot be written as {name}"):
                        write_conversations(tmp_path / "out", [found], name)
                else:
                    write_conversations(tmp_path / "out", [found], name)
                    assert [*read_conversations(tmp_path / "out", name)] == [found]


def test_a_file_fits_one_format_or_is_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        detect_format(tmp_path / "missing.jsonl")
    with pytest.raises(InputError, match="is a folder"):
        detect_format(tmp_path)
    for text, what in (("", "holds no JSON"), ("a,b\n", "holds no JSON"), ('{"a": 1}\n', "fits no format")):
        path.write_text(text)
        with pytest.raises(InputError, match=what):
            list(read_conversations(path))
    with pytest.raises(InputError, match="Did you mean 'openai'"):
        list(read_conversations(path, "openia"))
    with pytest.raises(InputError, match="only `simia rollout` writes one"):
        write_conversations(path, [], "record")
    assert set(formats()) >= {"record", "openai"}
