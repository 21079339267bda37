"""The format ``tau2``: the benchmark's files of results, and lines of recorded episodes, as conversations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from simia_gym.conversations import Conversation, RowFormat, decode_chat
from simia_gym.errors import InputError
from simia_gym.types import JsonObject, Message

_OF_MESSAGE = frozenset(("role", "content", "tool_calls", "id", "requestor", "turn_idx", "error"))
_READ = frozenset(("messages", "task_id", "reward_info"))


class Tau2Results(RowFormat):
    """Results as the benchmark writes them, read only: they need its tasks, so ``simia export`` writes them of records.

    A file of results has one object with ``tasks`` and ``simulations``. Times, costs and what is null are left out.
    """

    name = "tau2"
    writes = False
    body = ("messages",)

    def fits(self, row: Any) -> bool:
        """Whether a row is the whole of the results, or a recorded episode whose calls have their names outside."""
        if not isinstance(row, dict):
            return False
        if "simulations" in row and "tasks" in row:
            return True
        messages = row.get("messages")
        if not isinstance(messages, list):
            return False
        calls = [call for each in messages if isinstance(each, dict) for call in each.get("tool_calls") or ()]
        return bool(calls) and all(isinstance(call, dict) and "function" not in call for call in calls)

    def parts(self, where: str, row: Any) -> Iterator[tuple[str, Any]]:
        """The recorded episodes of a row: one, or those of the results."""
        simulations = row.get("simulations") if isinstance(row, dict) else None
        if not isinstance(simulations, list):
            yield where, row
            return
        about = _inside(row.get("info"), "environment_info")
        more = {"domain": about.get("domain_name"), "system": about.get("policy")}
        more["policy"] = _inside(row.get("info"), "agent_info").get("llm")
        more = {name: value for name, value in more.items() if isinstance(value, str)}
        for number, run in enumerate(simulations):
            yield f"{where}: simulations[{number}]", {**more, **run} if isinstance(run, dict) else run

    def decode(self, row: JsonObject) -> Conversation:
        """The conversation of a recorded episode."""
        messages = row.get("messages")
        if not isinstance(messages, list):
            raise InputError("there are no messages")
        reward = _inside(row, "reward_info").get("reward")
        known = {"task": row.get("task_id"), "reward": reward}
        read = {name: value for name, value in row.items() if name not in _READ and value is not None}
        told = {name: value for name, value in known.items() if value is not None} | read
        found = decode_chat({**told, "messages": [_message(*each) for each in enumerate(messages, start=1)]})
        extra = dict(found.extra)
        if row.get("reward_info") is not None:
            extra["reward_info"] = row["reward_info"]
        system = extra.pop("system", None)
        return replace(found, system=system if isinstance(system, str) else found.system, extra=extra)

    def write(self, path: Path, conversations: Iterable[Conversation]) -> int:
        """Refuse to write.

        Raises:
            InputError: Always.
        """
        what = "results of the benchmark need its tasks, and a conversation has none"
        raise InputError(what, where=str(path), fix="Write those of a record, with `simia export RECORD OUT`.")


def _inside(value: Any, name: str) -> Mapping[str, Any]:
    inner = value.get(name) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def _message(number: int, message: Any) -> Message:
    """A message in OpenAI's layout, whose answers of tools say the id of their call as ``id``."""
    if not isinstance(message, dict):
        raise InputError(f"message {number} is no object")
    if message.get("requestor") == "user" or any(
        isinstance(call, dict) and call.get("requestor") == "user" for call in message.get("tool_calls") or ()
    ):
        raise InputError(f"in message {number} the user uses a tool, which no chat can hold")
    found = {name: value for name, value in message.items() if value is not None and name not in _OF_MESSAGE}
    found |= {"role": message.get("role"), "content": message.get("content")}
    if message.get("role") == "tool" and "tool_call_id" not in found and message.get("id") is not None:
        found["tool_call_id"] = message["id"]
    if message.get("error"):
        found["error"] = message["error"]
    if message.get("tool_calls"):
        found["tool_calls"] = [
            {name: value for name, value in call.items() if name != "requestor"} if isinstance(call, dict) else call
            for call in message["tool_calls"]
        ]
    return found
