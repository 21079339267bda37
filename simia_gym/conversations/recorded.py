"""The format ``record``: the record files of `simia rollout`, read through `simia_gym.record`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from simia_gym.actions.calls import is_message, text_of
from simia_gym.actions.signatures import without_keywords
from simia_gym.actions.thinking import may_think, split_thinking
from simia_gym.common.json_encoding import decode
from simia_gym.conversations.conversation import Conversation, Unreadable
from simia_gym.conversations.messages import normal_messages, normal_tools
from simia_gym.conversations.prompt import without_tools
from simia_gym.errors import ActionError, InputError
from simia_gym.record.records import Record, read_records
from simia_gym.record.transcript import is_native, transcript
from simia_gym.types import JsonObject, Message

_FURTHER = ("turns", "ended", "group", "member")


def conversation_of(record: Record) -> Conversation:
    """The conversation of a recorded episode, as the policy had it.

    A policy that writes its calls in OpenAI's or Hermes' format has the tools beside the messages, whether they stood
    in its system message or not. Other policies write text, and their system message says how.

    Raises:
        InputError: The episode could not begin, or the blob file lacks something.
    """
    if not any(event["type"] == "message" for event in record.events):
        raise InputError("the episode could not begin")
    said = iter([event["text"] for event in record.events if event["type"] == "action"])
    shown = transcript(record)
    system, messages = normal_messages(
        [_with_thoughts(message, next(said)) if message["role"] == "assistant" else message for message in shown]
    )
    tools: tuple[JsonObject, ...] = ()
    if is_native(record) or record.start.get("observation_role") == "tool":
        tools = normal_tools(without_keywords(record.content("tools"), "x-"))
    return Conversation(
        messages=messages,
        system=system if is_native(record) else without_tools(system, tools),
        tools=tools,
        id=record.key,
        env=record.config["env"],
        task=record.task,
        kind=record.kind,
        split=record.split,
        seed=record.seed,
        policy=record.policy,
        reward=record.reward,
        valid=record.valid,
        success=record.success,
        verdict=record.verdict,
        extra={name: getattr(record, name) for name in _FURTHER},
    )


def _with_thoughts(message: Message, said: str) -> Message:
    """An assistant's message with the thoughts that it wrote into its text."""
    if not may_think(said):
        return message
    thoughts, rest = split_thinking(_text(said))
    if not thoughts:
        return message
    content = rest.lstrip() if message.get("content") == said else message.get("content")
    return {"reasoning_content": thoughts, **message, "content": content}


def _text(said: str) -> str:
    """The text of an action, which may be a whole message as JSON."""
    if said.startswith("{"):
        try:
            value = decode(said)
            if isinstance(value, dict) and is_message(value):
                content = value.get("content") or ""
                return content if isinstance(content, str) else text_of(content)
        except (ValueError, RecursionError, ActionError):
            pass
    return said


class Recorded:
    """Record files, which are read only: nothing but an episode writes a record."""

    name = "record"
    writes = False

    def fits(self, row: Any) -> bool:
        """Whether a row is the line of a record."""
        return isinstance(row, dict) and {"v", "key", "events", "head"} <= row.keys()

    def read(self, path: Path) -> Iterator[Conversation | Unreadable]:
        """Read a record, see `simia_gym.conversations.format.Format.read`; a torn last line is skipped."""
        for record in read_records(path, torn="skip"):
            where = f"{path}:{record.line}"
            try:
                found = conversation_of(record)
            except InputError as error:
                yield Unreadable(where, error.what)
                continue
            yield replace(found, where=where, source=f"{path.name}:{record.line}")

    def write(self, path: Path, conversations: Iterable[Conversation]) -> int:
        """Refuse to write.

        Raises:
            InputError: Always.
        """
        raise InputError("a record proves an episode, so only `simia rollout` writes one", where=str(path))
