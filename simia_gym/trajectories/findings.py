"""What a program finds wrong with a trajectory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from simia_gym.types import JsonObject, Message


class Finding(NamedTuple):
    """Something wrong with a trajectory.

    Attributes:
        code: Its kind, such as ``invented_id``.
        place: Number of the message, from 0.
        what: What is wrong, in one line.
    """

    code: str
    place: int
    what: str

    def to_json(self) -> JsonObject:
        """As an object."""
        return self._asdict()


class Called(NamedTuple):
    """A call and its answer.

    Attributes:
        place: Number of the agent's message.
        answered: Number of the message with the answer; -1 if there is none.
        answer: Its text.
    """

    place: int
    id: str
    name: str
    arguments: Any
    answered: int
    answer: str


def calls_of(messages: Sequence[Message]) -> Iterator[Called]:
    """The calls of a conversation in OpenAI's layout, in order, each with its answer.

    Answers belong to calls by their ids; without ids, in their order.
    """
    for place, message in enumerate(messages):
        made = message.get("tool_calls") if message["role"] == "assistant" else None
        if not made:
            continue
        answers = list(_answers(messages, place))
        for number, call in enumerate(made):
            function = call["function"]
            found = next(
                (each for each in answers if call.get("id") and each[1].get("tool_call_id") == call["id"]), None
            )
            if found is None and number < len(answers) and not answers[number][1].get("tool_call_id"):
                found = answers[number]
            at, text = (-1, "") if found is None else (found[0], text_of(found[1]))
            yield Called(place, str(call.get("id") or ""), function["name"], function["arguments"], at, text)


def _answers(messages: Sequence[Message], place: int) -> Iterator[tuple[int, Message]]:
    for at in range(place + 1, len(messages)):
        if messages[at]["role"] != "tool":
            return
        yield at, messages[at]


def text_of(message: Message) -> str:
    """The text of a message; empty if it has none."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return ""
