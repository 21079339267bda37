"""What the scripted user remembers between its turns, in one row of the state table ``_user``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simia_gym.state import State
from simia_gym.types import JsonObject
from simia_gym.users.scripted_script import Request, Script

TABLE, KEY = "_user", "script"


@dataclass
class Memory:
    """The user's memory between its turns. "The request" is the current one.

    Attributes:
        at: Index of the request in the script.
        seen: Number of ledger events that have been processed.
        known: Slots that the user has told the agent during the request.
        insisted: Number of objections to refusals of the request.
        changed: Whether the user has changed its mind about the request.
        proposed: Whether the agent's last message mentioned the request's action.
        stuck: Number of fallback replies since the agent last called a tool; see rule 7 of the module.
        waits: Number of consecutive messages that asked the user to wait.
        objections: Number of wrong proposals that the user has rejected.
        unclear: Number of times that the user has asked what exactly will be done.
        named: Indexes in ``expect`` of the details that the agent's last message named.
        repeats: Number of consecutive answers that told the agent nothing new.
        told: Indexes of the groups in ``told`` of which the agent has said a word.
        done: Indexes of the calls in ``done`` that have succeeded.
        agreed: Whether the user has said yes to the request's proposal, and nothing against it since.
    """

    at: int = 0
    seen: int = 0
    known: tuple[str, ...] = ()
    insisted: int = 0
    changed: bool = False
    proposed: bool = False
    stuck: int = 0
    waits: int = 0
    objections: int = 0
    unclear: int = 0
    named: tuple[int, ...] = ()
    repeats: int = 0
    told: tuple[int, ...] = ()
    done: tuple[int, ...] = ()
    agreed: bool = False

    def to_row(self) -> JsonObject:
        """The memory as a row of the state, without what is still as at the start."""
        return {name: value for name, value in vars(self).items() if value}

    @classmethod
    def of(cls, state: State) -> Memory:
        """Read the memory from the state; it is that of the start if the state has none."""
        row: Mapping[str, Any] = state.get(TABLE, KEY) or {}
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in row.items()}
        return cls(**values)


def present_request(script: Script, memory: Memory) -> Request:
    """The current request, after the user's change of mind if there was one."""
    request = script.requests[min(memory.at, len(script.requests) - 1)]
    change = request.change
    if change is None or not memory.changed or change.withdraw:
        return request
    given = {name: getattr(change, name) for name in ("action", "expect", "done")}
    update = {name: value for name, value in given.items() if value not in (None, "")}
    return request.model_copy(update={**update, "slots": {**request.slots, **change.slots}})
