"""Texts that the files of an office can hold."""

from __future__ import annotations

import re

LONGEST = 32_767
"""Characters of a text in a cell; a workbook holds no more."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_BREAK = re.compile(r"[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def lines_of(text: str) -> list[str]:
    """The lines of a text, whatever ends them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def problem_of(text: str, *, lines: bool = True, most: int | None = None) -> str:
    """Why a file cannot hold a text, as the end of a sentence; empty if it can.

    Args:
        text: The text.
        lines: Whether it may have several lines.
        most: Most characters.
    """
    if found := _CONTROL.search(text):
        return f"holds the control character U+{ord(found[0]):04X}"
    if found := _SURROGATE.search(text):
        return f"holds the half character U+{ord(found[0]):04X}"
    if not lines and _BREAK.search(text):
        return "has more than one line"
    if most is not None and len(text) > most:
        return f"has {len(text)} characters; {most} are the most"
    return ""
