"""The chat template of policies made here: ChatML as Qwen writes it, the same for training, playing and evaluation.

A tool's result is a tool message. The assistant's text stands as it was said, calls included; that is what makes the
rendering of a conversation the same as the tokens that were read and sampled. The tools are described in the system
message, so ``tools=`` changes nothing.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

START = "<|im_start|>"
"""Opens a turn."""
END = "<|im_end|>"
"""Closes a turn; a policy's turn ends when it is sampled."""
PAD = "<|endoftext|>"
"""Fills up batches."""

CONTROL: tuple[str, ...] = (PAD, START, END)
"""Tokens that steer and are no text: left out where a policy's tokens are decoded. Their order is that of their ids."""
MARKS: tuple[str, ...] = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")
"""Tokens of their own that are text all the same: an action is read from the decoded text and needs them."""


@cache
def chat_template() -> str:
    """The Jinja source, for a tokenizer's ``chat_template``.

    The assistant's part is marked as generated, so that trainers which look for the marks train on nothing else.
    """
    return files("simia_gym.rl.chat").joinpath("chatml.jinja").read_text(encoding="utf-8")
