"""Removes thinking from a policy's text, because thinking is not part of the action."""

from __future__ import annotations

import re
from collections.abc import Mapping

OPEN, CLOSE = "<think>", "</think>"
THINKING: Mapping[str, str] = {
    OPEN: CLOSE,
    "<thinking>": "</thinking>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",
    "<|channel|>analysis<|message|>": "<|end|>",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|channel>thought": "<channel|>",
}
"""The opening marks of thinking blocks, with the mark that closes each."""

CLOSINGS = frozenset(THINKING.values()) - {"<|end|>", "<channel|>"}
"""The closing marks that end thinking although nothing opened it: it began in the prompt."""
OPENING_PATTERN = "|".join(map(re.escape, THINKING))
MARK_PATTERN = "|".join(map(re.escape, (*THINKING, *sorted(CLOSINGS))))
_MARK = re.compile(MARK_PATTERN)
_OPENING = re.compile(OPENING_PATTERN)
_CLOSING = re.compile("|".join(map(re.escape, sorted(CLOSINGS))))
_SPACE = re.compile(r"[ \t\n\r]*+")


def may_think(text: str) -> bool:
    """Whether a text may hold a mark of thinking: a cheap test before any pattern."""
    return "think" in text or "THINK" in text or "|>analysis<|" in text or "|channel>" in text


def after_thinking(text: str, start: int) -> int:
    """The index after white space and closed thinking blocks, where a call may begin."""
    while True:
        space = _SPACE.match(text, start)
        assert space is not None  # no space is a match, too
        start = space.end()
        mark = _OPENING.match(text, start)
        if mark is None:
            return start
        closing = THINKING[mark.group()]
        close = text.find(closing, mark.end())
        if close < 0:
            return start
        start = close + len(closing)


def thinking_end(text: str, position: int) -> int | None:
    """The index after the next closing mark of thinking, if no opening one stands before it."""
    close = _CLOSING.search(text, position) if may_think(text) else None
    return None if close is None or _OPENING.search(text, position, close.start()) else close.end()


def strip_thinking(text: str) -> str:
    """Remove the thinking blocks, such as the text between ``<think>`` and ``</think>``.

    A closing mark without an opening one ends thinking that began in the prompt, so all text before it is removed.
    After a block that is never closed, all text is removed.
    """
    return split_thinking(text)[1] if may_think(text) else text


def split_thinking(text: str) -> tuple[str, str]:
    """The thoughts of a text, without their marks, and the text that `strip_thinking` leaves."""
    if not may_think(text):
        return "", text
    thoughts: list[str] = []
    kept: list[str] = []
    position = 0
    while mark := _MARK.search(text, position):
        closing = THINKING.get(mark.group())
        if closing is None:
            kept.clear()
            thoughts = [text[: mark.start()]]
            position = mark.end()
            continue
        kept.append(text[position : mark.start()])
        close = text.find(closing, mark.end())
        thoughts.append(text[mark.end() : close if close >= 0 else len(text)])
        if close < 0:
            position = len(text)
            break
        position = close + len(closing)
    kept.append(text[position:])
    return "\n\n".join(filter(None, map(str.strip, thoughts))), "".join(kept)
