"""From a message to sentences: JSON is unwrapped, list markers and markup are removed, each sentence knows its heading.

Language models wrap what they say in JSON objects, headings, tables and lists. Everything that reads a message reads
these sentences, so that a user and a reward see the same words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_SPOKEN_KEYS = frozenset({"message", "content", "text", "response", "reply", "say", "answer"})
_TYPED = str.maketrans(
    {
        "’": "'", "‘": "'", "“": '"', "”": '"', "−": "-", "–": "-", "‑": "-", "—": " - ", "…": "...", "|": " ",
        "*": None, "`": None,
    }
)  # fmt: skip
_SPACE = re.compile(r"\s+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_FENCE_OR_RULE = re.compile(r"\s*(?:```[a-zA-Z]*|[-=_|:\s]{3,})\s*$")
_MARK = re.compile(r"\s*(?:(?:>|#{1,6}(?=\s)|\*\*|__)\s*)*")
_BULLET = re.compile(r"(?:[-+*•–·]|\(?\d{1,2}[.)]|\(?[a-h][.)])\s+(?=\S)")
_SENTENCE = re.compile(r"(?<=[.!?…])[\"')*_`”’]*\s+(?=\S)")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a message.

    Attributes:
        said: The sentence as it stands in the message.
        plain: Its normal form, without markup.
        head: The normal form of the line that introduces its list and ends in a colon, or ``""``.
        question: Whether it ends in a question mark.
    """

    said: str
    plain: str
    head: str = ""
    question: bool = False


def normal(text: str) -> str:
    """Bring a text into the form in which texts are compared.

    Letter case, runs of white space, typographic quotes and dashes, emphasis marks and thousands commas do not count.
    """
    return _THOUSANDS.sub("", _SPACE.sub(" ", text.translate(_TYPED)).strip().casefold())


def sentences(text: str) -> tuple[Sentence, ...]:
    """Split a message into sentences.

    Args:
        text: What was said, in any wrapping.
    """
    found: list[Sentence] = []
    head, gap = "", False
    for line in _unwrap(text).splitlines():
        if not line or line.isspace():
            gap = True
            continue
        listed, start = False, 0
        if not line[0].isalpha() or line[1:2] in (".", ")"):  # most lines begin with a word and have no marker
            if _FENCE_OR_RULE.match(line):
                continue
            mark = _MARK.match(line)
            start = mark.end() if mark else 0
            bullet = _BULLET.match(line, start)
            listed = bullet is not None
            start = bullet.end() if bullet else start
        if not listed and (gap or not head):
            head = ""
        gap = False
        plain = ""
        for said in _SENTENCE.split(line[start:].strip()):
            plain = normal(said)
            if plain:
                found.append(Sentence(said, plain, head, plain.rstrip("\"') ").endswith("?")))
        if plain.endswith(":"):
            head = plain
    return tuple(found)


def _unwrap(text: str) -> str:
    """Give the words of a message that is a JSON document; any other message as it is."""
    body = text.strip()
    if body.startswith("```") and body.endswith("```") and len(body) > 6:
        body = body[3:-3].strip()
        body = body[4:].strip() if body[:4].lower() == "json" else body
    if body[:1] + body[-1:] not in ("{}", "[]"):
        return text
    try:
        value = json.loads(body, strict=False)
    except (ValueError, RecursionError):
        return text
    return "\n".join(_lines(value, 0)) if value else text


def _lines(value: Any, depth: int) -> Iterator[str]:
    if depth > 6:
        return
    for key, item in value.items() if isinstance(value, dict) else [("", item) for item in value]:
        name = str(key).replace("_", " ")
        if isinstance(item, dict | list):
            if name:
                yield from ("", f"{name}:")
            yield from _lines(item, depth + 1)
            yield ""
        elif not name:
            yield f"- {item}"
        elif isinstance(item, str):
            yield item if key.lower() in _SPOKEN_KEYS else f"{'- ' if depth else ''}{name}: {item}"
        elif item is not None:
            yield f"- {name}: {json.dumps(item)}"
