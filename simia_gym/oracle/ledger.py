"""Plays the world from the prompt alone: the domain's tool runs on a state that holds only the rows of the prompt.

A tool is answered as if the rows that the slice lacks did not exist. A tool that cannot run on the slice, because it
needs a row or a field that was not shown, is a mistake of the domain's declarations and is refused with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simia_gym.domain.tools import ToolSpec
from simia_gym.domain.world import World
from simia_gym.errors import Fault, InputError
from simia_gym.oracle.domains import Domains
from simia_gym.oracle.reading import Asked, Refused
from simia_gym.state import State
from simia_gym.types import Feedback, JsonObject, ToolCall, Transition


@dataclass(frozen=True, slots=True)
class LedgerAnswer:
    """The true answer to one call, with what is needed to falsify it.

    Attributes:
        reply: The reply of the ledger strategy.
        spec: The tool, where it exists.
        tables: The slice.
        repair: Whether the request asks to repair an earlier reply.
    """

    reply: JsonObject
    spec: ToolSpec | None
    tables: Mapping[str, Mapping[str, Any]]
    repair: bool


def answer_ledger(asked: Asked, domains: Domains) -> LedgerAnswer:
    """Answer the last call of the prompt.

    Args:
        asked: The request.
        domains: Where the world is found.

    Raises:
        Refused: The prompt is not what the part needs, or the slice does not suffice.
    """
    known = domains.named(asked.static)
    world = known.world
    found, shown = asked.last("call"), asked.last("state")
    if found is None or shown is None:
        raise Refused("the prompt has no call with its state")
    index, value = found
    call = read_call(value)
    tables = shown[1].get("tables") if isinstance(shown[1], Mapping) else None
    try:
        state = State.from_tables(tables or {})
    except (InputError, AttributeError) as error:
        raise Refused(f"the block 'state' holds no tables of rows: {error}") from error
    transition = run(world, state, call, known.feedback(asked.static))
    repair = any(item.kind == "violations" for i in range(index, len(asked.turns)) for item in asked.blocks(i))
    reply: JsonObject = {
        "outcome": transition.outcome,
        "error_code": transition.error_code,
        "reveals": [],
        "ops": list(transition.ops or ()),
        "observation": transition.observation,
    }
    return LedgerAnswer(reply, world.tools.get(call.name), tables or {}, repair)


def read_call(value: Any) -> ToolCall:
    """The call of a block.

    Raises:
        Refused: It is none.
    """
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        raise Refused("the block 'call' holds no call")
    arguments = value.get("arguments")
    return ToolCall(value["name"], dict(arguments) if isinstance(arguments, Mapping) else {})


def run(world: World, state: State, call: ToolCall, feedback: Feedback = "terse") -> Transition:
    """Run a call.

    Raises:
        Refused: The tool broke; on a slice, because something that it needs was not shown.
    """
    try:
        return world.call(state, call, feedback)
    except Fault as fault:
        raise Refused(f"the prompt does not suffice for this call: {fault.message}") from fault
