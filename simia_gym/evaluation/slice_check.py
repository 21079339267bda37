"""Checks in the world that the declaration of each tool suffices for a model to simulate it.

On the declared state slice the world must answer as on the whole state, and the rendering rule must give the world's
observation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from simia_gym.common.formatting import shown
from simia_gym.common.json_encoding import encode
from simia_gym.domain.domain import Domain
from simia_gym.domain.tasks import gold_calls
from simia_gym.errors import Fault, InputError, PatchError
from simia_gym.state import State
from simia_gym.types import Task, ToolCall, Transition
from simia_gym.views.render import render_arguments


def declaration_problems(domain: Domain) -> Iterator[tuple[str, str]]:
    """Find declarations that name a table or argument that does not exist; yields the tool's name and the problem."""
    schema = domain.state_schema
    tables = {*domain.base.tables, *(schema.tables if schema is not None else ())}
    for name, spec in domain.specs.items():
        arguments = spec.parameters.get("properties", {})
        for text in domain.slicer(name).problems(tables, arguments):
            yield name, text
        for pattern in spec.writes:
            table = pattern.split("/")[0]
            if table not in ("*", *tables) and not table.startswith("_"):
                yield name, f"its write set names the table {table!r}, which does not exist"
        for argument in dict.fromkeys(render_arguments(spec.render)):
            if argument not in arguments:
                yield name, f"its rendering rule names the argument {argument!r}, which the tool does not have"


def gold_problems(domain: Domain, tasks: Iterable[Task]) -> dict[str, str]:
    """Check the gold calls of tasks in a domain with a world; gives each wrong tool's first problem.

    Tasks that cannot run are skipped, because other checks report them.
    """
    found: dict[str, str] = {}
    for task in tasks:
        with suppress(Fault, PatchError, KeyError, InputError):
            state = domain.begun(task)
            for call in gold_calls(task):
                transition, problems = call_problems(domain, state, call)
                state = state if transition.state is None else transition.state
                if problems:
                    found.setdefault(call.name, problems[0])
    return found


def call_problems(domain: Domain, state: State, call: ToolCall) -> tuple[Transition, list[str]]:
    """Check a call in the domain's world, on the whole state and on the slice.

    Returns:
        The world's transition on the whole state, and the problems of the tool's declaration.

    Raises:
        Fault: The world failed on the whole state.
    """
    world = domain.world
    assert world is not None
    whole = world.call(state, call)
    if world.refuse(state, call) is not None:
        return whole, []
    return whole, [*_slice_problems(domain, state, call, whole), *_render_problems(domain, call, whole)]


def _slice_problems(domain: Domain, state: State, call: ToolCall, whole: Transition) -> Iterator[str]:
    assert domain.world is not None
    if not domain.specs[call.name].reads and domain.specs[call.name].effect != "none":
        return  # missing reads are reported as a note on the default
    try:
        part = domain.world.call(domain.slicer(call.name)(state, call).state(), call)
    except Fault as fault:
        yield f"its reads are too small or too large, the world cannot run on the slice: {fault.message}"
        return
    for name in ("outcome", "error_code", "observation", "ops", "end"):
        before, after = getattr(whole, name), getattr(part, name)
        if encode(before) != encode(after):
            yield f"on the slice that its reads give, {name} is {shown(after)} and not {shown(before)}"
            return


def _render_problems(domain: Domain, call: ToolCall, whole: Transition) -> Iterator[str]:
    render = domain.renderer(call.name)
    if render is None or whole.outcome != "ok" or whole.state is None:
        return
    try:
        text = render(whole.state, call)
    except PatchError as error:
        yield f"its rendering rule fails: {error.message}"
        return
    if text != whole.observation:
        yield f"its rendering rule writes {shown(text)}, the world {shown(whole.observation)}"
