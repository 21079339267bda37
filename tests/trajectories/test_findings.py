"""Programs see what is wrong with a trajectory, and nothing wrong with a right one."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import orjson
import pytest

from simia_gym.trajectories.examine import cut_before, examine
from simia_gym.types import JsonObject, Message


def tool(name: str, **properties: JsonObject) -> JsonObject:
    parameters = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


TOOLS = [
    tool("get_order", order_id={"type": "string"}),
    tool("set_address", order_id={"type": "string"}, street={"type": "string"}),
]
ORDER = {
    "order_id": "#W1204",
    "status": "pending",
    "street": "1 Elm",
    "lines": [{"item": "lamp", "price": 20.5, "quantity": 2}, {"item": "mat", "price": 9.0, "quantity": 1}],
    "total": 50.0,
}


def call(number: int, name: str, answer: Any, **arguments: Any) -> list[Message]:
    made = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
    text = answer if isinstance(answer, str) else orjson.dumps(answer).decode()
    return [
        {"role": "assistant", "content": "", "tool_calls": [made]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": text},
    ]


def right() -> list[Message]:
    moved = {**ORDER, "street": "7 Oak"}
    return [
        {"role": "user", "content": "Please send order #W1204 to 7 Oak."},
        *call(1, "get_order", ORDER, order_id="#W1204"),
        {"role": "assistant", "content": "I would change 1 Elm to 7 Oak. Shall I (yes/no)?"},
        {"role": "user", "content": "Yes."},
        *call(2, "set_address", moved, order_id="#W1204", street="7 Oak"),
        *call(3, "get_order", moved, order_id="#W1204"),
        {"role": "assistant", "content": "It goes to 7 Oak. $20.50 + $20.50 + $9.00 = $50.00 stays the price."},
    ]


def changed(place: int, **fields: Any) -> list[Message]:
    """The right trajectory with other fields in the row that a message shows."""
    messages = right()
    row = {**orjson.loads(messages[place]["content"]), **fields}
    messages[place] = {**messages[place], "content": orjson.dumps(row).decode()}
    return messages


def without(place: int) -> list[Message]:
    messages = right()
    del messages[place]
    return messages


def said(place: int, **fields: Any) -> list[Message]:
    messages = right()
    messages[place] = {**messages[place], **fields}
    return messages


def called(place: int, **function: Any) -> list[Message]:
    messages = deepcopy(right())
    messages[place]["tool_calls"][0]["function"].update(function)
    return messages


def again() -> list[Message]:
    loop = call(9, "get_order", "Error: busy", order_id="#W1204")
    return [*right()[:1], *(deepcopy(part) for _ in range(3) for part in loop), *right()[-1:]]


WRONG: dict[str, tuple[str, list[Message]]] = {
    "begins with the agent": ("no_message", right()[1:]),
    "no such tool": ("unknown_tool", called(1, name="get_orders")),
    "an argument is missing": ("invalid_arguments", called(1, arguments={})),
    "an argument has another type": ("invalid_arguments", called(1, arguments={"order_id": 1204})),
    "an argument is unknown": ("invalid_arguments", called(1, arguments={"order_id": "#W1204", "why": "x"})),
    "no observation": ("unanswered_call", without(2)),
    "an observation of nothing": ("unasked_observation", without(1)),
    "an empty observation": ("empty_observation", said(2, content=" ")),
    "ends with an observation of nothing": (
        "no_answer",
        [*right()[:4], {"role": "tool", "tool_call_id": "c9", "content": "x"}],
    ),
    "a call in the words": ("marker_in_text", said(3, content="<tool_call>{}</tool_call>")),
    "another speaker in the words": ("marker_in_text", said(3, content="Sure.\nHUMAN: yes")),
    "three times the same": ("repeats_itself", again()),
    "an id from nowhere": ("invented_id", called(5, arguments={"order_id": "#W7777", "street": "7 Oak"})),
    "another answer to the same call": (
        "contradiction",
        [*right()[:3], *call(4, "get_order", {**ORDER, "status": "sent"}, order_id="#W1204"), *right()[3:]],
    ),
    "another text for the same call": (
        "other_answer",
        [
            *right()[:1],
            *call(4, "get_order", "pending", order_id="#W1204"),
            *call(5, "get_order", "sent", order_id="#W1204"),
            *right()[-1:],
        ],
    ),
    "the change is gone": ("denied_write", changed(8, street="1 Elm")),
    "another value after the change": ("contradiction", changed(8, status="sent")),
    "a total of a row": ("wrong_total", changed(2, total=49.0)),
    "a sum in the words": ("wrong_total", said(9, content="$20.50 + $9.00 = $30.50.")),
}


def test_a_right_trajectory_has_no_finding() -> None:
    assert examine(right(), TOOLS) == []


@pytest.mark.parametrize(("code", "messages"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_found(code: str, messages: list[Message]) -> None:
    found = [finding.code for finding in examine(messages, TOOLS)]
    assert code in found, found


def test_what_is_wrong_says_where() -> None:
    finding = next(item for item in examine(changed(8, street="1 Elm"), TOOLS) if item.code == "denied_write")
    assert finding.place == 8
    assert "street" in finding.what


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([*right(), {"role": "user", "content": "Thank you."}], id="the user's farewell"),
        pytest.param(right()[:7], id="the answer of the last call"),
        pytest.param(changed(2, total=55.0, shipping=5.0), id="a total with shipping"),
        pytest.param(called(5, arguments={"order_id": "W1204", "street": "7 Oak"}), id="an id without its sign"),
    ],
)
def test_what_may_be_is_left_alone(messages: list[Message]) -> None:
    assert examine(messages, TOOLS) == []


def test_a_beginning_is_cut_before_the_mistake() -> None:
    messages = called(5, arguments={"order_id": "#W7777", "street": "7 Oak"})
    assert cut_before(messages, examine(messages, TOOLS)) == right()[:4]
    first = called(1, arguments={})
    assert cut_before(first, examine(first, TOOLS)) is None
