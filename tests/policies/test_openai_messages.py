"""The policy's transcript is encoded once, and always right."""

from __future__ import annotations

import copy
import json

from hypothesis import example, given
from hypothesis import strategies as st

from simia_gym.policies.openai_messages import EncodedTranscript, openai_messages
from simia_gym.types import Message

from ..work import calls_in

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
MESSAGES = st.sampled_from(
    [
        {"role": "system", "content": "Rules."},
        {"role": "user", "content": "Hi", "speaker": "user"},
        {"role": "env", "content": "é"},
        {"role": "assistant", "content": "Hello"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "ok"},
        {"role": "tool", "tool_call_id": "c2", "content": "stray"},
    ]
)


def encoded(transcript: EncodedTranscript, messages: list[Message]) -> object:
    return json.loads(transcript.prompt(messages).messages_json())


@given(st.lists(MESSAGES, min_size=1, max_size=12), st.data())
def test_growing_by_any_steps_gives_what_one_step_gives(messages: list[Message], data: st.DataObject) -> None:
    transcript = EncodedTranscript()
    end = 0
    while end < len(messages):
        end = data.draw(st.integers(end + 1, len(messages)))
        part = copy.deepcopy(messages[:end]) if data.draw(st.booleans()) else messages[:end]
        assert encoded(transcript, part) == openai_messages(part)


ASKING: Message = {"role": "assistant", "content": None, "tool_calls": [CALL]}


@given(st.lists(MESSAGES, max_size=8), st.lists(MESSAGES, max_size=8))
@example(
    [ASKING, ASKING, {"role": "assistant", "content": "Hello"}],
    [ASKING, ASKING, {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "ok"}],
)
def test_a_transcript_that_does_not_go_on_is_encoded_anew(first: list[Message], second: list[Message]) -> None:
    transcript = EncodedTranscript()
    encoded(transcript, first)
    assert encoded(transcript, second) == openai_messages(second)


def test_a_message_that_was_changed_in_place_is_encoded_anew() -> None:
    messages: list[Message] = [copy.deepcopy(ASKING), {"role": "tool", "tool_call_id": "c1", "content": "before"}]
    transcript = EncodedTranscript()
    encoded(transcript, messages)
    messages[1]["content"] = "after"
    assert encoded(transcript, messages) == openai_messages(messages)
    messages[0]["tool_calls"][0]["function"]["name"] = "g"
    messages.append({"role": "assistant", "content": "Hello"})
    assert encoded(transcript, messages) == openai_messages(messages)


def test_late_turns_cost_little() -> None:
    messages: list[Message] = [{"role": "system", "content": "Rules."}]
    transcript = EncodedTranscript()
    for turn in range(120):
        messages += [{"role": "assistant", "content": "a" * 2000}, {"role": "user", "content": "b" * 2000}]
        if turn == 100:
            anew, _ = calls_in(EncodedTranscript().prompt, messages)
            assert calls_in(transcript.prompt, messages)[0] < anew / 4
        transcript.prompt(messages)


def test_transcripts_are_made_valid() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    lost = {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}}
    messages: list[Message] = [
        {"role": "env", "content": "start"},
        {"role": "assistant", "content": None},
        {"role": "tool", "content": "Error: malformed", "error_code": "malformed_call"},
        {"role": "assistant", "content": "hm", "tool_calls": [call, lost]},
        {"role": "tool", "tool_call_id": "zz", "content": "stray"},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        {"role": "assistant", "content": None, "tool_calls": [lost]},
    ]
    before = json.dumps(messages)
    assert openai_messages(messages) == [
        {"role": "user", "content": "start"},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "Error: malformed"},
        {"role": "assistant", "content": "hm", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        {"role": "user", "content": "stray"},
        {"role": "assistant", "content": ""},
    ]
    assert json.dumps(messages) == before
