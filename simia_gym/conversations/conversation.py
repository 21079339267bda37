"""A conversation of an agent with its tools and its user, in one layout for all formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simia_gym.common.json_encoding import decode_fast
from simia_gym.types import JsonObject, Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One conversation, whatever format it was read from.

    Attributes:
        messages: The messages after the system message, in OpenAI's chat layout. Each has ``role`` and ``content``, a
            text (or a list of parts, if one is no text). An assistant's may have ``reasoning_content``, ``tool_calls``
            (each with ``id``, ``type`` and ``function``, whose ``arguments`` are an object) and ``loss`` (whether
            to train on it). A tool's has ``tool_call_id`` and ``name``. Whatever else a format had stays in its place.
        system: The system message, without the tools if they stand in `tools`; ``None`` if there is none.
        tools: The tools that the agent was given, as OpenAI function schemas.
        id: Its id; empty if it has none.
        env: The environment or the domain; empty if that is not known.
        task: The task's id.
        kind: The task's kind.
        split: The task's split.
        seed: The episode's seed.
        policy: Who acted.
        reward: The reward, 0 to 1; ``None`` if there is none, as after a fault.
        valid: Whether the reward may be used.
        success: Whether the task was fully solved.
        verdict: The whole verdict, with its evidence.
        source: The file and the line where it was first read; it travels from format to format.
        licence: The licence of its source.
        extra: What a format had, and what has no name here.
        where: The file and the line where it was read last; it does not travel.
    """

    messages: tuple[Message, ...]
    system: str | None = None
    tools: tuple[JsonObject, ...] = ()
    id: str = ""
    env: str = ""
    task: str = ""
    kind: str = ""
    split: str = ""
    seed: int | None = None
    policy: str = ""
    reward: float | None = None
    valid: bool | None = None
    success: bool | None = None
    verdict: JsonObject | None = None
    source: str = ""
    licence: str = ""
    extra: JsonObject = field(default_factory=dict)
    where: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something in a file that is no conversation of its format.

    Attributes:
        where: The file and the line.
        why: What is wrong, with the message that it is about.
    """

    where: str
    why: str

    def __str__(self) -> str:
        """One line: where and why."""
        return f"{self.where}: {self.why}"


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


FACTS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("id", "env", "task", "kind", "split"), _text),
    "seed": lambda value: type(value) is int,
    "policy": _text,
    "reward": _number,
    **dict.fromkeys(("valid", "success"), _truth),
    "verdict": lambda value: isinstance(value, dict),
    **dict.fromkeys(("source", "licence"), _text),
}
"""The fields about a conversation, each with a test of its type."""

_OTHER_NAMES = {"domain": "env", "license": "licence"}


def facts_of(row: Mapping[str, Any], read: frozenset[str]) -> JsonObject:
    """The fields of a `Conversation` in the columns of a row; all other columns are ``extra``.

    A column with the name of a field and a value of another type is one of the others.

    Args:
        row: The row.
        read: The columns that the format itself reads.
    """
    found: JsonObject = {}
    extra: JsonObject = {}
    for name, value in row.items():
        if name in read:
            continue
        own = _OTHER_NAMES.get(name, name)
        fits = FACTS.get(own)
        if own == "verdict" and isinstance(value, str):
            try:
                value = decode_fast(value)
            except ValueError:
                fits = None
        if fits is None or own in found or (own != name and own in row):
            extra[name] = value
        elif value is not None:
            if fits(value):
                found[own] = value
            else:
                extra[name] = value
    found["extra"] = extra
    return found


def facts_in(conversation: Conversation) -> JsonObject:
    """The fields that are known, by name, without ``extra``."""
    known = {name: getattr(conversation, name) for name in FACTS}
    return {name: value for name, value in known.items() if value not in (None, "")}
