"""The chat template: what stands around messages, and that it only ever appends."""

from __future__ import annotations

from typing import Any

import pytest

from .libraries import need

need("transformers", "tokenizers")

from simia_gym.rl.chat.template import CONTROL, END, MARKS, START
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
