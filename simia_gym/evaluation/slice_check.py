"""Checks in the world that the declaration of each tool suffices for a model to simulate it.

On the declared state slice the world must answer as on the whole state, and the rendering rule must give the world's
observation. Code that answers a read by the rule must not succeed where the world fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress

from simia_gym.common.formatting import shown
from simia_gym.common.json_encoding import encode
from simia_gym.domain.domain import Domain
from simia_gym.domain.tasks import gold_calls
from simia_gym.errors import Fault, InputError, PatchError
from simia_gym.simulators.rendered import rendered
from simia_gym.state import State
from simia_gym.types import Task, ToolCall, Transition
from simia_gym.views.render import render_arguments


def declaration_problems(domain: Domain) -> Iterator[tuple[str, str]]:
    """Find declarations that name a table or argument that does not exist; yields the tool's name and the problem."""
    for name, spec in domain.specs.items():
        arguments = spec.parameters.get("properties", {})
        for text in domain.slicers[name].problems(domain.tables, arguments):
            yield name, text
        for pattern in spec.writes:
            table = pattern.split("/")[0]
            if table not in ("*", *domain.tables) and not table.startswith("_"):
                yield name, f"its write set names the table {table!r}, which does not exist"
        for argument in dict.fromkeys(render_arguments(spec.render)):
            if argument not in arguments:
                yield name, f"its rendering rule names the argument {argument!r}, which the tool does not have"


def gold_problems(domain: Domain, tasks: Iterable[Task]) -> tuple[dict[str, str], Counter[str]]:
    """Check the gold calls of tasks in a domain with a world.

    Tasks that cannot run are skipped, because other checks report them.

    Returns:
        Each wrong tool's first problem; and per tool, how many of its calls are the same only up to its masks.
    """
    found: dict[str, str] = {}
    masked: Counter[str] = Counter()
    for task in tasks:
        with suppress(Fault, PatchError, KeyError, InputError):
            state = domain.begun(task)
            for call in gold_calls(task):
                whole, problems, up_to_masks = call_problems(domain, state, call)
                state = state if whole.state is None else whole.state
                masked[call.name] += up_to_masks
                if problems:
                    found.setdefault(call.name, problems[0])
    return found, +masked


def call_problems(domain: Domain, state: State, call: ToolCall) -> tuple[Transition, list[str], bool]:
    """Check a call in the domain's world, on the whole state and on the slice.

    Returns:
        The world's transition on the whole state; the problems of the tool's declaration; and whether the answer on the
        slice is the same only up to the tool's masks.

    Raises:
        Fault: The world failed on the whole state.
    """
    world = domain.world
    assert world is not None
    whole = world.call(state, call)
    if world.refuse(state, call) is not None:
        return whole, [], False
    problem, masked = _slice_problem(domain, state, call, whole)
    return whole, [*problem, *_render_problems(domain, state, call, whole)], masked


def _slice_problem(domain: Domain, state: State, call: ToolCall, whole: Transition) -> tuple[list[str], bool]:
    """The first difference of the answer on the slice, if any, and whether it is the same only up to masks."""
    assert domain.world is not None
    spec, masked = domain.specs[call.name], False
    if not spec.reads and spec.effect != "none":
        return [], False  # missing reads are reported as a note on the default
    try:
        seen = domain.slicers[call.name](state, call)
        part = domain.world.call(seen.state(), call)
    except Fault as fault:
        return [f"its reads are too small or too large, the world cannot run on the slice: {fault.message}"], False
    for op in whole.ops or ():
        if pointer := seen.cut_by(op):
            return [f"it writes {pointer}, of which its reads show only the beginning; cut it off later"], False
    for name in ("outcome", "error_code", "observation", "ops", "end"):
        before, after = getattr(whole, name), getattr(part, name)
        if encode(before) != encode(after):
            same = encode(spec.masked(before)) == encode(spec.masked(after))
            if not same:
                return [f"on the slice that its reads give, {name} is {shown(after)} and not {shown(before)}"], False
            masked = True
    return [], masked


def _render_problems(domain: Domain, state: State, call: ToolCall, whole: Transition) -> Iterator[str]:
    render = domain.renderers[call.name]
    if whole.outcome == "error" and (followed := rendered(domain, state, call)) and followed.outcome == "ok":
        what = f"its rendering rule shows {shown(followed.observation)} where the world answers {whole.error_code!r}"
        yield f"{what}; declare this error, with when if code can find it"
    if render is None or whole.outcome != "ok" or whole.state is None:
        return
    try:
        text = render(whole.state, call)
    except PatchError as error:
        yield f"its rendering rule fails: {error.message}"
        return
    if text != whole.observation:
        yield f"its rendering rule writes {shown(text)}, the world {shown(whole.observation)}"
