"""The format ``adp``: trajectories of the Agent Data Protocol, one a line, as its paper and its data sets have them.

A trajectory is a list of actions and observations. It is written in version 1.3.0 of the schema, which later versions
read, too, and read in all; the protocol's own tools read ATIF 1.7 nowadays, see `simia_gym.conversations.atif`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, islice, takewhile
from typing import Any

from simia_gym.common.json_encoding import encode, hash_of
from simia_gym.conversations.carried import COLUMN
from simia_gym.conversations.conversation import Conversation, facts_in, facts_of
from simia_gym.conversations.format import RowFormat
from simia_gym.conversations.messages import normal_messages, normal_tools
from simia_gym.conversations.text import plain
from simia_gym.errors import InputError
from simia_gym.types import JsonObject, Message

VERSION = "1.3.0"
_TOOLS = "tool_definitions"
_ROLES = {
    "user": "user",
    "environment": "user",
    "user_msg": "user",
    "system": "system",
    "agent": "assistant",
    "assistant": "assistant",
}
_CODE = {
    **dict.fromkeys(("bash", "sh", "shell"), ("execute_bash", "command")),
    **dict.fromkeys(("python", "py", "python3"), ("execute_ipython_cell", "code")),
}
"""The tools that the protocol's tools take code for, with the name of the argument."""


class Adp(RowFormat):
    """Trajectories, whose ``details`` hold the tools and what is known about the conversation."""

    name = "adp"
    body = ("content",)

    def fits(self, row: Any) -> bool:
        """Whether a row is a list of actions and observations."""
        content = row.get("content") if isinstance(row, dict) else None
        return isinstance(content, list) and all(isinstance(each, dict) and "class_" in each for each in content)

    def decode(self, row: JsonObject) -> Conversation:
        """The conversation of a trajectory."""
        details = row.get("details") or {}
        if not self.fits(row) or not isinstance(details, dict):
            raise InputError("is no trajectory: it needs a content of actions and observations, and details")
        system, messages = normal_messages([*_messages(row["content"])])
        about = {name: value for name, value in row.items() if name.startswith("available_") and value is not None}
        facts = facts_of({**about, **details}, frozenset((_TOOLS, COLUMN)))
        if isinstance(row.get("id"), str):
            facts["id"] = row["id"]
        return Conversation(system=system, messages=messages, tools=normal_tools(details.get(_TOOLS)), **facts)

    def encode(self, conversation: Conversation) -> JsonObject:
        """The trajectory of a conversation."""
        content = [*_items(conversation.messages)]
        if conversation.system is not None:
            content.insert(0, _observed(conversation.system, "environment", name="system"))
        facts = facts_in(conversation)
        name = facts.pop("id", None) or hash_of(encode(content))[:12]
        details = {**conversation.extra, **facts}
        if conversation.tools:
            details[_TOOLS] = list(conversation.tools)
        return {"schema_version": VERSION, "id": name, "content": content, "details": details}

    def with_column(self, row: JsonObject, text: str) -> JsonObject:
        """The trajectory, with a text for what is lost in its ``details``."""
        return {**row, "details": {**row["details"], COLUMN: text}}

    def column(self, row: JsonObject) -> Any:
        """What stands in the trajectory's ``details`` for what is lost."""
        details = row.get("details")
        return details.get(COLUMN) if isinstance(details, dict) else None


def _messages(content: Sequence[JsonObject]) -> Iterator[Message]:
    said: Message | None = None
    for number, item in enumerate(content, start=1):
        kind = item["class_"]
        if kind in ("api_action", "code_action"):
            call = _call(item, number)
            beside = {key: item[key] for key in ("description", "reasoning_content") if item.get(key)}
            if said is not None and not beside:
                said["tool_calls"].append(call)
                continue
            if said is not None:
                yield said
            said = {"role": "assistant", "content": beside.get("description"), "tool_calls": [call]}
            said["reasoning_content"] = beside.get("reasoning_content")
            continue
        waits, said = said, None
        if waits is not None:
            yield waits
        if kind == "message_action":
            text = "\n\n".join(filter(None, (item.get("description"), item.get("content"))))
            yield {"role": "assistant", "content": text, "reasoning_content": item.get("reasoning_content")}
        elif kind == "text_observation":
            yield _observation(item, number, answers=waits is not None)
        else:
            raise InputError(f"item {number} is {kind!r}, which no chat message can hold")
    if said is not None:
        yield said


def _call(item: JsonObject, number: int) -> JsonObject:
    name, arguments = item.get("function"), item.get("kwargs")
    if item["class_"] == "code_action":
        language = str(item.get("language"))
        name, key = _CODE.get(language, ("execute_code", "content"))
        arguments = (
            {key: item.get("content")} if language in _CODE else {"language": language, key: item.get("content")}
        )
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise InputError(f"item {number} is a call without function and kwargs")
    return {"id": item.get("tool_call_id"), "type": "function", "function": {"name": name, "arguments": arguments}}


def _observation(item: JsonObject, number: int, answers: bool) -> Message:
    """What was observed: the answer of a tool if it names the call, or follows one in data that name none."""
    source, call_id = item.get("source"), item.get("tool_call_id")
    if source not in _ROLES:
        raise InputError(f"item {number} has the source {source!r}")
    if call_id is not None or (answers and source == "environment"):
        return {"role": "tool", "tool_call_id": call_id, "content": item.get("content")}
    if source == "environment" and item.get("name") == "system":
        return {"role": "system", "content": item.get("content")}
    name = item.get("name") or ("environment" if source == "environment" else None)
    return {"role": _ROLES[source], "content": item.get("content"), **({} if name is None else {"name": name})}


def _items(messages: Sequence[Message]) -> Iterator[JsonObject]:
    fresh = (f"call_{number:06}" for number in count(1))
    used: set[str] = set()
    waiting: dict[str, str] = {}
    for place, message in enumerate(messages):
        content = plain(message, Adp.name)
        if message["role"] == "tool":
            own = waiting.pop(message["tool_call_id"], None)
            if own is None:
                raise InputError("an answer of a tool does not follow its call")
            yield _observed(content, "environment", tool_call_id=own)
            continue
        calls = message.get("tool_calls", ())
        answers = _answers(messages, place + 1) if calls else []
        if calls and place + 1 + len(answers) < len(messages) and len(answers) < len(calls):
            raise InputError("a call has no answer, and something follows it")
        if message["role"] != "assistant":
            source = "user" if message["role"] == "user" and message.get("name") != "environment" else "environment"
            name = "system" if message["role"] == "system" else message.get("name")
            yield _observed(content, source, **({} if name in (None, "environment") else {"name": name}))
            continue
        thoughts = {"reasoning_content": message["reasoning_content"]} if "reasoning_content" in message else {}
        if not calls:
            yield {"class_": "message_action", "content": content, **thoughts}
        for number, call in enumerate(calls):
            item = {
                "class_": "api_action",
                "function": call["function"]["name"],
                "kwargs": call["function"]["arguments"],
            }
            if call["id"] in answers:
                own = call["id"] if call["id"] not in used else next(one for one in fresh if one not in used)
                used.add(own)
                waiting[call["id"]] = item["tool_call_id"] = own
            if not number:
                item |= {**({"description": content} if content else {}), **thoughts}
            yield item


def _answers(messages: Sequence[Message], place: int) -> list[str]:
    """The calls that are answered from a place on, up to the next message of another role."""
    found = takewhile(lambda message: message["role"] == "tool", islice(messages, place, None))
    return [message["tool_call_id"] for message in found]


def _observed(content: str, source: str, **more: str) -> JsonObject:
    return {"class_": "text_observation", "content": content, "source": source, **more}
