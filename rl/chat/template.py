"""The chat template of policies from `simia new-policy`: Qwen's ChatML, for training, rollouts and evaluation.

A tool result is a tool message. The assistant's raw text is rendered unchanged, tool calls included, so a rendered
conversation has the same tokens as the episode. The system message describes the tools; ``tools=`` has no effect.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

START = "<|im_start|>"
"""First token of each message."""
END = "<|im_end|>"
"""Last token of each message; the policy's turn ends when it samples this token."""
PAD = "<|endoftext|>"
"""Padding token."""

CONTROL: tuple[str, ...] = (PAD, START, END)
"""Special tokens, in the order of their ids; they are dropped when a policy's tokens are decoded."""
MARKS: tuple[str, ...] = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")
"""Single tokens that are not special: they are kept in the decoded text, from which actions are parsed."""


@cache
def chat_template() -> str:
    """The Jinja source, for a tokenizer's ``chat_template``.

    Assistant messages are inside ``{% generation %}``, so trainers that support it train on nothing else.
    """
    return files("simia_gym.rl.chat").joinpath("chatml.jinja").read_text(encoding="utf-8")
