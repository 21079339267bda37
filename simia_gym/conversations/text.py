"""What formats of text share: thoughts before a text, and content that has to be a text."""

from __future__ import annotations

from simia_gym.actions.thinking import CLOSE, OPEN, after_thinking, may_think, split_thinking
from simia_gym.errors import InputError
from simia_gym.types import Message


def split_thoughts(text: str) -> tuple[str, str]:
    """The thoughts with which a text begins, and the rest; a block that is never closed is no thought."""
    if may_think(text) and (end := after_thinking(text, 0)):
        thoughts, _ = split_thinking(text[:end])
        if thoughts:
            return thoughts, text[end:]
    return "", text


def with_thoughts(message: Message, text: str) -> str:
    """A text with a message's reasoning before it."""
    reasoning = message.get("reasoning_content")
    return text if reasoning is None else f"{OPEN}\n{reasoning}\n{CLOSE}\n\n{text}"


def plain(message: Message, format: str) -> str:
    """The text of a message.

    Raises:
        InputError: It has a part that is no text, such as an image.
    """
    content = message["content"]
    if not isinstance(content, str):
        raise InputError(f"a message has a part that is no text, which the format {format!r} cannot hold")
    return content
