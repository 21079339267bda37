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
}
"""The opening marks of thinking blocks, with the mark that closes each."""

CLOSINGS = frozenset(THINKING.values()) - {"<|end|>"}
"""The closing marks that end thinking although nothing opened it: it began in the prompt."""
OPENING_PATTERN = "|".join(map(re.escape, THINKING))
MARK_PATTERN = "|".join(map(re.escape, (*THINKING, *sorted(CLOSINGS))))
_MARK = re.compile(MARK_PATTERN)


def may_think(text: str) -> bool:
    """Whether a text may hold a mark of thinking: a cheap test before any pattern."""
    return "think" in text or "THINK]" in text or "|>analysis<|" in text


def strip_thinking(text: str) -> str:
    """Remove the thinking blocks, such as the text between ``<think>`` and ``</think>``.

    A closing mark without an opening one ends thinking that began in the prompt, so all text before it is removed.
    After a block that is never closed, all text is removed.
    """
    if not may_think(text):
        return text
    kept: list[str] = []
    position = 0
    while mark := _MARK.search(text, position):
        closing = THINKING.get(mark.group())
        if closing is None:
            kept.clear()
            position = mark.end()
            continue
        kept.append(text[position : mark.start()])
        close = text.find(closing, mark.end())
        if close < 0:
            return "".join(kept)
        position = close + len(closing)
    kept.append(text[position:])
    return "".join(kept)
