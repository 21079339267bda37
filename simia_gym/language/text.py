"""Splits a message into sentences, unwrapping JSON and removing markup and list markers.

Language models wrap messages in JSON objects, headings, tables and lists. User simulators and rewards both work on
these sentences, so that they see the same words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from simia_gym.language.clause import upright
from simia_gym.language.visible import unaccented, visible
from simia_gym.language.vocabulary import WRITTEN

_SPOKEN_KEYS = frozenset({"message", "content", "text", "response", "reply", "say", "answer"})
_TYPED = str.maketrans(
    {
        "’": "'", "‘": "'", "“": '"', "”": '"', "−": "-", "–": "-", "‐": "-", "‑": "-", "—": " - ", "…": "...",
        "|": " ", "*": None, "`": None,
    }
)  # fmt: skip
_THOUSANDS = re.compile(r",(?<=\d,)(?=\d{3}(?!\d))")
_HYPHEN = re.compile(r"(?<=[a-z])-|-(?=[a-z])")
_DIGIT_IN_WORD = re.compile(r"[013457](?<=[a-z].)(?=[013457]*[a-z])")
_WITH_DIGITS = re.compile(r"(?<![\w#-])[a-z013457]{4,12}(?![\w-])")
_LETTERS = [str.maketrans("013457", f"o{one}east") for one in "li"]
"""The letters for which digits may stand: "d0ne", "app1ied", "cred1ted"."""
_FENCE_OR_RULE = re.compile(r"```[a-zA-Z]{,12}|[-=_|:\s]{3,}")
_MARK = re.compile(r"(?:(?:>|#{1,6}(?=\s)|\*\*|__)\s*)*")
_BULLET = re.compile(r"(?:[-+*•–·]|\(?\d{1,2}[.)]|\(?[a-h][.)])\s+(?=\S)")
_SENTENCE = re.compile(r"(?<=[.!?…])[\"')*_`”’]*\s+(?=\S)")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a message.

    Attributes:
        said: The original sentence.
        plain: The normalised sentence, without markup.
        head: The normalised line, ending in a colon, that introduces the sentence's list; ``""`` outside lists.
        question: Whether the sentence ends in a question mark.
    """

    said: str
    plain: str
    head: str = ""
    question: bool = False


def normal(text: str) -> str:
    """Normalise a text for comparison.

    Unifies letter case, white space, and typographic quotes and dashes; removes emphasis marks, thousands commas,
    accents and invisible characters; gives letters that look like Latin ones their looks.
    """
    return _normal(visible(text).text)


def _normal(text: str) -> str:
    plain = _THOUSANDS.sub("", " ".join(text.translate(_TYPED).split()).casefold())
    plain = plain.replace("a.m.", "am").replace("p.m.", "pm")
    return plain if plain.isascii() else "".join(map(unaccented, plain))


def spaced(plain: str) -> str:
    """A normalised text with spaces in the place of the hyphens at words: "t-shirt" becomes "t shirt"."""
    return _HYPHEN.sub(" ", plain) if "-" in plain else plain


def sentences(text: str) -> tuple[Sentence, ...]:
    """Split a visible text, which may have markup, into sentences."""
    found: list[Sentence] = []
    head, gap = "", False
    for line in map(str.strip, text.splitlines()):
        if not line:
            gap = True
            continue
        listed, start = False, 0
        if not line[0].isalpha() or line[1:2] in (".", ")"):  # most lines begin with a word and have no marker
            if _FENCE_OR_RULE.fullmatch(line):
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
        for said in _SENTENCE.split(line[start:]):
            plain = upright(_lettered(_normal(said)))
            if plain:
                found.append(Sentence(said, plain, head, plain.rstrip("\"') ").endswith("?")))
        if plain.endswith(":"):
            head = plain
    return tuple(found)


def _lettered(plain: str) -> str:
    """A normalised text with letters for the digits in words that are then known."""

    def word(found: re.Match[str]) -> str:
        return next((one for one in map(found[0].translate, _LETTERS) if one in WRITTEN), found[0])

    return _WITH_DIGITS.sub(word, plain) if _DIGIT_IN_WORD.search(plain) else plain


def unwrapped(text: str) -> str:
    """The words of a message that is a JSON document; any other message unchanged."""
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
        yield json.dumps(value)
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
        elif item is not None or " " in name:
            yield f"- {name}: {json.dumps(item)}"
