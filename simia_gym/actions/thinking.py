"""What a policy thinks aloud is no part of its action: these functions take it out."""

from __future__ import annotations

import re

OPEN, CLOSE = "<think>", "</think>"
_TAG = re.compile("</?think>")
_SURROGATE = re.compile("[\ud800-\udfff]")


def strip_thinking(text: str) -> str:
    """Take out what stands between ``<think>`` and ``</think>``.

    A ``</think>`` without an opening tag ends thinking that began in the prompt: all before it goes. A ``<think>``
    that is never closed makes everything after it thinking.

    Args:
        text: What the policy wrote.

    Returns:
        The rest, unchanged where there is no thinking.
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


def without_surrogates(text: str) -> str:
    """Replace lone surrogates, which no encoder accepts, by U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
