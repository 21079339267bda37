"""The policy's transcript is encoded once, and always right."""

from __future__ import annotations

import copy
import json

from hypothesis import example, given
from hypothesis import strategies as st

from simia_gym.policies.encoded import EncodedTranscript
from simia_gym.policies.transcript import one_call, openai_messages
from simia_gym.types import Message

from ..work import calls_in

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
PLAIN = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ANSWERED: Message = {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "ok"}
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


CONTENTS = st.sampled_from([None, "", "Hello", ["parts"]])
CALLS = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from(["c1", "c2", None, 3])},
        optional={
            "function": st.sampled_from([{"name": "f", "arguments": "{}"}, {"name": "f", "arguments": {}}, {}, None]),
            "extra": st.just(1),
        },
    ),
    max_size=2,
)
SAID = st.fixed_dictionaries({"role": st.sampled_from(["assistant", "user"]), "content": CONTENTS})
ASKED = st.builds(lambda said, calls: {**said, "tool_calls": calls}, SAID, CALLS)
SHOWN = st.fixed_dictionaries(
    {"role": st.sampled_from(["tool", "user"]), "content": CONTENTS},
    optional={"tool_call_id": st.sampled_from(["c1", "c2", 3, None]), "name": st.just("f")},
)


@given(st.one_of(SAID, ASKED), SHOWN)
@example({"role": "assistant", "content": "", "tool_calls": [PLAIN]}, ANSWERED)
def test_the_short_way_of_a_call_and_its_answer_gives_what_the_long_one_gives(said: Message, shown: Message) -> None:
    short = one_call([said, shown])
    assert short is None or list(short) == openai_messages([said, shown])


def test_most_turns_take_the_short_way() -> None:
    assert one_call([{"role": "assistant", "content": None, "tool_calls": [PLAIN]}, ANSWERED]) is not None
    assert one_call([{"role": "assistant", "content": "Hi"}]) is None
    assert one_call([{"role": "assistant", "content": "Hi"}, {"role": "user", "content": "Ho"}]) is None


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


def test_the_beginning_is_the_same_bytes_and_not_encoded_again() -> None:
    messages: list[Message] = [{"role": "system", "content": "Rules."}, {"role": "user", "content": "Hi"}]
    transcript = EncodedTranscript()
    before = transcript.prompt(messages).chunks
    for turn in range(50):
        messages += [{"role": "assistant", "content": f"{turn}"}, {"role": "user", "content": "x" * 1000}]
        prompt = transcript.prompt(messages)
        assert all(old is new for old, new in zip(before[:-2], prompt.chunks, strict=False))
        assert b"".join(prompt.chunks).startswith(b"".join(before))
        before = prompt.chunks


def test_an_answer_that_was_changed_in_place_is_encoded_anew() -> None:
    messages: list[Message] = [ASKING, {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "before"}]
    transcript = EncodedTranscript()
    encoded(transcript, messages)
    messages[1]["content"] = "after"
    assert encoded(transcript, messages) == openai_messages(messages)
    messages[1]["content"] = "at last"
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
