"""The argument gate: what no tool should see is answered by code, at no cost."""

from __future__ import annotations

from dataclasses import replace

from simia_gym.common.json_encoding import encode
from simia_gym.domain.domain import Domain
from simia_gym.domain.world import error_transition, refuse_call
from simia_gym.types import Feedback, ToolCall, Transition

MAX_ARGUMENTS = 10_000
"""Most bytes of a call's arguments that a model is asked about; a flood in a call is a mistake and not a burden."""


def gate(domain: Domain, call: ToolCall, feedback: Feedback) -> Transition | None:
    """Answer an unknown tool, or arguments that do not fit.

    Where the domain's world has the tool, it answers as the world does, whose gate may be its own.

    Args:
        domain: The domain.
        call: The call.
        feedback: What errors say.

    Returns:
        The error, marked with the route ``gate``; ``None`` where the call may go on.
    """
    world = domain.world
    if world is not None and (call.name in world.tools or call.name not in domain.specs):
        refusal = world.refuse(call, feedback)
    else:
        refusal = refuse_call(domain.specs, call, feedback)
    if refusal is None and (size := len(encode(call.arguments))) > MAX_ARGUMENTS:
        text = f"Error: The arguments of {call.name} have {size} bytes; {MAX_ARGUMENTS} are the most."
        refusal = error_transition(text, "invalid_arguments")
    return None if refusal is None else replace(refusal, meta={**refusal.meta, "route": "gate"})
