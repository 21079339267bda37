"""What a format cannot hold travels in one column of its own.

A writer reads its row back. Where that gives another conversation, the row gets the column `COLUMN` with what differs,
and a hash of what it stands for. A reader puts it back, unless somebody has changed the row since: then what stands in
the row counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from simia_gym.common.json_encoding import decode_fast, encode, hash_of
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


def lost_by(column: Any, body: Any) -> JsonObject | None:
    """What a row's column `COLUMN` says that it lacks; ``None`` if the row was changed since.

    Raises:
        InputError: The column is none that `carried` wrote.
    """
    try:
        lost: JsonObject = decode_fast(column)
        return lost if lost.pop("of") == _mark(body) else None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise _none() from None


def restored(read: Conversation, lost: JsonObject) -> Conversation:
    """The conversation of a row with what it lacks, see `lost_by`.

    Raises:
        InputError: These are no fields of a conversation.
    """
    try:
        messages = lost.get("messages", {})
        if isinstance(messages, dict):
            messages = [_changed(one, messages.get(str(place))) for place, one in enumerate(read.messages)]
        more = {"tools": tuple(lost["tools"])} if "tools" in lost else {}
        return replace(read, **{**lost, **more, "messages": tuple(messages)})
    except (ValueError, TypeError, KeyError, AttributeError):
        raise _none() from None


def _none() -> InputError:
    return InputError(f"its column {COLUMN!r} is none that this package wrote")


def _mark(body: Any) -> str:
    return hash_of(encode(body))[:16]


def _difference(wanted: Message, read: Message) -> JsonObject:
    gone: JsonObject = {key: None for key in read if key not in wanted}
    return gone | {key: value for key, value in wanted.items() if key not in read or read[key] != value}


def _changed(message: Message, change: Mapping[str, Any] | None) -> Message:
    return message if change is None else {k: v for k, v in {**message, **change}.items() if v is not None}
