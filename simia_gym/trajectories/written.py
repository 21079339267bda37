r"""The written form of a trajectory, as a teacher reads and writes it: one JSON object a line.

    {"user": "Please cancel my order."}
    {"thought": "I have to know the order.", "assistant": "Which order is it?"}
    {"user": "#W12"}
    {"call": "get_order", "arguments": {"order_id": "#W12"}}
    {"observation": "{\"status\": \"pending\"}"}
    {"end": true}

JSON keeps every text whole, so that a line of a message can never be taken for the next speaker, and the last line
shows that nothing was cut off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from simia_gym.actions.strict_json import JsonProblem, decode_all
from simia_gym.common.formatting import shown
from simia_gym.common.json_encoding import encode
from simia_gym.llm.tolerant.repair import repaired
from simia_gym.trajectories.findings import calls_of, text_of
from simia_gym.types import JsonObject, Message

END = "end"
_THOUGHT = "reasoning_content"
_FENCE = "```"


class UnreadableText(Exception):
    """A text is no trajectory.

    Args:
        code: ``unreadable`` or ``cut_off``.
        line: The line, from 1.
        why: What is wrong with it.
    """

    def __init__(self, code: str, line: int, why: str) -> None:
        self.code, self.line, self.why = code, line, why
        super().__init__(f"line {line}: {why}")


class Written(NamedTuple):
    """A trajectory that was read: its messages, and the number of lines whose JSON was repaired."""

    messages: list[Message]
    repaired: int


def to_text(messages: Sequence[Message]) -> str:
    """Write a conversation in OpenAI's layout, system messages left out."""
    return "".join(encode(line).decode() + "\n" for line in [*_lines(messages), {END: True}])


def _lines(messages: Sequence[Message]) -> Iterator[JsonObject]:
    for message in messages:
        role, text = message["role"], text_of(message)
        if role == "user":
            yield {"user": text}
        elif role == "tool":
            yield {"observation": text}
        elif role == "assistant":
            lead = {"thought": message[_THOUGHT]} if message.get(_THOUGHT) else {}
            calls = message.get("tool_calls") or ()
            if text or not calls:
                yield {**lead, "assistant": text}
                lead = {}
            for call in calls:
                yield {**lead, "call": call["function"]["name"], "arguments": call["function"]["arguments"]}
                lead = {}


def from_text(text: str) -> Written:
    """Read a trajectory.

    Several calls in a row, or words and calls, are one message of the agent. Lines that are not quite JSON are repaired
    where they have one reading. A fence around the whole is left out, and so is what stands behind the end.

    Raises:
        UnreadableText: A line is no part of a trajectory, or the last one is missing.
    """
    messages: list[Message] = []
    fixed, number = 0, 0
    for number, line, mended in _objects(text):
        fixed += mended
        if line.get(END) is True and len(line) == 1:
            return Written(_numbered(messages), fixed)
        _add(messages, line, number)
    raise UnreadableText("cut_off", max(number, 1), "the line that ends it is missing")


def why_unreadable(text: str) -> str | None:
    """Why a text is no trajectory, or one without its end; ``None`` if it is one."""
    try:
        from_text(text)
    except UnreadableText as error:
        return str(error)
    return None


def _objects(text: str) -> Iterator[tuple[int, Mapping[str, Any], bool]]:
    """The objects of a text with the number of their first line, and whether they were repaired; one may take lines."""
    held, began = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if not held and (not bare or bare.startswith(_FENCE)):
            continue
        began = began or number
        held = f"{held}\n{bare}" if held else bare
        if not bare.rstrip(",").endswith("}"):
            continue
        value, mended = _value(held.rstrip(","), began, last=False)
        if value is not None:
            yield began, value, mended
            held, began = "", 0
    if held and not held.startswith(_FENCE):
        value, mended = _value(held.rstrip(","), began, last=True)
        assert value is not None
        yield began, value, mended


def _value(text: str, number: int, *, last: bool) -> tuple[Mapping[str, Any] | None, bool]:
    """The object of a text; ``None`` if further lines may belong to it."""
    try:
        value, mended = decode_all(text), False
    except JsonProblem as problem:
        try:
            value, mended = repaired(text), True
        except JsonProblem:
            if last or not text.startswith("{"):
                raise UnreadableText(
                    "unreadable", number, f"it is no JSON object ({problem.message}): {shown(text, 60)}"
                ) from None
            return None, False
    if not isinstance(value, dict):
        raise UnreadableText("unreadable", number, f"it is no JSON object: {shown(text, 60)}")
    return value, mended


def _add(messages: list[Message], line: Mapping[str, Any], number: int) -> None:
    """Append what a line says to the messages."""
    keys = set(line)
    thought = line.get("thought")
    if thought is not None and not isinstance(thought, str):
        raise UnreadableText("unreadable", number, "its thought is no text")
    if keys == {"user"} and isinstance(line["user"], str):
        messages.append({"role": "user", "content": line["user"]})
    elif keys == {"observation"}:
        said = line["observation"]
        messages.append({"role": "tool", "content": said if isinstance(said, str) else encode(said).decode()})
    elif keys - {"thought"} == {"assistant"} and isinstance(line["assistant"], str):
        messages.append(_agent(line["assistant"], thought))
    elif keys - {"thought", "arguments"} == {"call"} and isinstance(line["call"], str):
        arguments = line.get("arguments")
        call = {
            "type": "function",
            "function": {"name": line["call"], "arguments": {} if arguments is None else arguments},
        }
        last = messages[-1] if messages else None
        if last is None or last["role"] != "assistant":
            messages.append(last := _agent("", thought))
        elif thought:
            last[_THOUGHT] = "\n".join(filter(None, (last.get(_THOUGHT), thought)))
        last.setdefault("tool_calls", []).append(call)
    else:
        what = f"its keys are {', '.join(sorted(keys))}" if keys else "it is empty"
        raise UnreadableText("unreadable", number, f"it is no part of a trajectory: {what}")


def _agent(text: str, thought: str | None) -> Message:
    return {"role": "assistant", "content": text, **({_THOUGHT: thought} if thought else {})}


def _numbered(messages: list[Message]) -> list[Message]:
    """The messages with an id for each call, and for its answer, in order."""
    count = 0
    for message in messages:
        for call in message.get("tool_calls", ()):
            count += 1
            call["id"] = f"call_{count}"
    for called in calls_of(messages):
        if called.answered >= 0:
            messages[called.answered]["tool_call_id"] = called.id
    return messages
