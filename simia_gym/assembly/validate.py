"""Refuses settings that have no effect, because their caller expects a model to take part."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from simia_gym.errors import InputError

if TYPE_CHECKING:
    from simia_gym.assembly.resources import Resources
    from simia_gym.assembly.settings import EnvConfig
    from simia_gym.domain.domain import Domain

_WANTED = {
    "simulator": "simulator='llm' or 'hybrid' (--simulator)",
    "escalation": "simulator='llm' or 'hybrid' (--simulator)",
    "user": "user='llm' (--user llm)",
    "judge": "judge='llm' (--judge llm)",
}
_WORLD = "simulator='world' or 'hybrid' (--simulator)"


def check_effects(
    config: EnvConfig,
    resources: Resources,
    domain: Domain,
    simulator: str,
    playing: Collection[str],
    strategy: str,
) -> None:
    """Refuse settings that have no effect in this environment.

    Args:
        config: The settings.
        resources: Addresses and clients of the models.
        domain: The domain.
        simulator: What answers tool calls.
        playing: The roles that a model plays.
        strategy: How a model answers tool calls.
    """
    if simulator == "hybrid" and resources.simulator is None:
        _check_hybrid(config, domain)
    if config.strategy != "auto" and "simulator" not in playing:
        what = f"strategy is for a model that answers tool calls, but the simulator is {simulator!r}"
        raise InputError(what, where="strategy", fix=f"Add {_WANTED['simulator']}.")
    if config.render != "code" and "simulator" not in playing:
        what = f"render is for a model that answers tool calls, but the simulator is {simulator!r}"
        raise InputError(what, where="render", fix=f"Add {_WANTED['simulator']}.")
    if config.render != "code" and (strategy == "reference" or not any(domain.renderers.values())):
        has = "keeps no state to render" if strategy == "reference" else "has no tool with a rendering rule"
        what = f"{'the strategy reference' if strategy == 'reference' else domain.name} {has}, so render has no effect"
        raise InputError(what, where="render", fix="Leave it out.")
    if config.shadowed and simulator == "world":
        what = "shadow compares a model's answers with the world's, but the simulator is the world itself"
        where = "shadow_faults" if config.shadow_faults else "shadow"
        raise InputError(what, where=where, fix=f"Add {_WANTED['simulator']}.")
    for given, where in ((config.roles, "roles"), (resources.base_urls, "base_urls"), (resources.clients, "clients")):
        for role in given:
            if role not in playing:
                what = f"no model plays the {role}" if role != "escalation" else "no model answers tool calls"
                raise InputError(what, where=f"{where}.{role}", fix=f"Add {_WANTED.get(role, _WORLD)}.")
    if playing or resources.simulator is not None:
        return
    for where, value in (("model", config.model), ("base_url", resources.base_url), ("client", resources.client)):
        if value is not None:
            other = "base_url (--base-url)" if where == "model" else "model (--model)"
            fix = (
                f"Add {other}, or say what the model plays: simulator='llm', user='llm' or judge='llm' (--simulator,"
                " --user, --judge). The policy's model is --policy-model."
            )
            raise InputError("nothing is played by a model", where=where, fix=fix)


def _check_hybrid(config: EnvConfig, domain: Domain) -> None:
    from simia_gym.domain.world import World
    from simia_gym.simulators.hybrid import choose_routes

    world = domain.world
    decides = world is not None and type(world).route is not World.route and not world.tools.keys() <= {*config.routes}
    if "llm" not in choose_routes(domain, config.routes).values() and not decides:
        free = [name for name, spec in domain.specs.items() if spec.route != "world"]
        fix = f"Route a tool to it, such as routes={{'{free[0]}': 'llm'}} (--route {free[0]}=llm). " if free else ""
        what = "this hybrid routes no tool to the model: the world answers every call"
        raise InputError(what, where="routes", fix=f"{fix}The tools are: {', '.join(free) or 'none'}.")
