"""Scripts of the benchmark's agents: ten tool calls for each customer, three of them writes, and the world's replies.

A script belongs to the customer's first message, since only this identifies the episode to the mock model. Tasks whose
customers may have the same first message share a script.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from simia_gym.assembly.suite import Suite
from simia_gym.common.event_loop import run_inline
from simia_gym.types import JsonObject, Message, Task

TURNS = 10
_SEEDS = 24
_LONG = "I look at this order next, and I compare it with what the customer has told me so far. "


@dataclass(frozen=True)
class Script:
    """The agent's messages in some tasks.

    Attributes:
        name: Its name.
        messages: The assistant messages, one for each turn.
    """

    name: str
    messages: tuple[Message, ...]

    def actions(self) -> Iterator[str]:
        """The messages as actions of an episode."""
        for message in self.messages:
            yield json.dumps(message, ensure_ascii=False)


def make_scripts(suite: Suite, tasks: Sequence[Task]) -> tuple[dict[str, Script], dict[str, str]]:
    """Create one script for all tasks whose customers may have the same first message.

    Args:
        suite: The environment, with the code world.
        tasks: Its tasks.

    Returns:
        Scripts by task, and the script's name by first message.
    """
    openings: dict[str, list[str]] = {}
    leader = {task.id: task.id for task in tasks}
    for task in tasks:
        for seed in range(_SEEDS):
            words = run_inline(suite.episode().reset(task, seed=seed)).observation
            openings.setdefault(words, []).append(task.id)
    for alike in openings.values():
        first = _leader(leader, alike[0])
        for other in alike[1:]:
            leader[_leader(leader, other)] = first
    customers = cycle(_customers(suite))
    names: dict[str, Script] = {}
    for task in tasks:
        first = _leader(leader, task.id)
        if first not in names:
            number = len(names)
            names[first] = Script(f"s{number}", _script(number, next(customers)))
    scripts = {task.id: names[_leader(leader, task.id)] for task in tasks}
    return scripts, {words: scripts[alike[0]].name for words, alike in openings.items()}


def _leader(leader: dict[str, str], task: str) -> str:
    while leader[task] != task:
        task = leader[task]
    return task


def _customers(suite: Suite) -> Iterator[tuple[JsonObject, str, JsonObject, str]]:
    """Customers with a pending order and another one, in the order of their ids."""
    base = suite.domain.base
    orders, users = base.to_tables()["orders"], base.to_tables()["users"]
    for user_id in sorted(users):
        own = [key for key in users[user_id]["orders"] if key in orders]
        pending = [key for key in own if orders[key]["status"] == "pending"]
        if pending and len(own) > 1:
            other = next(key for key in own if key != pending[0])
            yield {"user_id": user_id, **users[user_id]}, pending[0], orders[pending[0]], other


def _script(number: int, customer: tuple[JsonObject, str, JsonObject, str]) -> tuple[Message, ...]:
    user, order_id, order, other = customer
    place = {"address1": f"{number + 1} Mill Lane", "address2": "", "city": "Denver", "state": "CO"}
    address = {**place, "country": "USA", "zip": "80202"}
    item = order["items"][0]
    calls: list[tuple[str, JsonObject]] = [
        ("find_user_id_by_email", {"email": user["email"]}),
        ("get_user_details", {"user_id": user["user_id"]}),
        ("get_order_details", {"order_id": order_id}),
        ("get_product_details", {"product_id": item["product_id"]}),
        ("modify_pending_order_address", {"order_id": order_id, **address}),
        ("get_order_details", {"order_id": order_id}),
        ("get_order_details", {"order_id": other}),
        ("modify_user_address", {"user_id": user["user_id"], **address}),
        ("cancel_pending_order", {"order_id": order_id, "reason": "no longer needed"}),
        ("get_user_details", {"user_id": user["user_id"]}),
    ]
    return tuple(_message(f"s{number}", turn, name, call) for turn, (name, call) in enumerate(calls, 1))


def long_script(suite: Suite, turns: int) -> Script:
    """An episode of many turns with messages of about one kilobyte; each turn reads a different order."""
    keys = sorted(suite.domain.base.to_tables()["orders"])
    made = []
    for turn in range(1, turns + 1):
        words = (_LONG * 12)[:900]
        call = {"order_id": keys[turn * 7 % len(keys)]}
        made.append({**_message("long", turn, "get_order_details", call), "content": words})
    return Script("long", tuple(made))


def _message(script: str, turn: int, name: str, arguments: JsonObject) -> Message:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"{script}_{turn}", "type": "function", "function": function}],
    }


def world_replies(suite: Suite, task: Task, script: Script, seed: int) -> list[JsonObject]:
    """The replies of a perfect simulator, one for each turn."""
    episode = suite.episode()
    run_inline(episode.reset(task, seed=seed))
    for action in script.actions():
        run_inline(episode.step(action))
    replies: list[JsonObject] = []
    for event in episode.ledger.events:
        if event["type"] == "transition":
            ops: list[Any] = [dict(op) for op in event["ops"] if not op["path"].startswith("/_")]
            kept = {name: event[name] for name in ("outcome", "error_code", "observation")}
            replies.append({**kept, "reveals": [], "ops": ops})
    return replies
