"""Whether an error that a model gives can be right: by what it was shown, what is declared, and the tool's own code.

An agent reads an error as a fact about its call. One that cannot be right would cost it its reward without a trace, so
the model is asked again.
"""

from __future__ import annotations

import asyncio

from simia_gym.contracts import StepContext
from simia_gym.domain.domain import Domain
from simia_gym.domain.tools import DeclaredError, ToolSpec
from simia_gym.domain.world import own_code
from simia_gym.errors import Fault
from simia_gym.simulators.shown import contradicts_shown
from simia_gym.state import State
from simia_gym.types import ToolCall
from simia_gym.views.slices import Slice


async def excluded(code: str, domain: Domain, call: ToolCall, context: StepContext, shown: Slice) -> str:
    """Why a call that the gate accepts cannot have failed with an error; empty if it can, or if nothing can tell.

    Conditions are asked in a thread, because one may take as long as the call itself. Code at hand is run if it does
    not wait, as it then does nothing but compute what becomes of the state.

    Raises:
        Fault: A condition raised an exception.
    """
    spec, state, world = domain.specs[call.name], context.state, domain.world
    if wrong := contradicts_shown(code, spec, call, domain.slicers[call.name].selectors, shown):
        return wrong
    declared = [error for error in spec.errors if error.code == code]
    if declared and all(error.condition is not None for error in declared):
        if not any([await asyncio.to_thread(occurs, error, spec, state, call) for error in declared]):
            return f"error_code {code!r} does not occur here: what this error is declared for is not the case"
    elif world is not None and call.name in world.tools and call.name not in world.waiting:
        try:
            answer = await world.answer(state, call)
        except Fault:
            return ""
        if answer.outcome == "ok":
            return f"outcome is error, but nothing is wrong with this call of {spec.name}: it succeeds"
    return ""


def occurs(error: DeclaredError, spec: ToolSpec, state: State, call: ToolCall) -> bool:
    """Whether the condition of an error holds; false if it has none.

    Raises:
        Fault: It raised an exception.
    """
    if error.condition is None:
        return False
    name = f"error {error.code} of {spec.name}"
    return bool(own_code(name, error.condition, state, call.arguments))
