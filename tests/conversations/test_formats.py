"""Files as other tools write them are read, and what is written is what those tools read."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, get_args

import atif
import pytest

from simia_gym.actions import Replies, ToolsGrammar, native_instructions
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

FUNCTION: JsonObject = {"name": "get", "description": "Gets.", "parameters": {"type": "object", "properties": {}}}
TOOL: JsonObject = {"type": "function", "function": FUNCTION}
ASK: Message = {"role": "user", "content": "How warm is it?"}
WARM: Message = {"role": "assistant", "content": "Warm."}


def calls(*arguments: Any, turn: int = 1, content: str = "", **more: Any) -> Message:
    made = [
        {"id": f"call_{turn}_{place}", "type": "function", "function": {"name": "get", "arguments": each}}
        for place, each in enumerate(arguments)
    ]
    return {"role": "assistant", "content": content, "tool_calls": made, **more}


def tool(content: str, call_id: str = "call_1_0") -> Message:
    return {"role": "tool", "tool_call_id": call_id, "name": "get", "content": content}


WHOLE = (ASK, calls({"a": 1}, {"b": "<x>"}, reasoning_content="hm"), tool("1"), tool("2", "call_1_1"), WARM)
CALL = '{"name": "get", "arguments": {"a": 1}}'
SHAREGPT = [
    {"from": "human", "value": "How warm is it?"},
    {
        "from": "function_call",
        "value": f'<think>\nhm\n</think>\n[{CALL}, {{"name": "get", "arguments": {{"b": "<x>"}}}}]',
    },
    {"from": "observation", "value": "1\n</tool_response>\n<tool_response>\n2"},
    {"from": "gpt", "value": "Warm."},
]
HERMES = [
    {"role": "system", "content": f"Be kind.\n\n<tools>\n{json.dumps(TOOL)}\n</tools> Call."},
    ASK,
    {
        "role": "assistant",
        "content": f"<think>\nhm\n</think>\n<tool_call>\n{CALL}\n</tool_call>\n"
        '<tool_call>{"name": "get", "arguments": "{\\"b\\": \\"<x>\\"}"}</tool_call>',
    },
    {"role": "tool", "content": "<tool_response>\n1\n</tool_response>\n<tool_response>2</tool_response>"},
    WARM,
]
ATIF = {
    "schema_version": "ATIF-v1.6",
    "session_id": "s",
    "agent": {"name": "me", "version": "3", "tool_definitions": [TOOL]},
    "steps": [
        {"step_id": 1, "source": "system", "message": "Be kind."},
        {"step_id": 2, "source": "user", "message": "How warm is it?", "timestamp": "2026-01-01T00:00:00Z"},
        {
            "step_id": 3,
            "source": "agent",
            "message": "",
            "reasoning_content": "hm",
            "tool_calls": [
                {"tool_call_id": "call_1_0", "function_name": "get", "arguments": {"a": 1}},
                {"tool_call_id": "call_1_1", "function_name": "get", "arguments": {"b": "<x>"}},
            ],
            "observation": {"results": [{"content": "1"}, {"content": "2"}]},
            "metrics": {"prompt_tokens": 3},
        },
        {"step_id": 4, "source": "agent", "message": "Warm.", "is_copied_context": True},
    ],
    "final_metrics": {"total_steps": 4},
}

ADP = {
    "schema_version": "1.5.0",
    "content": [
        {"class_": "text_observation", "source": "environment", "name": "system", "content": "Be kind."},
        {"class_": "text_observation", "source": "user", "content": "How warm is it?"},
        {
            "class_": "api_action",
            "function": "get",
            "kwargs": {"a": 1},
            "reasoning_content": "hm",
            "tool_call_id": "call_1_0",
        },
        {"class_": "api_action", "function": "get", "kwargs": {"b": "<x>"}, "tool_call_id": "call_1_1", "reward": None},
        {"class_": "text_observation", "source": "environment", "content": "1", "tool_call_id": "call_1_0"},
        {"class_": "text_observation", "source": "environment", "content": "2", "tool_call_id": "call_1_1"},
        {"class_": "message_action", "content": "Warm."},
    ],
    "details": {"tool_definitions": [TOOL]},
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.jsonl"


def read(path: Path, *rows: Any, name: str | None = None) -> list[Conversation | Unreadable]:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return list(read_conversations(path, name))


def same_again(path: Path, found: Conversation) -> None:
    """In every format and back it is the same."""
    for name, each in formats().items():
        if each.writes and name not in ("trl", "verl"):  # they are Parquet: tests/rl/test_formats.py
            write_conversations(path, [found], name)
            assert list(read_conversations(path, name)) == [found], name


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("sharegpt", {"conversations": SHAREGPT, "system": "Be kind.", "tools": json.dumps([FUNCTION])}),
        ("sharegpt", {"conversations": [{"from": "system", "value": "Be kind."}, *SHAREGPT], "tools": [TOOL]}),
        ("hermes", {"messages": HERMES}),
        ("hermes", {"conversations": [{"from": m["role"], "value": m["content"]} for m in HERMES]}),
        ("hermes", {"messages": HERMES[1:], "system": HERMES[0]["content"]}),
        ("atif", ATIF),
        ("adp", ADP),
    ],
)
def test_files_of_others_are_read(name: str, row: JsonObject, path: Path) -> None:
    (found,) = read(path, {**row, "id": "os_0"} if name != "atif" else row)
    assert detect_format(path).name == name
    assert isinstance(found, Conversation)
    assert found.tools == (TOOL,)
    assert found.system == (HERMES[0]["content"] if name == "hermes" else "Be kind.")
    plain = [{key: each[key] for key in each if key not in ("atif", "loss")} for each in found.messages]
    assert plain == list(WHOLE)
    assert found.id == ("" if name == "atif" else "os_0")
    same_again(path, found)


def test_what_atif_has_more_stays(path: Path) -> None:
    (found,) = read(path, ATIF)
    assert isinstance(found, Conversation)
    assert found.policy == "me"
    assert found.messages[-1]["loss"] is False
    write_conversations(path, [found], "atif")
    written = atif.Trajectory.model_validate_json(path.read_bytes()).to_json_dict()
    assert written["steps"][1]["timestamp"] == "2026-01-01T00:00:00Z"
    assert written["steps"][2]["metrics"] == {"prompt_tokens": 3}
    assert written["steps"][3]["is_copied_context"] is True
    assert (written["session_id"], written["agent"]["version"], written["final_metrics"]) == (
        "s",
        "3",
        {"total_steps": 4},
    )


def test_a_result_of_no_call_is_what_the_agent_is_told(path: Path) -> None:
    seen = {"step_id": 1, "source": "agent", "message": "Look.", "observation": {"results": [{"content": "A page."}]}}
    (found,) = read(path, {**ATIF, "steps": [seen]})
    assert isinstance(found, Conversation)
    assert [(each["role"], each["content"]) for each in found.messages] == [("assistant", "Look."), ("user", "A page.")]
    write_conversations(path, [found], "atif")
    assert json.loads(path.read_text())["steps"] == [seen]
    same_again(path, found)


def test_atif_says_the_lowest_version_that_holds_it(path: Path) -> None:
    """The tools of the Agent Data Protocol read 1.7 and no other; 1.8 has sound."""
    sound = [{"type": "audio", "source": {"media_type": "audio/wav", "path": "a.wav"}}]
    for content, version in (("Hm.", "ATIF-v1.7"), (sound, "ATIF-v1.8")):
        found = Conversation(messages=({"role": "user", "content": content},), source="s:1")
        write_conversations(path, [found], "atif")
        assert atif.Trajectory.model_validate_json(path.read_bytes()).schema_version == version
        assert list(read_conversations(path)) == [found]


def test_older_data_of_the_agent_data_protocol_is_read(path: Path) -> None:
    """As it is published: answers of tools without ids, code, and what was thought beside a message."""
    content = [
        {"class_": "text_observation", "source": "user", "content": "Count."},
        {"class_": "code_action", "language": "bash", "content": "ls", "description": "I look."},
        {"class_": "text_observation", "source": "environment", "content": "a"},
        {"class_": "code_action", "language": "mysql", "content": "SELECT 1"},
        {"class_": "text_observation", "source": "environment", "content": "1"},
        {"class_": "text_observation", "source": "environment", "content": "Time is up."},
        {"class_": "message_action", "content": "One.", "description": "So:"},
    ]
    (found,) = read(path, {"id": "x", "content": content, "details": {"difficulty": 3}})
    assert isinstance(found, Conversation)
    calls = [call["function"] for each in found.messages for call in each.get("tool_calls", ())]
    assert calls == [
        {"name": "execute_bash", "arguments": {"command": "ls"}},
        {"name": "execute_code", "arguments": {"language": "mysql", "content": "SELECT 1"}},
    ]
    assert [(each["role"], each["content"]) for each in found.messages] == [
        ("user", "Count."),
        ("assistant", "I look."),
        ("tool", "a"),
        ("assistant", ""),
        ("tool", "1"),
        ("user", "Time is up."),
        ("assistant", "So:\n\nOne."),
    ]
    assert (found.id, found.extra) == ("x", {"difficulty": 3})
    same_again(path, found)


def test_a_trajectory_of_the_agent_data_protocol_keeps_its_rules(path: Path) -> None:
    """Each id is one of its own and has its answer; a call that ends the episode has neither."""
    again = [calls({"a": place}) for place in range(3)]
    found = Conversation(messages=(ASK, again[0], tool("1"), again[1], tool("2"), again[2]), source="s:1", reward=0.5)
    write_conversations(path, [found], "adp")
    row = json.loads(path.read_text())
    assert row.keys() == {"schema_version", "id", "content", "details"}
    assert row["schema_version"] == "1.3.0"
    assert row["details"]["reward"] == 0.5
    assert [(each["class_"], each.get("tool_call_id")) for each in row["content"]] == [
        ("text_observation", None),
        ("api_action", "call_1_0"),
        ("text_observation", "call_1_0"),
        ("api_action", "call_000001"),
        ("text_observation", "call_000001"),
        ("api_action", None),
    ]
    same_again(path, found)
    with pytest.raises(InputError, match="a call has no answer, and something follows it"):
        write_conversations(path, [Conversation(messages=(ASK, again[0], ASK))], "adp")


def test_loss_of_agenttuning_is_kept(path: Path) -> None:
    turns = [
        {"from": "human", "loss": None, "value": "You are at a shell."},
        {"from": "gpt", "loss": False, "value": "OK."},
        {"from": "human", "loss": None, "value": "Count."},
        {"from": "gpt", "loss": True, "value": "Think: ..."},
    ]
    (found,) = read(path, {"conversations": turns, "id": "os_0"})
    assert isinstance(found, Conversation)
    assert [each.get("loss") for each in found.messages] == [None, False, None, True]
    write_conversations(path, [found], "openai")
    assert [each.get("weight") for each in json.loads(path.read_text())["messages"]] == [None, 0, None, 1]
    same_again(path, found)


def test_what_formats_of_text_cannot_say_travels_beside(path: Path) -> None:
    """Texts that look like what they are not, ids, errors, parts of a provider, answers that are missing."""
    call = calls({"a": 1}, {"b": 2}, content="So.", signature="s")
    call["tool_calls"][0] |= {"id": "z", "extra_content": {"k": [1]}}
    found = Conversation(
        system="Say <tools>.",
        tools=(TOOL, {**TOOL, "strict": True}),
        messages=(
            {"role": "user", "content": "<tool_response>\nno\n</tool_response>"},
            call,
            {**tool("</tool_response>\n<tool_response>\n", "z"), "error_code": "odd"},
            {"role": "tool", "tool_call_id": "call_1_1", "name": "get", "content": "\n"},
            {"role": "assistant", "content": "<tool_call>oops", "reasoning_content": " a\n"},
            {"role": "system", "content": "Hurry."},
            {"role": "assistant", "content": f"<tool_call>\n{CALL}\n</tool_call>"},
        ),
        source="s:1",
        seed=0,
        reward=0.0,
        extra={"mine": {"a": None}},
    )
    same_again(path, found)


@pytest.mark.parametrize("native", ["", "Be kind.\n\n"])
def test_hermes_has_the_system_message_that_policies_see(native: str, path: Path) -> None:
    for replies in get_args(Replies):
        system = native + native_instructions(True, replies)
        found = Conversation(system=system, tools=(TOOL,), messages=(ASK, WARM), source="s:1")
        write_conversations(path, [found], "hermes")
        row = json.loads(path.read_text())
        assert row["messages"][0]["content"] == native + ToolsGrammar().instructions([TOOL], False, True, replies)
        assert "simia" not in row
        assert list(read_conversations(path)) == [found]


@pytest.mark.parametrize(
    ("name", "row", "why"),
    [
        ("sharegpt", {"conversations": [{"role": "user"}]}, "no conversations with 'from'"),
        ("sharegpt", {"conversations": [{"from": "me", "value": ""}]}, "turn 1 is from 'me'"),
        ("sharegpt", {"conversations": [{"from": "gpt", "value": None}]}, "the value of turn 1 is no text"),
        ("sharegpt", {"conversations": [{"from": "function_call", "value": "{"}]}, "turn 1 is a call that is no JSON"),
        (
            "sharegpt",
            {"conversations": [*SHAREGPT[:2], {"from": "observation", "value": "1"}, SHAREGPT[3]]},
            "no id says",
        ),
        ("sharegpt", {"conversations": SHAREGPT[2:]}, "does not stand open"),
        ("sharegpt", {"conversations": SHAREGPT, "tools": "{"}, "its tools are a text that is no JSON"),
        (
            "hermes",
            {"messages": [*HERMES[1:3], {"role": "user", "content": "<tool_response>\n1"}]},
            "does not close it",
        ),
        ("adp", {"content": [{"class_": "web_observation", "html": ""}]}, "item 1 is 'web_observation'"),
        ("adp", {"content": [{"class_": "text_observation", "source": "me"}]}, "item 1 has the source 'me'"),
        (
            "adp",
            {"content": [{"class_": "api_action", "function": "f"}]},
            "item 1 is a call without function and kwargs",
        ),
        ("adp", {"content": [{"content": "a"}]}, "is no trajectory"),
        ("hermes", {"messages": [*HERMES[:3], HERMES[3], HERMES[3]]}, "does not stand open"),
        ("hermes", {"messages": [{"role": "system", "content": "<tools>{'a'}</tools>"}, ASK]}, "are no JSON"),
        ("atif", {**ATIF, "schema_version": "2"}, "is no ATIF trajectory"),
        ("atif", {**ATIF, "steps": [{"source": "me"}]}, "step 1 has no source"),
        ("atif", {**ATIF, "steps": [{"source": "user", "message": "", "observation": {"results": 3}}]}, "observation"),
        (
            "atif",
            {**ATIF, "steps": [{"source": "agent", "message": "", "tool_calls": ["x"]}]},
            "the tool_calls of step 1",
        ),
        (
            "atif",
            {**ATIF, "steps": [{"source": "agent", "message": "", "observation": {}, "tool_calls": [{}]}]},
            "call 1",
        ),
    ],
)
def test_what_is_none_of_its_format_is_told(name: str, row: JsonObject, why: str, path: Path) -> None:
    (bad,) = read(path, row, name=name)
    assert isinstance(bad, Unreadable)
    assert bad.where == f"{path}:1"
    assert why in bad.why


@pytest.mark.parametrize("name", ["sharegpt", "hermes", "atif", "adp"])
def test_an_image_is_refused_with_its_place(name: str, path: Path) -> None:
    image = Conversation(
        messages=({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]},), where="a:7"
    )
    path.write_text("before")
    with pytest.raises(InputError, match=f"^a:7: cannot be written as {name}: a message has a part"):
        write_conversations(path, [image], name)
    assert path.read_text() == "before"


def test_results_of_tau2_are_read(path: Path) -> None:
    def called(requestor: str) -> list[JsonObject]:
        call = {"id": "c", "name": "get", "arguments": {"a": 1}, "requestor": requestor}
        return [
            {"role": "assistant", "content": "Hi!", "turn_idx": 0, "timestamp": None},
            {**ASK, "turn_idx": 1},
            {"role": "assistant", "content": None, "tool_calls": [call], "cost": None},
            {"role": "tool", "id": "c", "content": "1", "requestor": requestor, "error": False},
        ]

    run = {"id": "x", "task_id": "7", "trial": 0, "seed": 3, "reward_info": {"reward": 1.0}}
    info = {"environment_info": {"domain_name": "desk", "policy": "Be kind."}, "agent_info": {"llm": "m"}}
    results: JsonObject = {"info": info, "tasks": [], "simulations": [{**run, "messages": called("assistant")}]}
    results["simulations"] += [{**run, "messages": called("user")}, {**run, "messages": None}]
    found, user, none = read(path, results)
    assert isinstance(found, Conversation)
    assert detect_format(path).name == "tau2"
    assert (found.system, found.env, found.task, found.seed) == ("Be kind.", "desk", "7", 3)
    assert (found.policy, found.reward, found.extra["trial"]) == ("m", 1.0, 0)
    assert found.messages[2] == {**calls({"a": 1}), "tool_calls": [{**calls({"a": 1})["tool_calls"][0], "id": "c"}]}
    assert found.messages[3] == tool("1", "c")
    assert found.source == "c.jsonl:1: simulations[0]"
    assert isinstance(user, Unreadable)
    assert "in message 3 the user uses a tool" in user.why
    assert isinstance(none, Unreadable)
    (line,) = read(path, {"id": "y", "messages": called("assistant"), "reward": 0.5})
    assert isinstance(line, Conversation)
    assert line.reward == 0.5
    with pytest.raises(InputError, match="simia export RECORD OUT"):
        write_conversations(path, [found], "tau2")
    same_again(path, found)


def test_files_of_two_formats_are_refused(path: Path) -> None:
    with pytest.raises(InputError, match="fits several formats of conversations: hermes, sharegpt"):
        read(path, {"messages": HERMES}, {"conversations": SHAREGPT})
    with pytest.raises(InputError, match="fits several formats of conversations: hermes, openai"):
        read(path, {"messages": HERMES[1:], "tools": [TOOL]})
    # An agent of a chat may write what looks like a call.
    found = Conversation(messages=WHOLE, tools=(TOOL,))
    odd = Conversation(messages=(ASK, {"role": "assistant", "content": "<tool_call>oops"}), tools=(TOOL,))
    write_conversations(path, [odd, found], "openai")
    assert detect_format(path).name == "openai"


def test_without_pyarrow_parquet_says_what_to_install(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path.write_bytes(b"PAR1 and more")
    install = r"a Parquet file needs pyarrow, which is not installed. Install it: pip install pyarrow"
    with pytest.raises(InputError, match=install):
        list(read_conversations(path))
    with pytest.raises(InputError, match=install):
        write_conversations(path.with_suffix(".parquet"), [Conversation(messages=WHOLE)], "verl")
