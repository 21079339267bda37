"""A reader that sees a simulator's prompt and none of the world's code finds in it all that a fixed gold call needs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import pytest

from simia_gym.common.event_loop import run_sync
from simia_gym.contracts import StepContext
from simia_gym.domain.domain import Domain
from simia_gym.domain.tasks import gold_calls
from simia_gym.errors import Fault
from simia_gym.llm.blocks import read_blocks
from simia_gym.llm.types import ChatRequest, Reply
from simia_gym.record.ledger import Ledger
from simia_gym.simulators.checked import CheckedSimulator
from simia_gym.types import Op, Task, ToolCall

from .table import World

COMPUTED = {"os"}
"""Domains whose calls write texts that only running them gives."""


class Watched(Fault):
    """The only fault that a reader expects."""


class Watching:
    """Keeps the messages that it is asked with, and answers nothing."""

    def __init__(self) -> None:
        self.asked: list[list[dict[str, str]]] = []

    async def complete(self, request: ChatRequest) -> Reply:
        self.asked.append(json.loads(request.prompt.messages_json()))
        raise Watched("watched", "nothing is answered", role="simulator")


def prompts(domain: Domain, task: Task) -> Iterator[tuple[ToolCall, list[dict[str, str]], Sequence[Op]]]:
    """The gold calls of a task that a model is asked about, with the messages, and what they change in the world."""
    assert domain.world is not None
    model, state = Watching(), domain.begun(task)
    simulator = CheckedSimulator(domain, model)
    for call in gold_calls(task):
        context = StepContext(domain.prepare(task), state, Ledger(), 0, 1)
        simulator.begin(context)
        model.asked.clear()
        with suppress(Watched):
            run_sync(simulator.call(call, context), inline=False)
        truth = domain.world.call(state, call)
        if model.asked:
            yield call, model.asked[0], truth.ops or ()
        state = truth.state or state


class Reader:
    """Reads one prompt.

    Args:
        messages: What the model is sent.
    """

    def __init__(self, messages: Sequence[Mapping[str, str]]) -> None:
        parts = [_read(message["content"]) for message in messages]  # all calls share the first message
        blocks = {kind: value for found, _ in parts for kind, value in found.items()}
        self.tools = {entry["function"]["name"]: entry for entry in blocks["tools"]}
        self.tables, self.call = blocks["state"]["tables"], blocks["call"]
        self.schema = blocks.get("schema", {"tables": {}})
        self.words = frozenset[str]().union(*(words for _, words in parts))

    def lacks(self, op: Op, *, values: bool) -> str:
        """What of an operation does not stand in the prompt; empty if all of it does."""
        table, key, *inner = [part.replace("~1", "/").replace("~0", "~") for part in op["path"].split("/")[1:]]
        if not self._may_write(table, key, inner):
            return f"no pattern of the tool's writes covers {op['path']}"
        row = self.tables.get(table, {}).get(key)
        if row is None and (inner or op["op"] == "remove"):
            return f"the row {key!r} of {table!r}"
        for part in inner:
            if isinstance(row, Mapping) and part in row:
                row = row[part]
            elif isinstance(row, list) and (part == "-" or part.isdigit()):
                row = row[int(part)] if part != "-" and int(part) < len(row) else None
            elif op["op"] != "add" or not (set(_words(part)) <= self.words or self._may_be_named(table, part)):
                return f"the column {part!r} of {op['path']}"
        unknown = set(_words(*_texts(op.get("value"), values=values))) - self.words
        return f"the words {sorted(unknown)} of {op['path']}" if unknown else ""

    def _may_be_named(self, table: str, name: str) -> bool:
        """Whether the schema of a table says that members have names of this form."""
        return any(re.search(pattern, name) for pattern in _patterns(self.schema["tables"].get(table)))

    def _may_write(self, table: str, key: str, inner: Sequence[str]) -> bool:
        path = "/".join([table, key, *inner])
        patterns = self.tools[self.call["name"]]["x-simia"]["writes"]
        forms = (re.escape(pattern.replace("~1", "/")).replace(r"\*", ".*") for pattern in patterns)
        return any(re.fullmatch(f"{form}(/.*)?", path) for form in forms)


@lru_cache(maxsize=64)
def _read(content: str) -> tuple[dict[str, Any], frozenset[str]]:
    """The blocks of a message, and all its words."""
    blocks = {item.kind: item.value for item in read_blocks(content)}
    return blocks, frozenset(_words(content, *_texts(list(blocks.values()), values=True)))


def _patterns(schema: Any) -> Iterator[str]:
    """The patterns of free names anywhere in a schema."""
    if isinstance(schema, Mapping):
        if "pattern" in schema.get("propertyNames", {}):
            yield schema["propertyNames"]["pattern"]
        schema = list(schema.values())
    for item in schema if isinstance(schema, list) else ():
        yield from _patterns(item)


def _words(*texts: str) -> Iterator[str]:
    for text in texts:
        yield from re.findall(r"[^\W_]+", text)


def _texts(value: Any, *, values: bool) -> Iterator[str]:
    """The names of a value's members, and its texts."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield name
            yield from _texts(item, values=values)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, values=values)
    elif isinstance(value, str) and values:
        yield value


@pytest.mark.slow
def test_all_that_a_gold_call_needs_stands_in_the_prompt(registered: World) -> None:
    domain, read = registered.domain, 0
    for task in registered.tasks():
        for call, messages, ops in prompts(domain, task):
            reader, spec = Reader(messages), domain.specs[call.name]
            assert reader.call == {"name": call.name, "arguments": json.loads(json.dumps(dict(call.arguments)))}
            entry = reader.tools[call.name]
            assert entry["function"]["description"] == spec.description
            told = {error["code"] for error in entry["x-simia"].get("errors", ())}
            assert told == {error.code for error in spec.errors if error.text is None or error.when is None}
            assert set(call.arguments) <= set(entry["function"]["parameters"]["properties"])
            for op in ops:
                assert not reader.lacks(op, values=domain.name not in COMPUTED), (task.id, call)
            reader.tables = {}
            assert all(reader.lacks(op, values=False) for op in ops if op["path"].count("/") > 2), (task.id, call)
            read += bool(ops)
    assert read >= len(registered.tasks()) // 4
