"""The first observation of an episode without a user; code writes it, whatever simulator answers the calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simia_gym.common.event_loop import run_sync
from simia_gym.contracts import StepContext
from simia_gym.domain.domain import Domain
from simia_gym.domain.world import own_code, world_opening
from simia_gym.errors import InputError
from simia_gym.state import State
from simia_gym.types import Task, Transition


async def opening(domain: Domain, context: StepContext) -> Transition:
    """Return the first observation, from the domain's world, or from the domain and task if there is no world.

    Raises:
        InputError: There is no world, and the task has no instruction.
    """
    if domain.world is not None:
        return await world_opening(domain.world, context.state, context.task)
    text = domain.opening(context.state, context.task)
    if not text:
        fix = "Give the task an instruction, or the domain a user, a world or an opening."
        raise InputError("there is nothing to begin with", where=f"task {context.task.id}", fix=fix)
    return Transition(text, (), speaker="env", info=domain.extras(context.state), state=context.state)


def opened_state(domain: Domain, task: Task) -> State:
    """The state before the first call of an episode; without a user, the state after the world's opening."""
    state = domain.prepare(task).initial
    if domain.world is None or domain.user is not None:
        return state
    opened = run_sync(world_opening(domain.world, state, task), inline=not domain.world.io)
    return state if opened.state is None else opened.state


def public_info(domain: Domain, state: State) -> Mapping[str, Any]:
    """Public facts of a state that a model has changed, such as a page's clickable elements."""
    return domain.extras(state) if domain.world is None else own_code("info", domain.world.info, state)
