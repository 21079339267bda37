"""Untrusted text reaches a model as JSON inside tagged blocks, and cannot leave them.

    <<data:call 5f0c2a91d3b7>>
    {"name":"get_order_details","arguments":{"order_id":"#W1"}}
    <<end:call 5f0c2a91d3b7>>

The JSON stands on one line. In it the angle brackets in whatever width, control characters, and every character that is
invisible or changes the direction of writing are escaped, so that nothing inside a block can look like the end of one,
whatever the tag is; the tag is derived from what the agent never sees, so that it cannot be guessed either.
"""

from __future__ import annotations

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
# Invisible without being controls: joiners, fillers of other scripts, variation selectors. A text can hide in them.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
# Another width of what is escaped above; whoever folds a text to its plain characters sees an angle bracket.
_ALIKE = frozenset("\ufe60\ufe64\ufe65\uff06\uff1c\uff1e\uff40\u1fef")


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a prompt.

    Attributes:
        kind: What it holds, such as ``call``.
        nonce: Its tag.
        value: The decoded JSON.
    """

    kind: str
    nonce: str
    value: Any


def make_nonce(*secret: str) -> str:
    """Derive the tag of an episode's blocks from texts that the agent does not see.

    Args:
        *secret: Such texts, for instance the domain's and the task's hash.

    Returns:
        12 hex digits.
    """
    return sha256("\0".join(("blocks", *secret)).encode()).hexdigest()[:12]


def block(kind: str, nonce: str, value: Any) -> str:
    """Write a block.

    Args:
        kind: What it holds: lower-case letters and underscores.
        nonce: The tag from `make_nonce`.
        value: A JSON value.
    """
    return encoded_block(kind, nonce, encode(value))


def encoded_block(kind: str, nonce: str, value: bytes) -> str:
    """Write a block whose value is encoded already.

    Args:
        kind: What it holds: lower-case letters and underscores.
        nonce: The tag from `make_nonce`.
        value: What `simia_gym.common.json_encoding.encode` has made of the value.
    """
    return f"<<data:{kind} {nonce}>>\n{_safe(value.decode())}\n<<end:{kind} {nonce}>>"


def safe_json(value: Any) -> str:
    """JSON on one line that shows everything it holds and can close nothing."""
    return _safe(encode(value).decode())


def _safe(text: str) -> str:
    # Nearly all texts are ASCII and hold nothing special. Finding that out costs a few looks in C; the pattern goes
    # through the text character by character.
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
    code = ord(char)
    if code > 0xFFFF:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return f"\\u{code:04x}"


def read_blocks(text: str) -> Iterator[Block]:
    """Find the blocks of a text, in order.

    Args:
        text: A message of a prompt.

    Yields:
        The blocks.
    """
    for match in _BLOCK.finditer(text):
        yield Block(match.group(1), match.group(2), decode(match.group(3).encode()))


def outside_blocks(text: str) -> str:
    """What stands outside all blocks: the only words that instruct."""
    return _BLOCK.sub("", text)
