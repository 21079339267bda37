"""From whatever an agent writes to plain sentences: JSON is unwrapped, markdown is taken off, lists stay lists.

A scripted user listens to language models, which wrap what they say in JSON objects, headings, tables and lists. What
reaches the cue patterns is a sequence of sentences that know what introduced the list in which they stood.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_SPOKEN_KEYS = frozenset({"message", "content", "text", "response", "reply", "say", "answer"})
_FENCE = re.compile(r"^\s*```[a-zA-Z]*\s*$", re.M)
_LINK = re.compile(r"\[([^\]\n]+)\]\([^)\n]*\)")
_MARKS = re.compile(r"\*+|`+|~~|^\s{0,3}#{1,6}\s+|^\s*>\s?", re.M)
_BULLET = re.compile(r"^\s*(?:[-+•–·]|\(?\d{1,2}[.)]|\(?[a-h][.)])\s+")
_RULE = re.compile(r"^\s*[-=_|:\s]{3,}$")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')]*\s+(?=\S)|;\s+")
_TYPED = {"‘": "'", "’": "'", "“": '"', "”": '"', "—": " - ", "–": "-", "‑": "-", "\u00a0": " ", "…": "...", "|": " "}
_TYPESET = re.compile(f"[{''.join(_TYPED)}]")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of what was said.

    Attributes:
        text: The sentence, lower case, without markup.
        head: The line that ends in a colon and introduces the list in which the sentence stands, or ``""``.
        question: It ends in a question mark.
    """

    text: str
    head: str
    question: bool


def plain(text: str) -> str:
    """Take JSON wrapping and markdown off a text; line breaks and letter case stay.

    Args:
        text: What the agent wrote.

    Returns:
        The words that a reader would see.
    """
    text = _unwrap(text.strip())
    if not text.isascii():
        text = _TYPESET.sub(lambda found: _TYPED[found.group()], text)
    elif "|" in text:
        text = text.replace("|", " ")
    if "```" in text:
        text = _FENCE.sub("", text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "*" in text or "`" in text or "#" in text or ">" in text or "~~" in text:
        text = _MARKS.sub("", text)
    return text


def sentences(text: str) -> list[Sentence]:
    """Split a plain text into sentences.

    Args:
        text: What `plain` gave.

    Returns:
        The sentences in order, lower case.
    """
    found: list[Sentence] = []
    head, gap = "", False
    for line in text.lower().splitlines():
        body = line.strip()
        if not body:
            gap = True
            continue
        listed = False
        if not body[0].isalpha() or body[1:2] in (".", ")"):  # most lines begin with a word and need no closer look
            if _RULE.match(line):
                continue
            item = _BULLET.sub("", line)
            listed = len(item) < len(line)
            body = item
        if not listed and (gap or not head):
            head = ""
        gap = False
        body = " ".join(body.split())
        parts = [part for part in _SENTENCE.split(body) if part]
        found.extend(Sentence(part, head, part.rstrip("\"') ").endswith("?")) for part in parts)
        if parts and parts[-1].endswith(":"):
            head = parts[-1]
    return found


def _unwrap(text: str) -> str:
    body = text
    if body.startswith("```") and body.endswith("```") and len(body) > 6:
        body = body[3:-3].strip()
        body = body[4:].strip() if body[:4].lower() == "json" else body
    if not (body.startswith("{") and body.endswith("}")) and not (body.startswith("[") and body.endswith("]")):
        return text
    try:
        value = json.loads(body, strict=False)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, dict | list) and value:
        return "\n".join(_lines(value, 0))
    return text


def _lines(value: Any, depth: int) -> Iterator[str]:
    if depth > 6:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            name = str(key).replace("_", " ")
            if isinstance(item, str):
                yield item if str(key).lower() in _SPOKEN_KEYS else f"- {name}: {item}" if depth else f"{name}: {item}"
            elif isinstance(item, dict | list):
                yield ""
                yield f"{name}:"
                yield from _lines(item, depth + 1)
                yield ""
            elif item is not None:
                yield f"- {name}: {json.dumps(item)}"
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict | list):
                yield from _lines(item, depth + 1)
            else:
                yield f"- {item}"
    else:
        yield str(value)
