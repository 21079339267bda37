"""Plays the simulator, in both strategies, by running the domain's tools.

``ledger``: runs the tool on the state slice in the prompt. Rows that are not in the slice do not exist for the tool. If
the tool cannot run because it needs a row or field outside the slice, the domain declares the tool's reads wrongly, and
the request is refused with that reason. For a text that is cut off it tries another rest: if the answer then differs,
it says that it depends on what was cut off. ``reference``: executes all calls of the history from the task's initial
state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from simia_gym.common.json_encoding import encode
from simia_gym.domain.tools import ToolSpec
from simia_gym.domain.world import World, error_transition
from simia_gym.errors import Fault, InputError
from simia_gym.oracle.domains import Domains
from simia_gym.oracle.prefixes import Conversations
from simia_gym.oracle.reading import Message, ParsedRequest, Refused, blocks_of
from simia_gym.state import State, make_pointer
from simia_gym.types import Feedback, JsonObject, Op, ToolCall, Transition
from simia_gym.views.slices import CUT_OFF


class LedgerAnswer(NamedTuple):
    """The correct reply to one tool call, with the data needed to falsify it.

    These are the tool's specification, the state slice as tables of rows by key, whether the request asks to repair a
    rejected reply, and the call.
    """

    reply: JsonObject
    spec: ToolSpec | None
    tables: Mapping[str, Mapping[str, Any]]
    repair: bool
    call: ToolCall = ToolCall("", {})


def answer_ledger(request: ParsedRequest, domains: Domains) -> LedgerAnswer:
    """Answer the last call of a prompt of the ledger strategy.

    Raises:
        Refused: The prompt lacks a block that is needed, or the tool cannot run on the slice.
    """
    known = domains.named(request.static)
    world = known.world
    found, shown = request.last("call"), request.last("state")
    if found is None or shown is None:
        raise Refused("the prompt has no call with its state")
    index, value = found
    call = read_call(value)
    tables = shown[1].get("tables") if isinstance(shown[1], Mapping) else None
    try:
        state = State.from_tables(tables or {})
    except (InputError, AttributeError) as error:
        raise Refused(f"the block 'state' holds no tables of rows: {error}") from error
    feedback, cut = known.feedback(request.static), shown[1].get("cut")
    transition = run(world, state, call, feedback)
    if cut and _answer(run(world, _other_rest(state, cut), call, feedback)) != _answer(transition):
        transition = error_transition("Error: the answer depends on what was cut off", CUT_OFF)
    spec, ops = world.tools.get(call.name), list(transition.ops or ())
    if spec is not None and spec.always_changes and transition.outcome == "ok" and not ops:
        ops = list(islice(_idle(spec, tables or {}), 1))
    repair = any(item.kind == "violations" for i in range(index, len(request.turns)) for item in request.blocks(i))
    reply: JsonObject = {
        "outcome": transition.outcome,
        "error_code": transition.error_code,
        "reveals": [],
        "ops": ops,
        "observation": transition.observation,
    }
    if transition.outcome == "ok" and _written_by_code(request, call.name):
        del reply["observation"]
    return LedgerAnswer(reply, spec, tables or {}, repair, call)


def _written_by_code(request: ParsedRequest, tool: str) -> bool:
    """Whether the prompt says that code writes what the tool returns."""
    entries = request.static.blocks.get("tools") or ()
    marks = next((each.get("x-simia") for each in entries if each["function"]["name"] == tool), None)
    return marks is not None and marks.get("render") is True


def _idle(spec: ToolSpec, tables: Mapping[str, Mapping[str, Any]]) -> Iterator[Op]:
    """The operations by which a tool may write a value that is there already."""
    for table, rows in tables.items():
        for key, row in rows.items():
            for path, value in (((), row), *(((name,), inner) for name, inner in row.items())):
                if spec.may_write((table, key, *path)):
                    yield {"op": "replace", "path": make_pointer(table, key, *path), "value": value}


def _other_rest(state: State, cut: Mapping[str, int]) -> State:
    """The state with cut texts continued to their whole length, by something else than what was cut off."""
    texts = {pointer: (str(state.at(pointer)) + "?\n" * size)[:size] for pointer, size in cut.items()}
    return state.apply({"op": "replace", "path": pointer, "value": text} for pointer, text in texts.items())


def _answer(transition: Transition) -> bytes:
    return encode([transition.outcome, transition.error_code, transition.observation, transition.ops])


def read_call(value: Any) -> ToolCall:
    """Read the value of a block ``call``.

    Raises:
        Refused: The value is not a tool call.
    """
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        raise Refused("the block 'call' holds no call")
    arguments = value.get("arguments")
    return ToolCall(value["name"], dict(arguments) if isinstance(arguments, Mapping) else {})


def run(world: World, state: State, call: ToolCall, feedback: Feedback = "terse") -> Transition:
    """Run a tool call.

    Raises:
        Refused: The tool failed; on a slice, the usual cause is a row or field that the slice lacks.
    """
    try:
        return world.call(state, call, feedback)
    except Fault as fault:
        raise Refused(f"the prompt does not suffice for this call: {fault.message}") from fault


class Moment(NamedTuple):
    """The state after some calls, and the last call's transition."""

    state: State
    last: Transition | None


class Reference:
    """Plays the reference strategy: answers the last tool call of a growing history."""

    def __init__(self, domains: Domains) -> None:
        self._domains = domains
        self._conversations: Conversations[Moment] = Conversations()

    def answer(self, request: ParsedRequest) -> JsonObject:
        """Answer the last call of the prompt.

        Raises:
            Refused: The oracle does not know the domain, its world or the task, or the prompt has no call.
        """
        known = self._domains.named(request.static)
        domain, world = known.domain, known.world
        task = known.task(request.static.need("task"))
        feedback = known.feedback(request.static)

        def step(moment: Moment, said: Message) -> Moment:
            for item in blocks_of(said):
                if item.kind == "call":
                    transition = run(world, moment.state, read_call(item.value), feedback)
                    state = moment.state if transition.state is None else transition.state
                    moment = Moment(state, transition)
            return moment

        root = (id(domain), id(task), feedback)
        state, last = self._conversations.fold(root, lambda: Moment(domain.begun(task), None), request.turns, step)
        if last is None:
            raise Refused("the prompt has no call")
        done = last.end is not None or (bool(last.ops) and domain.end_of(state) is not None)
        return {
            "outcome": last.outcome,
            "error_code": last.error_code,
            "observation": last.observation,
            "done": done,
        }
