"""The hybrid simulator: code where there is code, a model for the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, Protocol

from simia_gym.contracts import Simulator, StepContext
from simia_gym.domain.domain import Domain
from simia_gym.errors import InputError
from simia_gym.simulators.gate import gate
from simia_gym.simulators.opening import opening
from simia_gym.types import Feedback, ToolCall, Transition

Side = Literal["world", "llm"]


class ModelSide(Simulator, Protocol):
    """A simulator that asks a model, as `HybridSimulator` needs it."""

    async def answer(self, call: ToolCall, context: StepContext) -> Transition:
        """Answer a call that has passed the argument gate."""
        ...


class HybridSimulator:
    """Sends each call to the domain's world or to a model; ``meta["route"]`` says where it went.

    Args:
        domain: The domain.
        model_side: Who plays the tools that have no code, or are routed away from it.
        routes: Tool name to ``world`` or ``llm``, where it is to differ from what the tools declare.
        feedback: What the world's errors say.

    Raises:
        InputError: A route names a tool that does not exist, or one that cannot be played that way.
    """

    name = "hybrid"
    io = True

    def __init__(
        self,
        domain: Domain,
        model_side: ModelSide,
        routes: Mapping[str, str] | None = None,
        feedback: Feedback = "terse",
    ) -> None:
        self.domain, self.model_side, self.feedback = domain, model_side, feedback
        self.routes = choose_routes(domain, routes or {})

    def begin(self, context: StepContext) -> None:
        """Begin on the model's side; the world has nothing to begin."""
        self.model_side.begin(context)

    async def open(self, context: StepContext) -> Transition:
        """Give the first observation; code writes it."""
        return opening(self.domain, context)

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        """Answer a call on its tool's side, after the argument gate."""
        refusal = gate(self.domain, call, self.feedback)
        if refusal is not None:
            return refusal
        world = self.domain.world
        if world is None or self.routes[call.name] == "llm":
            return await self.model_side.answer(call, context)
        transition = world.execute(context.state, call, self.feedback)
        return replace(transition, meta={**transition.meta, "route": "world"})


def choose_routes(domain: Domain, asked: Mapping[str, str]) -> dict[str, Side]:
    """Decide for every tool of a domain who plays it.

    Args:
        domain: The domain.
        asked: What was asked for, by tool.

    Returns:
        Tool name to side: what was asked for, else the world where it has the tool and the tool's declaration does not
        send it to a model.

    Raises:
        InputError: A route that cannot be taken.
    """
    code = {} if domain.world is None else domain.world.tools
    for name, side in asked.items():
        where = f"routes[{name!r}]"
        if name not in domain.specs:
            fix = f"The tools are: {', '.join(domain.specs)}."
            raise InputError(f"{domain.name} has no tool {name!r}", where=where, fix=fix)
        if side not in ("world", "llm"):
            raise InputError(f"the route is {side!r}", where=where, fix="Use world or llm.")
        if side == "world" and name not in code:
            raise InputError(f"{domain.name} has no code for {name!r}", where=where, fix="Route it to llm.")
        if side == "llm" and domain.specs[name].route == "world":
            fix = "Leave it to the world, or change x-simia.route of the tool."
            raise InputError(f"{name!r} is declared to be played by the world only", where=where, fix=fix)
    chosen: dict[str, Side] = {}
    for name, spec in domain.specs.items():
        side = asked.get(name, "llm" if name not in code or spec.route == "llm" else "world")
        chosen[name] = "world" if side == "world" else "llm"
    return chosen
