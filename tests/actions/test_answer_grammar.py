"""The grammar of the office: objects between tags, as models write them."""

from __future__ import annotations

import pytest

from simia_gym.envs.officebench.grammar import AnswerGrammar
from simia_gym.errors import ActionError
from simia_gym.types import Calls, ToolCall

SWITCH = ToolCall("system_switch_app", {"target_app": "excel"})
READ = ToolCall("excel_read_file", {"file_path": "data/a.xlsx"})


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ('<answer>{"app": "system", "action": "switch_app", "target_app": "excel"}</answer>', SWITCH),
        ('<answer>\n{"app": "system",\n "action": "switch_app",\n "target_app": "excel"}\n</answer>', SWITCH),
        ("<think>Excel\nit is.</think>\n<answer>{'action': 'switch_app', 'target_app': 'excel'}</answer>", SWITCH),
        ('{"app": "system", "action": "switch_app", "target_app": "excel"}', SWITCH),
        ('I read it. <answer>{"app": "excel", "action": "read_file", "file_path": "data/a.xlsx"}</answer>', READ),
        ('<answer>{"app": "excel", "action": "excel_read_file", "file_path": ["data/a.xlsx"]}</answer>', READ),
        ('<answer>{"action": "excel.read_file", "file_path": "data/a.xlsx"}</answer>', READ),
        ("<Answer>{'app': 'excel', 'action': 'excel.read_file', 'file_path': 'data/a.xlsx'}</Answer>", READ),
    ],
)
def test_an_object_is_a_call(text: str, call: ToolCall) -> None:
    action = AnswerGrammar().parse(text)
    assert isinstance(action, Calls)
    assert [(one.name, dict(one.arguments)) for one in action.calls] == [(call.name, dict(call.arguments))]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty_action"),
        ("<think>nothing</think>", "empty_action"),
        ("I have done it.", "no_action"),
        ('<answer>{"app": "excel"', "unclosed_call"),
        ("<answer>read the file</answer>", "bad_json"),
        ('<answer>{"app": "excel", "action": open("x")}</answer>', "bad_json"),
        ("<answer>{1: 2}</answer>", "bad_json"),
        ('<answer>{"app": "excel"}</answer>', "bad_call"),
        ('<answer>{"app": 3, "action": "read_file"}</answer>', "bad_call"),
    ],
)
def test_what_is_no_action_is_refused_with_an_example(text: str, code: str) -> None:
    with pytest.raises(ActionError) as caught:
        AnswerGrammar().parse(text)
    assert caught.value.code == code
    assert "<answer>{" in str(caught.value)
