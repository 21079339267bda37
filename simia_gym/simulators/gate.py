"""The argument gate: code answers invalid calls and declared errors, so that no model is asked."""

from __future__ import annotations

from dataclasses import replace

from simia_gym.domain.domain import Domain
from simia_gym.domain.world import declared_error, refuse_call, refuse_size, with_page
from simia_gym.state import State
from simia_gym.types import Feedback, ToolCall, Transition


def gate(
    domain: Domain, state: State, call: ToolCall, feedback: Feedback, *, current: bool = True
) -> Transition | None:
    """Answer a call of an unknown tool, with invalid arguments or with a declared error; ``None`` if it is valid.

    If the domain's world has the tool, `World.refuse` decides, which a world may override. Declared errors, and what
    else a world refuses, are answered, and the open page is shown, if the state is ``current``: a simulator that tracks
    no changes has only the first.
    """
    world = domain.world
    own = world is not None and (call.name in world.tools or call.name not in domain.specs)
    if world is not None and own and (current or refuse_call(domain.specs, call)):
        refusal = world.refuse(state, call, feedback)
    else:
        refusal = refuse_call(domain.specs, call, feedback)
    refusal = refusal or refuse_size(call, domain.limits(call.name))
    if refusal is None and current:
        refusal = declared_error(domain.specs[call.name], state, call, feedback)
    if refusal is not None and current:
        info = domain.extras
        refusal = with_page(refusal, domain.specs, domain.renderers.__getitem__, state, call, feedback, info)
    return None if refusal is None else replace(refusal, meta={**refusal.meta, "route": "gate"})
