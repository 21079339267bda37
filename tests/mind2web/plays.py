"""Plays tasks without an episode: by the expert, from the start or from where random actions lead."""

from __future__ import annotations

import random
from collections.abc import Callable

from simia_gym.domain.domain import Domain
from simia_gym.domain.goal import first_difference
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_path
from simia_gym.envs.mind2web.screen import choices_of, open_page, render, session_of
from simia_gym.envs.mind2web.work.expert import call_of, moves
from simia_gym.envs.mind2web.work.position import Move
from simia_gym.envs.mind2web.world import SiteWorld
from simia_gym.state import State
from simia_gym.types import Task, ToolCall

MOST = 30
WORLD = SiteWorld()
_UNCOUNTED = ("/session",)
_TEXTS = ("lamp", "7", "2026-04-02", "ann@post.example", "The")


def domain() -> Domain:
    return load_domain(domain_path("simia/mind2web-v0"))


def begun(task: Task, base: Domain) -> State:
    return base.base.apply(task.setup)


def expert_call(state: State) -> ToolCall:
    return call_of((moves(render(state)) or (Move("done"),))[0])


def solves(
    task: Task, begin: State, state: State, choose: Callable[[State], ToolCall] = expert_call, most: int = MOST
) -> bool:
    """Whether a player ends a task rightly from a state."""
    for _ in range(most):
        call = choose(state)
        state = WORLD.call(state, call).state or state
        if call.name == "done":
            right = [item["check"]["value"] for item in task.criteria]
            answered = all(call.arguments.get("answer") == value for value in right)
            return answered and first_difference(task.goal or (), begin, state, ignore=_UNCOUNTED) is None
    return False


def wandered(state: State, rng: random.Random, count: int = 6) -> State:
    """The state after random actions that change no table."""
    while count:
        after = WORLD.call(state, _random_call(state, rng)).state
        if after is not None and after.table("account") is state.table("account"):
            state, count = after, count - 1
    return state


def _random_call(state: State, rng: random.Random) -> ToolCall:
    session = session_of(state)
    opened = open_page(state, session)
    letter, node = rng.choice(list(choices_of(opened, session).nodes.items()))
    if rng.random() < 0.05:
        return ToolCall("more", {})
    if node.kind == "list":
        options = [option for option, _ in opened.page.options(node.number)]
        words = "".join(str(part) for part in rng.choice(options).children)
        return ToolCall("select", {"choice": letter, "value": words})
    if node.element.tag == "textarea" or node.kind in ("text", "search", "tel", "email", "number", "date"):
        return ToolCall("type", {"choice": letter, "value": rng.choice(_TEXTS)})
    return ToolCall("click", {"choice": letter})
