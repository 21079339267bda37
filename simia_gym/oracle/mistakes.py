"""Injects mistakes into correct replies: wrong values, missed and spurious writes, errors with effects, observations.

Each kind of mistake has its own rate and is injected only into replies that admit it. All but the last leave the
observation correct, as from a model that describes the right change but writes a different one; the last leaves the
changes correct and says one wrong value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from simia_gym.common.json_encoding import decode, encode
from simia_gym.oracle.options import OracleOptions
from simia_gym.oracle.simulator import LedgerAnswer
from simia_gym.state import make_pointer, pointer_parts, thaw
from simia_gym.types import JsonObject, Op

KINDS = ("wrong_value", "missed_write", "spurious_write", "error_with_effects", "wrong_observation")


def make_mistakes(answer: LedgerAnswer, options: OracleOptions, chance: Random) -> tuple[JsonObject, list[str]]:
    """Inject mistakes into a reply at the rates that the options set; return the reply and the kinds of mistakes."""
    reply = answer.reply
    drawn = {kind: chance.random() < getattr(options, f"{kind}_rate") for kind in KINDS}
    if answer.spec is None or not any(drawn.values()) or (answer.repair and not options.stubborn):
        return reply, []
    ops: list[Op] = [thaw(op) for op in reply["ops"]]
    made: list[str] = []
    error = reply["outcome"] == "error"
    if drawn["missed_write"] and ops:
        ops.pop(chance.randrange(len(ops)))
        made.append("missed_write")
    if drawn["wrong_value"] and _alter_one(ops, chance):
        made.append("wrong_value")
    outcome, code = reply["outcome"], reply["error_code"]
    if drawn["error_with_effects"] and (error or ops):
        if error:
            ops.append(_some_op(answer, chance, allowed=True))
        else:
            outcome, code = "error", "tool_error"
        made.append("error_with_effects")
    if drawn["spurious_write"]:
        ops.append(_some_op(answer, chance, allowed=False))
        made.append("spurious_write")
    changed = {**reply, "outcome": outcome, "error_code": code, "ops": ops}
    said = _misquoted(reply.get("observation", ""), chance) if drawn["wrong_observation"] and not error else None
    if said is not None:  # where code renders the observation, a reply has none
        changed["observation"] = said
        made.append("wrong_observation")
    return changed, made


def _misquoted(observation: str, chance: Random) -> str | None:
    """The observation with one value of its JSON altered, or its last word; ``None`` if there is nothing to alter."""
    try:
        value: Any = decode(observation)
    except ValueError:
        return _other(observation) if observation else None
    places = [*_leaves([value])]
    if not places:
        return None
    path, leaf = places[chance.randrange(len(places))]
    whole: Any = [value]
    part = whole
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = _other(leaf)
    return encode(whole[0]).decode()


def _alter_one(ops: list[Op], chance: Random) -> bool:
    """Replace one value in one operation by another value of the same type; return whether there was one."""
    places = [(op, path, value) for op in ops if "value" in op for path, value in _leaves(op["value"], ("value",))]
    if not places:
        return False
    part: Any
    part, path, value = places[chance.randrange(len(places))]
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = _other(value)
    return True


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, index))
    elif value is not None:
        yield path, value


def _other(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return round(value + 1.25, 2)
    text = str(value)
    return text[:-1] + ("1" if text.endswith("0") else "0") if text[-1:].isdigit() else f"{text} too"


def _some_op(answer: LedgerAnswer, chance: Random, *, allowed: bool) -> Op:
    """A random operation on the slice: inside the tool's write set if ``allowed``, otherwise outside it.

    If the slice has no such place, the operation adds a row to a table that the tool may not write.
    """
    spec = answer.spec
    assert spec is not None
    found: list[Op] = []
    for table, rows in answer.tables.items():
        for key, row in rows.items():
            for path, value in _leaves(row):
                pointer = make_pointer(table, key, *(str(part) for part in path))
                if spec.may_write(pointer_parts(pointer)) is allowed:
                    found.append({"op": "replace", "path": pointer, "value": _other(value)})
    if found:
        return found[chance.randrange(len(found))]
    # No tool may write a table whose name begins with an underscore.
    table = "_oracle" if spec.may_write(("spurious", "row")) else "spurious"
    return {"op": "add", "path": f"/{table}/row", "value": {"id": "row"}}
