"""Answers that follow from the state and a tool's rendering rule, so that no model is asked for them."""

from __future__ import annotations

from dataclasses import replace

from simia_gym.domain.domain import Domain
from simia_gym.domain.limits import TOO_LARGE
from simia_gym.domain.tools import ToolSpec
from simia_gym.domain.world import error_transition
from simia_gym.errors import PatchError
from simia_gym.simulators.excluded import occurs
from simia_gym.state import State
from simia_gym.types import ToolCall, Transition

ROUTE = "render"
"""What `meta["route"]` of such an answer says."""


def rendered(domain: Domain, state: State, call: ToolCall) -> Transition | None:
    """Answer a call that the gate accepts by the rendering rule of its tool; ``None`` if it takes a model.

    Code answers tools that change nothing, if the rule can show the state as it is. What is not there is an error that
    the model words.
    """
    spec, render = domain.specs[call.name], domain.renderers[call.name]
    if render is None or spec.effect == "write" or _takes_a_model(domain, spec):
        return None
    if not spec.validator.is_valid(call.arguments):  # a world may let such calls pass
        return None
    if any(occurs(error, spec, state, call) for error in spec.errors if not error.by_code):
        return None
    try:
        text = render(state, call)
    except PatchError:
        return None
    if large := domain.limits(call.name).too_long(text):
        return replace(error_transition(f"Error: the answer is too large: {large}", TOO_LARGE), meta={"route": ROUTE})
    end = "terminal_tool" if spec.terminal else None
    return Transition(text, (), end=end, info=domain.extras(state), meta={"route": ROUTE}, state=state)


def _takes_a_model(domain: Domain, spec: ToolSpec) -> bool:
    """Whether a model may know better than the rule: an error that only it can find, or rows that it may reveal."""
    if any(error.condition is None for error in spec.errors):
        return True
    opened = domain.state_schema.open_tables if domain.state_schema else ()
    return any(
        each.view is not None or (each.key is None and each.table in opened)
        for each in domain.slicers[spec.name].selectors
        if opened
    )
