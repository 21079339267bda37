"""The conversation of a recorded episode, from the record alone: the domain may have changed since, or be gone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from simia_gym.actions.assistant import with_provider
from simia_gym.actions.calls import call_message
from simia_gym.actions.refused import refusals
from simia_gym.record.records import Record
from simia_gym.types import JsonObject, Message, ToolCall

_ANSWERS = frozenset(("transition", "invalid"))


def transcript(record: Record, *, native: bool = True) -> list[Message]:
    """The whole conversation of a record in the OpenAI layout.

    Args:
        record: The record.
        native: Show an episode whose policy gave its model the tools beside the messages as that policy saw it.
            ``False`` shows it like every other episode, with the tools and the format of calls in the system message.

    Returns:
        The messages that the policy saw, and its last action. If the episode ended in the middle of that action, its
        message has the calls that were answered, or the raw text if none was.

    Raises:
        InputError: The record's blob file lacks the system message.
    """
    native = native and is_native(record)
    as_tool = native or record.start.get("observation_role") == "tool"
    messages: list[Message] = []
    for number, event in enumerate(record.events):
        kind = event["type"]
        if kind == "message":
            messages.append({"role": "system", "content": record.content("native_system" if native else "system")})
            messages.append({"role": "user", "content": event["text"]})
        elif kind == "action":
            answers = [*takewhile(lambda event: event["type"] != "action", record.events[number + 1 :])]
            messages += _action(event, [each for each in answers if each["type"] in _ANSWERS], as_tool)
        elif kind == "invalid" and as_tool and "calls" in event:
            messages += refusals([*map(_made, event["calls"])], event["text"], event["code"])
        elif kind == "invalid":
            messages.append({"role": "user", "content": event["text"], "error_code": event["code"]})
        elif kind == "transition":
            messages.append(_answer(event, as_tool))
    return messages


def transcript_text(messages: Sequence[Message]) -> str:
    """A readable transcript: one block per message, without the system message."""
    blocks = []
    for message in messages:
        if message["role"] == "system":
            continue
        calls = [call["function"] for call in message.get("tool_calls", ())]
        lines = [message["content"]] if message["content"] else []
        lines += [f"-> {call['name']}({call['arguments']})" for call in calls]
        blocks.append(f"[{message['role']}] " + "\n".join(lines))
    return "\n".join(blocks)


def is_native(record: Record) -> bool:
    """Whether the policy of an episode gave its model the tools beside the messages, so that no message had them."""
    return "native_system" in record.start.get("content", {})


def _action(event: JsonObject, answers: list[JsonObject], as_tool: bool) -> list[Message]:
    """The message of an action; text for the user as it was delivered."""
    provider = event.get("provider")
    said = next((each["say"] for each in answers if each.get("say") is not None), None)
    if said is not None:
        return [with_provider({"role": "assistant", "content": said}, provider)]
    calls = [call for each in answers for call in each.get("calls", [each.get("call")]) if call is not None]
    if not calls or not as_tool:
        return [with_provider({"role": "assistant", "content": event["text"]}, provider)]
    made = map(_made, calls)
    return [with_provider(call_message(*made, content=event.get("beside", ""), as_text=True), provider)]


def _made(call: JsonObject) -> ToolCall:
    return ToolCall(call["name"], call["arguments"], call["id"])


def _answer(event: JsonObject, as_tool: bool) -> Message:
    call, content = event["call"], event["observation"]
    answer: dict[str, Any] = {"role": "user", "content": content}
    if call is not None and as_tool:
        answer = {"role": "tool", "tool_call_id": call["id"], "name": call["name"], "content": content}
    if event["error_code"] is not None:
        answer["error_code"] = event["error_code"]
    return answer
