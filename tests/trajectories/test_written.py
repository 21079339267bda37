"""The written form of a trajectory keeps every text, and says where a text is none."""

from __future__ import annotations

import pytest

from simia_gym.trajectories.written import UnreadableText, from_text, to_text

from .test_findings import right


def test_there_and_back() -> None:
    messages = right()
    messages[0] = {"role": "user", "content": 'HUMAN: a\n{"end": true}\n\n  b \u2028'}
    messages[3] = {**messages[3], "reasoning_content": "Say it."}
    read = from_text(to_text(messages))
    assert read.repaired == 0
    assert to_text(read.messages) == to_text(messages)
    ids = [call["id"] for message in read.messages for call in message.get("tool_calls", ())]
    assert [message["tool_call_id"] for message in read.messages if message["role"] == "tool"] == ids


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ('```json\n{"user": "a"}\n{"assistant": "b"}\n{"end": true}\n```', 0),
        ('{"user": "a"},\n{"assistant": "b"},\n{"end": true}', 0),
        ('{\n "user": "a"\n}\n{\n "assistant": "b"\n}\n{"end": true}', 0),
        ('{\'user\': \'a\'}\n{"assistant": "b",}\n{"end": true}', 2),
        ('{"user": "a"}\n{"assistant": "b"}\n{"end": true}\nI hope that helps.', 0),
    ],
)
def test_other_ways_of_writing_it(text: str, repaired: int) -> None:
    read = from_text(text)
    assert [message["content"] for message in read.messages] == ["a", "b"]
    assert read.repaired == repaired


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "cut_off", 1),
        ('{"user": "a"}\n{"assistant": "b"}', "cut_off", 2),
        ('{"user": "a"}\n{"assistant": "b', "unreadable", 2),
        ("USER: a\nASSISTANT: b", "unreadable", 1),
        ('{"user": "a", "assistant": "b"}\n{"end": true}', "unreadable", 1),
        ('{"user": 3}\n{"end": true}', "unreadable", 1),
        ('["user", "a"]', "unreadable", 1),
    ],
)
def test_what_is_no_trajectory(text: str, code: str, line: int) -> None:
    with pytest.raises(UnreadableText) as caught:
        from_text(text)
    assert (caught.value.code, caught.value.line) == (code, line)
