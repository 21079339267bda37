"""Removes thinking from a policy's text, because thinking is not part of the action."""

from __future__ import annotations

import re

OPEN, CLOSE = "<think>", "</think>"
_TAG = re.compile("</?think>")


def strip_thinking(text: str) -> str:
    """Remove the text between ``<think>`` and ``</think>``.

    A ``</think>`` without an opening tag ends thinking that began in the prompt, so all text before it is removed.
    After a ``<think>`` that is never closed, all text is removed.
    """
    if "think>" not in text:
        return text
    kept: list[str] = []
    position, inside = 0, False
    for tag in _TAG.finditer(text):
        if tag.group() == OPEN:
            if not inside:
                kept.append(text[position : tag.start()])
            inside = True
            continue
        if not inside:
            kept.clear()
        position, inside = tag.end(), False
    if not inside:
        kept.append(text[position:])
    return "".join(kept)
