"""Plays the simulator of the reference strategy: executes all calls of the history from the task's initial state."""

from __future__ import annotations

from typing import NamedTuple

from simia_gym.domain.domain import Domain
from simia_gym.domain.world import World
from simia_gym.oracle.domains import Domains
from simia_gym.oracle.ledger import read_call, run
from simia_gym.oracle.prefixes import Conversations
from simia_gym.oracle.reading import Asked, Refused, Said, blocks_of
from simia_gym.state import State
from simia_gym.types import JsonObject, Task, Transition


class Moment(NamedTuple):
    """The state after some calls, and the last call's transition."""

    state: State
    last: Transition | None


class Reference:
    """Answers the last tool call of a growing history.

    Args:
        domains: The domains, with their tasks.
    """

    def __init__(self, domains: Domains) -> None:
        self._domains = domains
        self._conversations: Conversations[Moment] = Conversations()

    def answer(self, asked: Asked) -> JsonObject:
        """Answer the last call of the prompt.

        Raises:
            Refused: The oracle does not know the domain, its world or the task, or the prompt has no call.
        """
        known = self._domains.named(asked.static)
        domain, world = known.domain, known.world
        task = known.task(asked.static.need("task"))
        feedback = known.feedback(asked.static)

        def step(moment: Moment, said: Said) -> Moment:
            for item in blocks_of(said):
                if item.kind == "call":
                    transition = run(world, moment.state, read_call(item.value), feedback)
                    state = moment.state if transition.state is None else transition.state
                    moment = Moment(state, transition)
            return moment

        root = (id(domain), id(task), feedback)
        state, last = self._conversations.fold(
            root, lambda: Moment(beginning(domain, world, task), None), asked.turns, step
        )
        if last is None:
            raise Refused("the prompt has no call")
        done = last.end is not None or (bool(last.ops) and domain.end_of(state) is not None)
        return {
            "outcome": last.outcome,
            "error_code": last.error_code,
            "observation": last.observation,
            "done": done,
        }


def beginning(domain: Domain, world: World, task: Task) -> State:
    """The state before the first call of an episode; without a user, the state after the world's opening."""
    state = domain.prepare(task).initial
    if domain.user is None:
        draft = state.draft()
        world.opening(draft, task)
        state, _ = draft.commit()
    return state
