"""The tokens of an episode: what was sampled stays as it was, and what was heard is encoded as verl encodes it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from simia_gym.errors import InputError

from .libraries import need
from .tiny import FORGETFUL, LLAMA_MARKS, OFF, make_tokenizer

need("transformers", "tokenizers", "torch")

from simia_gym.policies.base import Thinking
from simia_gym.rl.chat.template import CONTROL, END, MARKS, START, chat_template
from simia_gym.rl.chat.thinking import template_arguments
from simia_gym.rl.chat.tokens import ChatTokens, Conversation, template_message
from simia_gym.rl.small.tokenizer import train_tokenizer

SYSTEM = {"role": "system", "content": "Serve the customer."}
USER = {"role": "user", "content": "Where is #W9429697?"}
CALL = {"role": "assistant", "content": '<tool_call>\n{"name": "get", "arguments": {"id": "#W9429697"}}\n</tool_call>'}
FIRST = {"role": "tool", "content": "on its way", "name": "get"}
SECOND = {"role": "tool", "content": "nowhere", "name": "get"}
SAID = {"role": "assistant", "content": "It is on its way."}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return train_tokenizer([[SYSTEM, USER, CALL, FIRST, SAID]] * 3, vocab=600)


def test_calls_in_the_openai_layout_are_written_as_a_policy_says_them(tokenizer: Any) -> None:
    calls = [{"type": "function", "function": {"name": "get", "arguments": '{"id": "#W9429697"}'}}]
    listed = {"role": "assistant", "content": "", "tool_calls": calls}
    render = tokenizer.apply_chat_template
    assert render([USER, listed], tokenize=False) == render([USER, CALL], tokenize=False)


def test_only_what_the_policy_says_is_marked_as_generated(tokenizer: Any) -> None:
    made = tokenizer.apply_chat_template(
        [SYSTEM, USER, CALL, FIRST, SAID], return_dict=True, return_assistant_tokens_mask=True
    )
    ids = [item for item, mask in zip(made["input_ids"], made["assistant_masks"], strict=True) if mask]
    assert tokenizer.decode(ids) == f"{CALL['content']}{END}{SAID['content']}{END}"


def test_marks_are_text_and_control_tokens_are_not(tokenizer: Any) -> None:
    text = f"{START}{''.join(MARKS)} said{END}"
    ids = tokenizer.encode(text, add_special_tokens=False)
    assert tokenizer.decode(ids, skip_special_tokens=True) == f"{''.join(MARKS)} said"
    assert [tokenizer.convert_tokens_to_ids(token) for token in CONTROL] == [0, 1, 2]


OPENING = [{"role": "system", "content": "You are an agent."}, {"role": "user", "content": "Guess the digit."}]
TOOL = {"role": "tool", "content": "too low", "name": "guess", "tool_call_id": "a", "error_code": None}
TURNS: list[list[dict[str, Any]]] = [
    [TOOL],
    [{"role": "user", "content": "And now?\n"}],
    [{**TOOL, "content": '{"a": 1}'}, {**TOOL, "content": ""}, {"role": "user", "content": "Both."}],
    [{"role": "system", "content": "Once more."}],
    [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}],
]


def trl_template(name: str) -> str:
    spec = importlib.util.find_spec("trl")
    if spec is None or spec.origin is None:
        pytest.skip("trl, whose chat templates these are, is not installed")
    return (Path(spec.origin).parent / "chat_templates" / f"{name}.jinja").read_text()


def test_what_was_sampled_is_kept_token_for_token() -> None:
    tokenizer = make_tokenizer(chat_template())
    talk = Conversation(tokenizer, OPENING)
    start = list(talk.ids)
    letters = [tokenizer.encode(letter)[0] for letter in "too"]  # not how the tokenizer would write the word
    assert letters != tokenizer.encode("too")
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    text = talk.said([*letters, end], [-1.0, -2.0, -3.0, -4.0])
    assert text == "too"
    talk.heard([TOOL])
    assert talk.ids[: len(start)] == start
    assert talk.prompt_length == len(start)
    sampled = [item for item, mask in zip(talk.ids, talk.mask, strict=True) if mask]
    assert sampled == [*letters, end]
    assert [value for value, mask in zip(talk.logprobs, talk.mask, strict=True) if mask] == [-1.0, -2.0, -3.0, -4.0]
    assert all(value == 0.0 for value, mask in zip(talk.logprobs, talk.mask, strict=True) if not mask)
    assert len(talk.ids) == len(talk.mask) == len(talk.logprobs)
    assert tokenizer.decode(talk.ids).endswith(
        "too<|im_end|>\n<|im_start|>user\n<tool_response>\ntoo low\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )


def test_canonical_turns_give_what_the_template_gives_for_the_whole() -> None:
    tokenizer = make_tokenizer(chat_template())
    talk, messages = Conversation(tokenizer, OPENING), list(OPENING)
    for place, heard in enumerate(TURNS):
        said = f'<tool_call>\n{{"n": {place}}}\n</tool_call>'
        text = talk.said([*tokenizer.encode(said), tokenizer.eos_token_id])
        assert text == said
        messages += [{"role": "assistant", "content": said}, *heard]
        talk.heard(heard)
        plain = [template_message(message) for message in messages]
        whole = tokenizer.apply_chat_template(plain, add_generation_prompt=True, return_dict=False)
        assert talk.ids == whole


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "cut off"])
@pytest.mark.parametrize("thinking", ["keep", "never"])
@pytest.mark.parametrize("name", ["ours", "forgetful", "qwen3", "qwen2_5", "qwen3_instruct_2507"])
def test_the_ids_are_those_of_verl(name: str, thinking: Thinking, closed: bool) -> None:
    need("verl")
    from verl.utils.tokenizer.continuous_token import QwenContinuousTokenBuilder

    ours = {"ours": chat_template(), "forgetful": FORGETFUL}
    tokenizer = make_tokenizer(ours.get(name) or trl_template(name))
    builder = QwenContinuousTokenBuilder(tokenizer, chat_template_kwargs=template_arguments(thinking))
    messages = [dict(message) for message in OPENING]
    ids = builder.build_initial_tokens(messages)
    talk = Conversation(tokenizer, OPENING, thinking)
    assert talk.ids == ids
    mask: list[int] = []
    logprobs: list[float] | None = []
    for place, heard in enumerate(TURNS):
        said = tokenizer.encode(f"<think>it is {place}</think> digit {place} <tool_call>")
        said += [talk.end_id] if closed else []
        values = [-float(number) for number in range(1, len(said) + 1)]
        merged = builder.merge_assistant_tokens(ids, said)
        mask, logprobs = builder.align_response_metadata(merged, mask, logprobs, assistant_logprobs=values)
        ids = merged.token_ids
        before = [*messages, {"role": "assistant", "content": talk.said(said, values)}]
        messages = [*before, *(template_message(message) for message in heard)]
        merged = builder.merge_context_tokens(before, messages, ids)
        mask, logprobs = builder.align_response_metadata(merged, mask, logprobs)
        ids = merged.token_ids
        talk.heard(heard)
        assert talk.ids == ids
        assert talk.mask[talk.prompt_length :] == mask
        assert talk.logprobs[talk.prompt_length :] == logprobs


def test_a_template_of_another_kind() -> None:
    tokenizer = make_tokenizer(trl_template("llama3"), marks=LLAMA_MARKS, end="<|eot_id|>")
    chat = ChatTokens.of(tokenizer)
    assert chat.end_id == tokenizer.eos_token_id
    assert chat.separator == ()
    talk = Conversation(tokenizer, OPENING)
    talk.said([*tokenizer.encode("Four."), tokenizer.eos_token_id])
    talk.heard([{"role": "user", "content": "Higher."}])
    messages = [*OPENING, {"role": "assistant", "content": "Four."}, {"role": "user", "content": "Higher."}]
    assert talk.ids == tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)


def test_what_the_policy_wrote_changes_nothing_around_it() -> None:
    tokenizer = make_tokenizer(chat_template())
    added = []
    for said in ("</tool_response><|im_end|>", "<think>", "", "\n\n"):
        talk = Conversation(tokenizer, OPENING)
        talk.said([*tokenizer.encode(said), tokenizer.eos_token_id])
        before = len(talk.ids)
        talk.heard([TOOL])
        added.append(talk.ids[before:])
    assert all(ids == added[0] for ids in added)


def test_thinking_is_turned_off_where_there_is_a_switch_or_nothing_to_turn_off() -> None:
    for template, opening in ((trl_template("qwen3"), OFF), (FORGETFUL, OFF), (chat_template(), "")):
        tokenizer = make_tokenizer(template)
        for thinking, end in (("keep", ""), ("never", opening)):
            talk = Conversation(tokenizer, OPENING, thinking)  # type: ignore[arg-type]
            for _ in range(2):
                assert tokenizer.decode(talk.ids).endswith(f"<|im_start|>assistant\n{end}")
                talk.said([*tokenizer.encode("digit"), tokenizer.eos_token_id])
                talk.heard([TOOL])
    with pytest.raises(InputError, match=r"no switch 'enable_thinking'.*Set thinking to keep"):
        ChatTokens(make_tokenizer(trl_template("deepseek_r1_distill")), "never")


def test_mistakes_are_named() -> None:
    tokenizer = make_tokenizer(chat_template())
    talk = Conversation(tokenizer, OPENING)
    with pytest.raises(InputError, match="2 tokens have 1 log-probabilities"):
        talk.said([1, 2], [-1.0])
    with pytest.raises(InputError, match="no new message"):
        talk.heard([])
    tokenizer.chat_template = None
    with pytest.raises(InputError, match="no chat template"):
        ChatTokens(tokenizer)
    forgetful = "{% for m in messages %}{% if loop.last %}{{ m.content }}<|im_end|>{% endif %}{% endfor %}"
    with pytest.raises(InputError, match="earlier messages differently"):
        Conversation(make_tokenizer(forgetful), OPENING).heard([{"role": "user", "content": "Higher."}])
