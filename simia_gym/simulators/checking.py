"""Checks a model's answer to a tool call, before any part of it takes effect.

The operations are applied to a copy of the state. An answer that breaks a rule is rejected as a whole, with a list of
its violations, which is sent back to the model for a repair.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any

import orjson

from simia_gym.actions.strict_json import JsonProblem, decode_all
from simia_gym.common.schema_errors import most_relevant_problem
from simia_gym.domain.limits import Limits
from simia_gym.domain.tools import ToolSpec
from simia_gym.errors import Fault, PatchError
from simia_gym.llm.types import ANY_VALUE, Habits, ReplySchema
from simia_gym.state import State, identical, make_pointer, pointer_parts
from simia_gym.state.frozen import thaw
from simia_gym.state.patch import ParsedOp, parse_op
from simia_gym.state.pointer import resolve
from simia_gym.state.schema import StateSchema, values_at
from simia_gym.state.state import Patching
from simia_gym.types import JsonObject, Op, Transition
from simia_gym.views.slices import CUT_OFF

MAX_PATH = 1_000
"""Maximum length of an operation's path, in characters."""
DEFAULT_LIMITS = Limits()

_MAX_LISTED = 12
_MAX_LISTED_LENGTH = 300
_CODE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
MAX_CODE = 60
"""Maximum length of an error code, in characters."""

_OUTCOME: JsonObject = {
    "outcome": {"type": "string", "enum": ["ok", "error"]},
    "error_code": {"type": ["string", "null"]},
}
_OPS: JsonObject = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "op": {"type": "string", "enum": ["add", "replace", "remove", "test"]},
            "path": {"type": "string"},
            "value": ANY_VALUE,
        },
        "required": ["op", "path"],
        "additionalProperties": False,
    },
}


def _form(properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_WORDS = {
    "outcome": {
        **dict.fromkeys(("success", "succeeded", "successful", "okay", "done", "completed"), "ok"),
        **dict.fromkeys(("failure", "failed", "fail"), "error"),
    },
    "op": {"update": "replace", "delete": "remove"},
}
_NAMES = {
    "status": "outcome",
    **dict.fromkeys(("operations", "patch", "json_patch", "changes"), "ops"),
    **dict.fromkeys(("output", "result", "response"), "observation"),
}
_HABITS = Habits(_NAMES, _WORDS, json_texts=frozenset({"observation"}), loose=frozenset({"observation"}))

_LEDGER = _form({**_OUTCOME, "reveals": _OPS, "ops": _OPS, "observation": {"type": "string"}})
LEDGER_REPLY = ReplySchema("transition", _LEDGER, _HABITS)
"""The answer of the ledger strategy: operations on the state, and the observation."""

RULED_REPLY = ReplySchema(
    "transition", {**_LEDGER, "required": [name for name in _LEDGER["required"] if name != "observation"]}, _HABITS
)
"""The same for a tool with a rendering rule: a success needs no observation."""

REFERENCE_REPLY = ReplySchema(
    "answer", _form({**_OUTCOME, "observation": {"type": "string"}, "done": {"type": "boolean"}}), _HABITS
)
"""The answer of the reference strategy, which keeps no state."""


class Rejected(Exception):
    """An answer that breaks rules: one sentence per violation, of limited length and number."""

    def __init__(self, violations: Sequence[str]) -> None:
        listed = [text if len(text) <= _MAX_LISTED_LENGTH else f"{text[:_MAX_LISTED_LENGTH]}..." for text in violations]
        if len(listed) > _MAX_LISTED:
            listed = [*listed[:_MAX_LISTED], f"and {len(listed) - _MAX_LISTED} more"]
        self.violations = tuple(listed)
        super().__init__(self.violations)


def check_answer(
    data: Mapping[str, Any],
    spec: ToolSpec,
    state: State,
    schema: StateSchema | None,
    removed: Container[str] = (),
    shown: Mapping[str, Container[str]] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    cut_by: Callable[[Op], str | None] | None = None,
) -> Transition:
    """Check an answer to a call of a tool and compute the state after it.

    Args:
        data: The decoded reply, which matches `LEDGER_REPLY`; where code writes the observation, it may be empty.
        spec: The tool that was called.
        state: The state before the call.
        schema: The schema of the state; without one, no rows can be revealed.
        removed: Pointers of the rows that were removed in this episode; they cannot be revealed.
        shown: Keys of the rows in the model's prompt, by table; ``None`` if the model may change any row.
        limits: The greatest sizes.
        cut_by: Finds the text that an operation writes and of which the model has seen only the beginning.

    Returns:
        The answer with the state after it. The observation of an error begins with ``Error:``; tests and operations
        without effect are not in ``ops``.

    Raises:
        Rejected: The answer breaks rules; it has all violations.
        Fault: A check of the domain raised an exception on the state before the call.
    """
    wrong = words_wrong(data, spec, limits, written=spec.render is None)
    ops: Sequence[Op] = data["ops"]
    reveals: Sequence[Op] = data["reveals"]
    if many := limits.too_many(max(len(ops), len(reveals))):
        raise Rejected([*wrong, many])
    if ops or reveals or spec.always_changes:
        wrong += _operations_wrong(data, spec, state, shown, limits)
        for number, op in enumerate(ops):
            if cut_by is not None and (pointer := cut_by(op)):
                what = f"only the beginning of {_shown(pointer)} was shown to you; leave it, or answer {CUT_OFF!r}"
                wrong.append(f"ops[{number}] {_shown(op['path'])}: {what}")
        wrong.extend(_reveals_wrong(reveals, state, schema, removed, limits))
    if wrong:
        raise Rejected(wrong)
    try:
        before = state.apply(reveals) if reveals else state
    except PatchError as error:
        raise Rejected([f"reveals[{error.op_index}] {_shown(error.path)}: {error.message}"]) from None
    after, kept = _run(before, ops) if ops else (before, ())
    if schema is not None and (kept or reveals):
        broken = _rules_broken(schema, state, after, (*reveals, *kept))
        if broken:
            raise Rejected(broken)
    code, text = data["error_code"], data["observation"]
    if data["outcome"] == "ok":
        return Transition(text, kept, reveals=tuple([_plain(op) for op in reveals]), state=after)
    return Transition(as_error(text), (), "error", code, state=state)


def as_error(text: str) -> str:
    """The text, with ``Error:`` before it if it does not begin so."""
    return text if text.startswith("Error: ") else f"Error: {text}"


def words_wrong(
    data: Mapping[str, Any], spec: ToolSpec, limits: Limits, *, asked: bool = True, written: bool = True
) -> list[str]:
    """The violations in outcome, error code and text of a reply, and whether all of it can be encoded as JSON.

    Args:
        data: The decoded reply.
        spec: The tool that was called.
        limits: The greatest sizes.
        asked: Whether code has asked the conditions of the tool's errors.
        written: Whether the policy reads the observation of a success as the model wrote it.
    """
    wrong: list[str] = []
    code, text = data["error_code"], data["observation"]
    if data["outcome"] == "ok":
        if code is not None:
            wrong.append(f"outcome is ok, so error_code must be null, not {code!r}")
        if written and spec.answers != "text" and (problem := _misshapen(text, spec)):
            wrong.append(f"what {spec.name} returns is JSON, but observation {problem}")
    else:
        if not isinstance(code, str) or len(code) > MAX_CODE or _CODE.fullmatch(code) is None:
            wrong.append(f"outcome is error, so error_code must be a short snake_case name, not {code!r}")
        elif problem := spec.wrong_error(code, asked=asked):
            wrong.append(problem)
        if not text.removeprefix("Error:").strip():
            wrong.append("outcome is error, so observation must say what is wrong")
    if (written or data["outcome"] == "error") and (long := limits.too_long(text)):
        wrong.append(long)
    try:
        orjson.dumps(data)
    except TypeError as error:
        wrong.append(f"the answer cannot be written as JSON: {error}")
    return wrong


def _misshapen(text: str, spec: ToolSpec) -> str:
    """Why an observation is not the JSON that a tool returns; empty if it is."""
    try:
        value = decode_all(text)
    except JsonProblem as error:
        return f"is not: {error.message}"
    if isinstance(spec.answers, str) or spec.answer_validator is None or spec.answer_validator.is_valid(value):
        return ""
    return f"is not of its form: {most_relevant_problem(thaw(spec.answers), value)}"


def _operations_wrong(
    data: Mapping[str, Any],
    spec: ToolSpec,
    state: State,
    shown: Mapping[str, Container[str]] | None,
    limits: Limits,
) -> list[str]:
    """The violations of the operations that can be found before they are applied.

    Besides the write set, these are existing rows that the model has not seen and whose values it cannot know.
    """
    ops, wrong = data["ops"], list[str]()
    writes = any(op["op"] != "test" for op in ops)
    if data["outcome"] == "error":
        if writes:
            wrong.append("outcome is error, so ops must be empty: an error changes nothing")
        if data["reveals"]:
            wrong.append("outcome is error, so reveals must be empty")
    elif spec.always_changes and not writes:
        what = "outcome is ok, so ops must hold what it writes, even a value that is there already"
        wrong.append(f"{spec.name} always changes something when it succeeds; {what}")
    writer = spec.effect == "write"
    if writes and not writer:
        wrong.append(f"the effect of {spec.name} is {spec.effect!r}, so ops must be empty: it changes nothing")
    for number, op in enumerate(ops):
        problem, parts = _place_wrong(op, limits)
        place = f"ops[{number}] {_shown(op['path'])}"
        if problem is not None:
            wrong.append(f"{place}: {problem}")
        elif op["op"] != "test":
            if writer and not spec.may_write(parts):
                wrong.append(f"{place}: outside what {spec.name} may write ({', '.join(spec.writes) or 'nothing'})")
            if shown is not None and parts[1] not in shown.get(parts[0], ()) and state.has(parts[0], parts[1]):
                what = "use another key" if op["op"] == "add" and len(parts) == 2 else "leave it as it is"
                wrong.append(f"{place}: this row exists and was not shown to you; {what}")
    return wrong


def _place_wrong(op: Op, limits: Limits) -> tuple[str | None, tuple[str, ...]]:
    """The violation of an operation's path or size, if any, and the parts of its path."""
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
    return limits.too_big(op.get("value")) or None, parts


def _reveals_wrong(
    reveals: Sequence[Op], state: State, schema: StateSchema | None, removed: Container[str], limits: Limits
) -> Iterator[str]:
    """Violations of the reveals, which may only add whole missing rows in open tables."""
    seen: set[tuple[str, ...]] = set()
    for number, op in enumerate(reveals):
        place = f"reveals[{number}] {_shown(op['path'])}"
        problem, parts = _place_wrong(op, limits)
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


def _run(state: State, ops: Sequence[Op]) -> tuple[State, tuple[Op, ...]]:
    """Apply operations in order; return the state and the operations that changed it."""
    work, kept = Patching(state), list[Op]()
    for number, op in enumerate(ops):
        try:
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
    """Whether an operation writes the value that is already there."""
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
                return False  # it inserts into a list or adds a new member
        return identical(resolve(found, inner), op.value)
    except PatchError:
        return False  # applying it reports the mistake


def _plain(op: Op) -> Op:
    """The operation with only its standard fields."""
    if op["op"] == "remove":
        return {"op": "remove", "path": op["path"]}
    return {"op": op["op"], "path": op["path"], "value": op["value"]}


def _rules_broken(schema: StateSchema, before: State, after: State, ops: Sequence[Op]) -> list[str]:
    """The rules of the state schema that the answer breaks and that held before."""
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
    """The mistakes in rows, and the exception of a domain's own check on a malformed row, if it raised one."""
    found: list[str] = []
    try:
        found.extend(schema.problems(state, rows))
    except Exception as error:
        return found, f"raised {type(error).__name__}: {error}"
    return found, ""


def _dangling(schema: StateSchema, state: State, table: str, key: str) -> Iterator[str]:
    """Violations by rows that still refer to a removed row."""
    for name, rules in schema.tables.items():
        paths = [path for path, target in rules.foreign_keys.items() if target == table]
        if paths:
            for other, row in state.rows(name):
                if any(key in values_at(row, path) for path in paths):
                    yield f"{make_pointer(table, key)}: cannot be removed, {make_pointer(name, other)} refers to it"
                    break


def _shown(path: str) -> str:
    return path if len(path) <= 120 else f"{path[:120]}..."
