"""Tagged blocks that carry untrusted text to a model as JSON; the text cannot close its block.

    <<data:call 5f0c2a91d3b7>>
    {"name":"get_order_details","arguments":{"order_id":"#W1"}}
    <<end:call 5f0c2a91d3b7>>

The JSON is on one line. Angle brackets (full-width and small variants included), control characters, invisible
characters and characters that change the writing direction are escaped, so that no text inside a block can look like
the end of a block. The tag is derived from texts that the agent never sees, so the agent cannot guess it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from simia_gym.common.json_encoding import decode, encode

_BLOCK = re.compile(r"^<<data:([a-z_]+) ([0-9a-f]{12})>>\n([^\n]*)\n<<end:\1 \2>>$", re.MULTILINE)
_ASCII_SPECIAL = "<>&`\x7f"
_SPECIAL = re.compile(f"[{_ASCII_SPECIAL}]|[^\x00-\x7f]")
_HIDDEN = frozenset({"Cf", "Cc", "Zl", "Zp", "Co", "Cn", "Cs"})
# Invisible characters outside the categories above: joiners, fillers, variation selectors. They can hide text.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
# Variants of the ASCII characters above; Unicode normalisation (NFKC) turns them into the ASCII ones.
_ALIKE = frozenset("\ufe60\ufe64\ufe65\uff06\uff1c\uff1e\uff40\u1fef")


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a prompt: its kind, such as ``call``, its tag, and its decoded JSON."""

    kind: str
    nonce: str
    value: Any


def make_nonce(*secret: str) -> str:
    """The tag of an episode's blocks, 12 hex digits.

    Args:
        *secret: Texts that the agent does not see, such as the hashes of the domain and the task.
    """
    return sha256("\0".join(("blocks", *secret)).encode()).hexdigest()[:12]


def block(kind: str, nonce: str, value: Any) -> str:
    """Format a block of a JSON value.

    Args:
        kind: Kind of content, in lower-case letters and underscores.
        nonce: The tag from `make_nonce`.
        value: The value.
    """
    return encoded_block(kind, nonce, encode(value))


def encoded_block(kind: str, nonce: str, value: bytes) -> str:
    """Like `block`, for a value that `simia_gym.common.json_encoding.encode` has encoded already."""
    return f"<<data:{kind} {nonce}>>\n{_safe(value.decode())}\n<<end:{kind} {nonce}>>"


def safe_json(value: Any) -> str:
    """Encode a value as one line of JSON with the same escapes as inside a block."""
    return _safe(encode(value).decode())


def _safe(text: str) -> str:
    # Most texts are ASCII without special characters: five `in` checks are faster than the regular expression.
    if text.isascii():
        for char in _ASCII_SPECIAL:
            if char in text:
                break
        else:
            return text
    return _SPECIAL.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    if char >= "\xa0" and unicodedata.category(char) not in _HIDDEN and char not in _ALIKE and not _BLANK.match(char):
        return char
    return json.dumps(char)[1:-1] if char > "\uffff" else f"\\u{ord(char):04x}"


def read_blocks(text: str) -> Iterator[Block]:
    """The blocks of a prompt's message, in order."""
    for match in _BLOCK.finditer(text):
        yield Block(match.group(1), match.group(2), decode(match.group(3).encode()))


def outside_blocks(text: str) -> str:
    """The text outside all blocks: only it may contain instructions."""
    return _BLOCK.sub("", text)
