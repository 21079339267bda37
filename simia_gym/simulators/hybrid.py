"""The hybrid simulator: code answers the tools that have code, a model the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Literal, Protocol, cast

from simia_gym.contracts import Simulator, StepContext
from simia_gym.domain.domain import Domain
from simia_gym.domain.world import World, own_code
from simia_gym.errors import Fault, InputError
from simia_gym.llm.types import ChatModel
from simia_gym.simulators.gate import gate
from simia_gym.state import State
from simia_gym.types import Feedback, ToolCall, Transition

Side = Literal["world", "llm"]


class ModelSide(Simulator, Protocol):
    """An LLM simulator, as `HybridSimulator` uses it."""

    async def answer(self, call: ToolCall, context: StepContext) -> Transition:
        """Answer a call that the argument gate has accepted."""
        ...


class HybridSimulator:
    """Routes each call to the domain's world or to a model; ``meta["route"]`` says which answered.

    Args:
        domain: The domain.
        model_side: The LLM simulator for the tools that are not routed to the world.
        routes: Tool name to ``world`` or ``llm``; see `choose_routes`. For other tools, `World.route` may decide.
        feedback: ``terse`` or ``explain`` errors of the world.
        models: The models that the world's tools may ask, by role.

    Raises:
        InputError: A route names a tool that does not exist or that does not support it.
    """

    name = "hybrid"
    io = True

    def __init__(
        self,
        domain: Domain,
        model_side: ModelSide,
        routes: Mapping[str, str] | None = None,
        feedback: Feedback = "terse",
        models: Mapping[str, ChatModel] = MappingProxyType({}),
    ) -> None:
        self.domain, self.model_side, self.feedback, self.models = domain, model_side, feedback, models
        self._world = domain.world
        self._asked = routes or {}
        self.routes = choose_routes(domain, self._asked)

    def begin(self, context: StepContext) -> None:
        """Prepare the LLM simulator, and hand the models to the world's tools."""
        self.model_side.begin(context)
        self._world = None if self.domain.world is None else self.domain.world.playing(self.models, context)

    async def open(self, context: StepContext) -> Transition:
        """Return the first observation; code writes it."""
        return await self.domain.opening(context.state, context.task, self._world)

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        """Answer a call by its tool's route, after the argument gate."""
        refusal = gate(self.domain, context.state, call, self.feedback)
        if refusal is not None:
            return refusal
        world = self._world
        if world is None or self._side(world, context.state, call) == "llm":
            return await self.model_side.answer(call, context)
        transition = await world.execute(context.state, call, self.feedback)
        return replace(transition, meta={**transition.meta, "route": "world"})

    def _side(self, world: World, state: State, call: ToolCall) -> Side:
        """Who answers a call: as the user of the environment set it, else as the world decides, else by the tool.

        Raises:
            Fault: The world's code raised an exception, or decided what is impossible.
        """
        if call.name in self._asked or call.name not in world.tools:
            return self.routes[call.name]
        side = own_code("route", world.route, state, call)
        if side not in (None, "world", "llm"):
            raise Fault("bug", f"route gave {side!r}, not 'world', 'llm' or None", role="world")
        return side or self.routes[call.name]


def choose_routes(domain: Domain, asked: Mapping[str, str]) -> dict[str, Side]:
    """Choose the route of every tool of a domain.

    A tool takes the requested route; by default the world, if it has the tool and the tool's declaration does not say
    ``llm``.

    Raises:
        InputError: A requested route is impossible.
    """
    code = {} if domain.world is None else domain.world.tools
    chosen: dict[str, Side] = {
        name: "llm" if name not in code or spec.route == "llm" else "world" for name, spec in domain.specs.items()
    }
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
        chosen[name] = cast("Side", side)
    return chosen
