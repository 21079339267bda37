"""Gives the text that a person sees: without invisible characters, with the letters that others only look like.

Also leaves out what markup crosses out or hides.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from html import unescape
from typing import NamedTuple

_ODD = re.compile(r"[^\t-\r\x20-\x7e]")
_ENTITY = re.compile(r"&(?:#(?:\d{1,7}|[xX][0-9a-fA-F]{1,6})|nbsp|e[nm]sp|thinsp);")
_UNSEEN = frozenset({"Cf", "Mn", "Me", "Cc"})
"""Unicode categories of characters that take up no room, once accents are joined with their letters."""
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_INNOCENT = frozenset("\u200d\ufe0e\ufe0f")
"""What pictographs are made with."""
_STRANGE_LETTER = re.compile(r"[^\W\d_\x00-\u024f]")
"""A letter that no language with Latin letters uses."""
_STRANGE = re.compile(rf"(?<!\w)\w*{_STRANGE_LETTER.pattern}\w*")
_JOINED = re.compile(r"(?<![\w@./'%-])[A-Za-z']+(?:(?:[_.-]|%20)[A-Za-z']+){4,}(?![\w@/])")
"""Five words or more in one."""
_JOINTS = re.compile(r"(?:[_.-]|%20)[A-Za-z']+(?:[_.-]|%20)[A-Za-z']")
"""What every such word has; looking for it first makes a fresh message several microseconds cheaper."""
_JOINT = re.compile(r"[_.-]|%20")
_SPELT = re.compile(r"[ ._-](?<=\b[^\W\d_].)[^\W\d_](?:[ ._-][^\W\d_]){2,}(?!\w)")
_ACCENTED = re.compile(r"LATIN SMALL LETTER (?:DOTLESS )?([A-Z])(?: WITH .+)?")
_HIDING = (
    r"hidden|display: ?none|(?:font-size|opacity|height): ?[01](?![.\d])|left: ?-|clip|rgb\(255"
    r"|(?<![-\w])colou?r(?:: ?|=\W?)(?:white|transparent|#fff)"
)
"""What hides an element of a page, in its opening tag."""
_PLAIN_TAGS = (
    "a|abbr|address|article|b|big|blockquote|body|br|caption|center|cite|code|d[dlt]|div|em|font|footer|h[1-6]|header"
    "|hr|html|i|kbd|li|main|mark|ol|p|pre|q|samp|section|size|small|span|strong|su[bp]|t[dhrt]|table|tbody|tfoot|thead|u|ul"
)
"""The elements that only lay a text out; any other may cross it out, fold it away or hide it."""
_STRUCK = re.compile(
    "|".join(
        (
            r"~~.{1,500}?~~",
            r"(?:[^\u0335-\u0338][\u0335-\u0338])+",  # letters with a stroke each
            rf"<(?P<odd>(?!(?:{_PLAIN_TAGS})\b)\w{{1,12}})\b[^<>]{{0,99}}>.{{1,500}}?</(?P=odd)>",
            rf"\[(?P<code>(?!(?:{_PLAIN_TAGS})\b)\w{{1,12}})\].{{1,500}}?\[/(?P=code)\]",
            r"\|\|[^|]{1,500}\|\||/\*.{1,500}?\*/",  # a spoiler, the comment of a program
            rf"<(?P<hidden>\w{{1,9}})\b[^<>]{{0,99}}(?:{_HIDING}).{{1,500}}?</(?P=hidden)>",
            r"<\w{1,9} [^<>]{1,500}>",  # a tag with attributes, which may hold any text
            r"<!--.{1,500}?-->",
            r"!\[.{1,500}?\]",  # what an image shows
            r"(?<=\])\([^\s()]{1,500}(?: +(?P<quote>[\"']).{1,500}?(?P=quote))?\)",  # address and title of a link
            r"(?m:^)\[[^\[\]]{1,99}\]: [^\n]+",  # address of a link, on a line of its own
        )
    ),
    re.DOTALL | re.IGNORECASE,
)
"""What is crossed out, or shown to nobody; of bounded length, so that the cost is linear."""
_STRIKES = ("~~", "<", "[", "||", "/*", "\u0335", "\u0336", "\u0337", "\u0338")
"""Every text with something struck has one of these."""


class Visible(NamedTuple):
    """A text as a person sees it.

    Attributes:
        text: The text.
        disguised: How many characters of the original were hidden or only looked like the letters here.
    """

    text: str
    disguised: int


def visible(text: str) -> Visible:
    """Drop what is invisible, part and join words, replace letters that look like Latin ones, in words of such."""
    text, disguised = _unhidden(text)
    if _JOINTS.search(text):
        text = _JOINED.sub(lambda found: _JOINT.sub(" ", found[0]), text)
    text, spelt = _SPELT.subn(lambda found: found[0][1::2], text)
    return Visible(text, disguised + spelt)


def _unhidden(text: str) -> tuple[str, int]:
    """A text without invisible characters and with plain letters, and how many characters were not plain."""
    disguised = 0
    if "&" in text:
        text, disguised = _ENTITY.subn(lambda found: unescape(found[0]), text)
    if not _ODD.search(text):
        return text, disguised
    if not text.isascii():
        if _STRANGE_LETTER.search(text):
            text, replaced = _in_latin(text)
            disguised += replaced
        text = unicodedata.normalize("NFC", text)
    for char in set(_ODD.findall(text)):
        if unicodedata.category(char) in _UNSEEN or char in _BLANK:
            disguised += 0 if char in _INNOCENT else text.count(char)
            text = text.replace(char, "")
    return unicodedata.normalize("NFKC", text), disguised


def without_struck(text: str) -> str:
    """A text without what is crossed out, or shown to nobody."""
    return _STRUCK.sub(" ", text) if any(mark in text for mark in _STRIKES) else text


def _in_latin(text: str) -> tuple[str, int]:
    """The text with Latin letters in the place of others that look like them, and how many these are."""
    replaced = 0

    def latin(match: re.Match[str]) -> str:
        nonlocal replaced
        letters = [_letter(char) for char in match[0]]
        if not all(letters):
            return match[0]
        replaced += sum(old != new for old, new in zip(match[0], letters, strict=True))
        return "".join(letters)

    return _STRANGE.sub(latin, text), replaced


@lru_cache(maxsize=4096)
def unaccented(char: str) -> str:
    """A small Latin letter without its accents; any other character itself."""
    found = _ACCENTED.fullmatch(unicodedata.name(char, ""))
    return char if found is None else found[1].lower()


@lru_cache(maxsize=4096)
def _letter(char: str) -> str:
    """The Latin letter that a letter looks like; the character itself if it is none, nothing if it looks like none."""
    plain = unicodedata.normalize("NFKC", char)
    if char <= "\u024f" or not char.isalpha() or plain.isascii():
        return plain
    small = unicodedata.name(char, "").partition("LATIN LETTER SMALL CAPITAL ")[2]
    if len(small) == 1:
        return small.lower()
    from confusable_homoglyphs.confusables import confusables_data  # it reads a large table, which few texts need

    for one in (char, char.upper()):
        for other in confusables_data.get(one, ()):
            if len(other["c"]) == 1 and other["c"].isascii() and other["c"].isalpha():
                return str(other["c"]) if one == char else str(other["c"]).lower()
    return ""
