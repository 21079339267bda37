"""What a model may answer: every rule that code can check, before anything of the answer counts.

A model proposes, code disposes. The operations are applied to a copy, and an answer that breaks a rule is rejected as a
whole with the exact violations, so that the model can be told.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import orjson

from simia_gym.domain.tools import ToolSpec
from simia_gym.errors import Fault, PatchError
from simia_gym.state import State, identical, make_pointer, pointer_parts
from simia_gym.state.patch import ParsedOp, parse_op
from simia_gym.state.pointer import resolve
from simia_gym.state.schema import StateSchema, values_at
from simia_gym.state.state import Patching
from simia_gym.types import Op, Outcome

MAX_OBSERVATION = 40_000
"""Most characters of an observation that a model writes."""
MAX_OPS = 100
"""Most operations, and most reveals, of one answer."""
MAX_VALUE = 20_000
"""Most bytes of one operation's value."""
MAX_PATH = 1_000
"""Most characters of one operation's path."""

_MOST_TOLD = 12
_LONGEST_TOLD = 300
_CODE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_LONGEST_CODE = 60


class Rejected(Exception):
    """An answer that breaks rules.

    Args:
        violations: What is wrong with it, one sentence each; long ones are shortened and many are counted.
    """

    def __init__(self, violations: Sequence[str]) -> None:
        told = [text if len(text) <= _LONGEST_TOLD else f"{text[:_LONGEST_TOLD]}..." for text in violations]
        if len(told) > _MOST_TOLD:
            told = [*told[:_MOST_TOLD], f"and {len(told) - _MOST_TOLD} more"]
        self.violations = tuple(told)
        super().__init__(self.violations)


class Answer(NamedTuple):
    """An answer that keeps all rules.

    Attributes:
        outcome: ``ok`` or ``error``.
        error_code: The code of an error, else ``None``.
        observation: The model's text; of an error with ``Error:`` before it.
        reveals: Rows that count as initial from now on.
        ops: What changes; tests and operations without effect are left out.
        state: The state after both.
    """

    outcome: Outcome
    error_code: str | None
    observation: str
    reveals: tuple[Op, ...]
    ops: tuple[Op, ...]
    state: State

    def to_json(self) -> dict[str, Any]:
        """The answer as a model would have given it."""
        return {
            "outcome": self.outcome,
            "error_code": self.error_code,
            "reveals": list(self.reveals),
            "ops": list(self.ops),
            "observation": self.observation,
        }


def check_answer(
    data: Mapping[str, Any],
    spec: ToolSpec,
    state: State,
    schema: StateSchema | None,
    removed: Container[str] = (),
    shown: Mapping[str, Container[str]] | None = None,
) -> Answer:
    """Check an answer and work out the state that it leads to.

    Args:
        data: The decoded reply, which has the form of a transition.
        spec: The tool that was called.
        state: The state before.
        schema: The rules of the state, where the domain has some; without them no table is open.
        removed: Pointers of rows that were removed in this episode and cannot be revealed.
        shown: Keys of the rows that the model was shown, by table; ``None`` where it may change rows unseen.

    Returns:
        The answer.

    Raises:
        Rejected: With every rule that it breaks.
        Fault: A check of the domain trips over a state that the model had no part in.
    """
    wrong = words_wrong(data)
    places: list[_Place] = []
    ops: Sequence[Op] = data["ops"]
    reveals: Sequence[Op] = data["reveals"]
    if len(ops) > MAX_OPS or len(reveals) > MAX_OPS:
        raise Rejected([*wrong, f"there are {max(len(ops), len(reveals))} operations; {MAX_OPS} are the most"])
    if ops or reveals:
        places = [_place_wrong(op) for op in ops]
        wrong += _operations_wrong(data, spec, places)
        wrong.extend(_reveals_wrong(reveals, state, schema, removed))
        if shown is not None:
            wrong.extend(_unseen(ops, places, state, shown))
    if wrong:
        raise Rejected(wrong)
    before = _apply(state, reveals, "reveals") if reveals else state
    after, kept = _run(before, ops, places) if ops else (before, ())
    if schema is not None and (kept or reveals):
        broken = _rules_broken(schema, state, after, (*reveals, *kept))
        if broken:
            raise Rejected(broken)
    code, text = data["error_code"], data["observation"]
    if data["outcome"] == "ok":
        return Answer("ok", None, text, tuple([_plain(op) for op in reveals]), kept, after)
    return Answer("error", code, as_error(text), (), (), state)


def as_error(text: str) -> str:
    """The text with ``Error:`` before it, as every error begins."""
    return text if text.startswith("Error: ") else f"Error: {text}"


def words_wrong(data: Mapping[str, Any]) -> list[str]:
    """Say what is wrong with outcome, code and text of an answer, and whether all of it can be written down.

    Args:
        data: The decoded reply.

    Returns:
        The violations.
    """
    wrong: list[str] = []
    code, text = data["error_code"], data["observation"]
    if data["outcome"] == "ok":
        if code is not None:
            wrong.append(f"outcome is ok, so error_code must be null, not {code!r}")
    else:
        if not isinstance(code, str) or len(code) > _LONGEST_CODE or _CODE.fullmatch(code) is None:
            wrong.append(f"outcome is error, so error_code must be a short snake_case name, not {code!r}")
        if not text.removeprefix("Error:").strip():
            wrong.append("outcome is error, so observation must say what is wrong")
    if len(text) > MAX_OBSERVATION:
        wrong.append(f"observation has {len(text)} characters; {MAX_OBSERVATION} are the most")
    if code is None and text.isascii() and not data.get("ops") and not data.get("reveals"):
        return wrong  # nothing is in it that could not be written
    try:
        orjson.dumps(data)
    except TypeError as error:
        wrong.append(f"the answer cannot be written as JSON: {error}")
    return wrong


_Place: TypeAlias = tuple[str | None, tuple[str, ...]]
"""What is wrong with an operation's place and size, and the parts of its path."""


def _operations_wrong(data: Mapping[str, Any], spec: ToolSpec, places: Sequence[_Place]) -> list[str]:
    """What is wrong with the operations before anything is applied: who may change what."""
    ops, wrong = data["ops"], list[str]()
    writes = any([op["op"] != "test" for op in ops])  # noqa: C419 - a few operations, and a list is faster
    if data["outcome"] == "error":
        if writes:
            wrong.append("outcome is error, so ops must be empty: an error changes nothing")
        if data["reveals"]:
            wrong.append("outcome is error, so reveals must be empty")
    writer = spec.effect == "write"
    if writes and not writer:
        wrong.append(f"the effect of {spec.name} is {spec.effect!r}, so ops must be empty: it changes nothing")
    for number, op in enumerate(ops):
        problem, parts = places[number]
        if problem is not None:
            wrong.append(f"ops[{number}] {_shown(op['path'])}: {problem}")
        elif writer and op["op"] != "test" and not spec.may_write(parts):
            place = f"ops[{number}] {_shown(op['path'])}"
            wrong.append(f"{place}: outside what {spec.name} may write ({', '.join(spec.writes) or 'nothing'})")
    return wrong


def _unseen(
    ops: Sequence[Op], places: Sequence[_Place], state: State, shown: Mapping[str, Container[str]]
) -> Iterator[str]:
    """Which operations change rows that are there and were not shown: nobody could know what becomes of them."""
    for number, (op, (problem, parts)) in enumerate(zip(ops, places, strict=True)):
        if problem is not None or op["op"] == "test" or parts[1] in shown.get(parts[0], ()):
            continue
        if state.has(parts[0], parts[1]):
            what = "use another key" if op["op"] == "add" and len(parts) == 2 else "leave it as it is"
            yield f"ops[{number}] {_shown(op['path'])}: this row exists and was not shown to you; {what}"


def _place_wrong(op: Op) -> _Place:
    """What is wrong with an operation's place and size, and the parts of its path."""
    path: str = op["path"]
    if len(path) > MAX_PATH:
        return f"the path has {len(path)} characters; {MAX_PATH} are the most", ()
    try:
        parts = pointer_parts(path)
    except PatchError as error:
        return error.message, ()
    if parts and parts[0].startswith("_"):
        return f"the table {parts[0]!r} is private", parts
    if len(parts) < 2:
        return "the path must name a row ('/table/key') or a place inside one", parts
    value = op.get("value")
    if value is not None and (size := len(value) if type(value) is str else _size(value)) > MAX_VALUE:
        return f"the value has {size} bytes; {MAX_VALUE} are the most", parts
    return None, parts


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    try:
        return len(orjson.dumps(value)) if isinstance(value, dict | list) else 0
    except TypeError:
        return 0  # said already: it cannot be written at all


def _reveals_wrong(
    reveals: Sequence[Op], state: State, schema: StateSchema | None, removed: Container[str]
) -> Iterator[str]:
    """What is wrong with the reveals: they add whole rows that were missing, in open tables, and nothing else."""
    seen: set[tuple[str, ...]] = set()
    for number, op in enumerate(reveals):
        place = f"reveals[{number}] {_shown(op['path'])}"
        problem, parts = _place_wrong(op)
        if problem is not None:
            yield f"{place}: {problem}"
        elif op["op"] != "add" or len(parts) != 2:
            yield f"{place}: a reveal is an 'add' of a whole row ('/table/key')"
        elif schema is None or parts[0] not in schema.open_tables:
            yield f"{place}: the table {parts[0]!r} is not open; what it lacks does not exist"
        elif parts in seen or state.has(*parts):
            yield f"{place}: this row is there already"
        elif _was_there(state, parts, removed):
            yield f"{place}: this row was removed and cannot come back"
        seen.add(parts)


def _was_there(state: State, parts: tuple[str, ...], removed: Container[str]) -> bool:
    table = state.table(parts[0])
    return make_pointer(*parts) in removed or (table is not None and table.entry(parts[1]) is not None)


def _apply(state: State, ops: Sequence[Op], what: str) -> State:
    try:
        return state.apply(ops)
    except PatchError as error:
        raise Rejected([f"{what}[{error.op_index}] {_shown(error.path)}: {error.message}"]) from None


def _run(state: State, ops: Sequence[Op], places: Sequence[_Place]) -> tuple[State, tuple[Op, ...]]:
    """Apply operations one after another; give the state and those that changed something."""
    work, kept = Patching(state), list[Op]()
    for number, op in enumerate(ops):
        try:
            value = op.get("value")
            if type(value) is str and op["op"] in ("replace", "add"):  # nothing about it is left to check
                parsed = ParsedOp(op["op"], op["path"], places[number][1], value)
            else:
                parsed = parse_op(op)
            if parsed.name != "test":
                if _idle(work, parsed):
                    continue
                kept.append(_plain(op))
            work.run(parsed)
        except PatchError as error:
            raise Rejected([f"ops[{number}] {_shown(op['path'])}: {error.message}"]) from None
    return work.done(), tuple(kept)


def _idle(work: Patching, op: ParsedOp) -> bool:
    """Whether an operation puts the value that is there already."""
    if op.name == "remove":
        return False
    found: Any = work.get(op.parts[0], op.parts[1])
    if found is None:
        return False
    inner = op.parts[2:]
    try:
        if inner and op.name == "add":
            holder = resolve(found, inner[:-1])
            if not isinstance(holder, dict) or inner[-1] not in holder:
                return False  # it goes into a list, or is new
        return identical(resolve(found, inner), op.value)
    except PatchError:
        return False  # applying it will say what is wrong


def _plain(op: Op) -> Op:
    """The operation with the fields that it has by definition."""
    if op["op"] == "remove":
        return {"op": "remove", "path": op["path"]}
    return {"op": op["op"], "path": op["path"], "value": op["value"]}


def _rules_broken(schema: StateSchema, before: State, after: State, ops: Sequence[Op]) -> list[str]:
    """Which rules of the state the answer breaks; what was broken before is not its doing."""
    touched = sorted({(parts[0], parts[1]) for op in ops if (parts := pointer_parts(op["path"]))})
    broken, tripped = _problems(schema, after, touched)
    found: list[str] = []
    if broken or tripped:
        old, earlier = _problems(schema, before, touched)
        if earlier:
            raise Fault("bug", f"the rules of the state {earlier}", role="world")
        found += [text for text in broken if text not in old]
        if tripped and not broken:
            found.append(f"the rules of the state {tripped}")
    for table, key in touched:
        if not after.has(table, key) and before.has(table, key):
            found.extend(_dangling(schema, after, table, key))
    return found


def _problems(schema: StateSchema, state: State, rows: Sequence[tuple[str, str]]) -> tuple[list[str], str]:
    """What is wrong with rows; and how a domain's own check tripped over one that has not the form it expects."""
    found: list[str] = []
    try:
        found.extend(schema.problems(state, rows))
    except Exception as error:
        return found, f"raised {type(error).__name__}: {error}"
    return found, ""


def _dangling(schema: StateSchema, state: State, table: str, key: str) -> Iterator[str]:
    """Rows that still refer to one that was removed."""
    for name, rules in schema.tables.items():
        paths = [reference.path for reference in rules.references if reference.table == table]
        if paths:
            for other, row in state.rows(name):
                if any(key in values_at(row, path) for path in paths):
                    yield f"{make_pointer(table, key)}: cannot be removed, {make_pointer(name, other)} refers to it"
                    break


def _shown(path: str) -> str:
    return path if len(path) <= 120 else f"{path[:120]}..."
