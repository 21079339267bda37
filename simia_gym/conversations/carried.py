"""What a format cannot hold travels in one column of its own.

A writer reads its row back. Where that gives another conversation, the row gets the column `COLUMN` with what differs,
and a hash of what it stands for. A reader puts it back, unless somebody has changed the row since: then what stands in
the row counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from simia_gym.common.json_encoding import decode, encode, hash_of
from simia_gym.conversations.conversation import Conversation
from simia_gym.errors import InputError
from simia_gym.types import JsonObject, Message

COLUMN = "simia"
_FIELDS = tuple(name for name in Conversation.__slots__ if name not in ("messages", "where"))


def carried(wanted: Conversation, read: Conversation, body: Any) -> str | None:
    """What a row lacks, as JSON text; ``None`` if it holds everything.

    Args:
        wanted: The conversation.
        read: What the row is read as.
        body: What the row holds in its own format.
    """
    if wanted == read:
        return None
    lost: JsonObject = {name: getattr(wanted, name) for name in _FIELDS if getattr(wanted, name) != getattr(read, name)}
    if wanted.messages != read.messages:
        if len(wanted.messages) == len(read.messages):
            pairs = enumerate(zip(wanted.messages, read.messages, strict=True))
            lost["messages"] = {str(place): _difference(one, other) for place, (one, other) in pairs if one != other}
        else:
            lost["messages"] = wanted.messages
    return encode({"of": _mark(body), **lost}).decode()


def restored(read: Conversation, column: Any, body: Any) -> Conversation:
    """The conversation of a row with what its column `COLUMN` holds.

    Raises:
        InputError: The column is none that `carried` wrote.
    """
    try:
        lost = decode(column)
        if lost.pop("of") != _mark(body):
            return read
        messages = lost.pop("messages", {})
        if isinstance(messages, dict):
            messages = [_changed(one, messages.get(str(place))) for place, one in enumerate(read.messages)]
        if "tools" in lost:
            lost["tools"] = tuple(lost["tools"])
        return replace(read, messages=tuple(messages), **lost)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InputError(f"its column {COLUMN!r} is none that this package wrote") from None


def _mark(body: Any) -> str:
    return hash_of(encode(body))[:16]


def _difference(wanted: Message, read: Message) -> JsonObject:
    gone: JsonObject = {key: None for key in read if key not in wanted}
    return gone | {key: value for key, value in wanted.items() if key not in read or read[key] != value}


def _changed(message: Message, change: Mapping[str, Any] | None) -> Message:
    return message if change is None else {k: v for k, v in {**message, **change}.items() if v is not None}
