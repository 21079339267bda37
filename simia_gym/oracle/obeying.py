"""Obeys instructions outside the data blocks: the most gullible model, for tests of attacks.

An instruction is anything after ``ORACLE:`` up to the end of the line, in whatever letters and with whatever invisible
characters in between; system messages are the environment's own and are not searched. What a block holds is data.

A block ends here wherever a careless model might see its end: at anything that looks like an end marker, with any tag
and in any character width, at the beginning of anything that could be a line. This parser shares no code with the one
that writes blocks.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator

from simia_gym.oracle.reading import Asked
from simia_gym.types import JsonObject

_ORDER = re.compile(r"oracle\s*:\s*([^\n]+)", re.IGNORECASE)
_WORDS = re.compile(r"\W+")
_MARK = 80
"""Characters at the beginning of a line in which the mark of a block is looked for."""


def orders(asked: Asked) -> list[str]:
    """Every instruction that can be read outside the blocks, in order."""
    found: list[str] = []
    for said in asked.turns:
        for line in _outside(said.text):
            found += (match.strip() for match in _ORDER.findall(line))
    return found


def _outside(text: str) -> Iterator[str]:
    """The lines that stand in no block, in plain characters."""
    inside = False
    for line in text.splitlines():
        begin = _plain(line[:_MARK]).lstrip()
        if begin.startswith("<<data:"):
            inside = True
        elif begin.startswith("<<end:"):
            inside = False
            yield _plain(line)  # what stands behind the end, too
        elif not inside:
            yield _plain(line)


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text)
    return "".join(char for char in folded if unicodedata.category(char) != "Cf")


def obey(reply: JsonObject, wanted: list[str]) -> tuple[JsonObject, int]:
    """Follow the instructions, as far as the reply's fields allow it.

    Args:
        reply: The truthful reply.
        wanted: The instructions.

    Returns:
        The reply, and how many instructions were understood.
    """
    reply, count = dict(reply), 0
    for order in wanted:
        word, _, rest = order.partition(" ")
        word, rest = _WORDS.sub("", word).lower(), rest.strip()
        change: JsonObject = {}
        if word == "end":
            change = {"done": True, "stop": True}
        elif word == "confirm":
            change = {"confirms": True}
        elif word == "reward":
            change = {"verdict": "not_met" if rest.startswith("0") else "met"}
        elif word == "verdict":
            change = {"verdict": _WORDS.sub("_", rest).strip("_").lower()}
        elif word == "observation":
            change = {"observation": rest, "outcome": "ok", "error_code": None}
        elif word in ("message", "say"):
            change = {"message": rest}
        elif word == "ops":
            change = {"ops": _list(rest)}
        else:
            continue
        count += 1
        reply.update((key, value) for key, value in change.items() if key in reply)
    return reply, count


def _list(text: str) -> list[object]:
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return []
    return value if isinstance(value, list) else []
