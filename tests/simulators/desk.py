"""A lending desk as a domain, a model with scripted answers, and the step contexts that simulators are called in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from simia_gym.contracts import StepContext
from simia_gym.domain.domain import Domain
from simia_gym.llm.blocks import Block, read_blocks
from simia_gym.llm.types import ChatRequest, Reply
from simia_gym.record.ledger import Ledger
from simia_gym.state import State
from simia_gym.types import JsonObject, ToolCall, Transition

CONFIG = """\
name: desk
grammar: tools
max_turns: 6
world: {world}
user: null
reward: simia_gym.rewards.rubric:RubricReward
rubric: rubric.yaml
tasks:
  train: train.jsonl
ends:
  - path: /desk/main/closed
    value: true
    reason: closed
"""
RUBRIC = """\
- id: renamed
  kind: goal
  weight: 1
  required: true
  check: {program: goal_state}
"""
STATE = {
    "books": {
        "b1": {"id": "b1", "title": "Sea", "copies": 2, "available": 2, "tags": ["old"]},
        "b2": {"id": "b2", "title": "Hill", "copies": 1, "available": 0, "tags": []},
    },
    "loans": {"l1": {"id": "l1", "book_id": "b2", "member": "m1"}},
    "members": {"m1": {"id": "m1", "name": "Ada"}},
    "desk": {"main": {"closed": False}},
    "_clock": {"now": {"day": 3}},
}
SCHEMA = {
    "tables": {
        "books": {
            "key": "id",
            "row": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "title": {"type": "string", "minLength": 1},
                    "copies": {"type": "integer"},
                    "available": {"type": "integer", "minimum": 0},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["id", "title", "copies", "available", "tags"],
                "additionalProperties": False,
            },
        },
        "loans": {
            "key": "id",
            "row": {"type": "object", "required": ["id", "book_id"]},
            "foreign_keys": {"/book_id": "books", "/member": "members"},
        },
        "members": {"open": True, "key": "id", "row": {"type": "object", "required": ["id", "name"]}},
        "desk": {"row": {"type": "object", "properties": {"closed": {"type": "boolean"}}}},
    },
    "invariants": [{"id": "shelf", "table": "books", "left": "/available", "op": "<=", "right": "/copies"}],
}
TASK = {
    "id": "tidy",
    "split": "train",
    "kind": "desk",
    "instruction": "Tidy the desk.",
    "gold": [{"name": "get_book", "arguments": {"book_id": "b1"}}],
    "goal": [{"op": "test", "path": "/books/b1/title", "value": "Lake"}],
}
WORLD = '''\
import json

from simia_gym.errors import ToolError
from simia_gym.state import Draft
from simia_gym.domain.tools import tool
from simia_gym.domain.world import World


class Desk(World):
    def opening(self, db: Draft, task: object) -> str:
        """Stamp the clock."""
        db.edit("_clock", "now")["day"] = 4
        return "The desk is open."

    @tool(effect="read", reads=("books/{book_id}",))
    def get_book(self, db: Draft, book_id: str) -> str:
        """Get a book.

        Args:
            book_id: Its id.
        """
        row = db.get("books", book_id)
        if row is None:
            raise ToolError(f"Book {book_id} not found", "not_found", "The shelf has only listed books.")
        return json.dumps(row)

    @tool(effect="write", reads=("books/{book_id}",), writes=("books/*/title",))
    def rename(self, db: Draft, book_id: str, title: str) -> str:
        """Rename a book.

        Args:
            book_id: Its id.
            title: The new title.
        """
        db.edit("books", book_id)["title"] = title
        return "renamed"
'''


def _tool(name: str, marks: dict[str, Any], *arguments: str) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {argument: {"type": "string"} for argument in arguments},
        "required": list(arguments),
        "additionalProperties": False,
    }
    function = {"name": name, "description": f"Tool {name}.", "parameters": parameters}
    return {"type": "function", "function": function, "x-simia": marks}


_BOOK = ["books/{book_id}"]
_LENDING = ["loans/*", "books/*/available", "books/*/tags"]
TOOLS = [
    _tool("get_book", {"effect": "read", "reads": _BOOK}, "book_id"),
    _tool("show_book", {"effect": "read", "reads": _BOOK, "render": {"row": "/books/{book_id}"}}, "book_id"),
    _tool("find_member", {"effect": "read", "reads": ["members/{member_id}"]}, "member_id"),
    _tool("rename", {"effect": "write", "reads": _BOOK, "writes": ["books/*/title"]}, "book_id", "title"),
    _tool("lend", {"effect": "write", "reads": _BOOK, "writes": _LENDING}, "book_id", "member_id"),
    _tool("discard", {"effect": "write", "reads": _BOOK, "writes": ["books", "loans/*"]}, "book_id"),
    _tool("poke", {"effect": "write", "reads": [], "writes": []}),
    _tool("wipe", {"effect": "write", "reads": ["members"], "writes": ["*"]}),
    _tool("think", {"effect": "none"}, "thought"),
    _tool("close", {"effect": "write", "reads": ["desk"], "writes": ["desk/main/closed"], "terminal": True}),
    _tool("find_title", {"effect": "read", "reads": ["books"]}, "title"),
    _tool("find_loan", {"effect": "read", "reads": ["loans?book_id={book_id}"]}, "book_id", "member"),
]


def write_domain(folder: Path, *, world: bool = False) -> Path:
    """Write the domain; with a world, the tools that it lacks are declared to be played by a model."""
    folder.mkdir()
    (folder / "domain.yaml").write_text(CONFIG.format(world="world.py:Desk" if world else "null"))
    entries = TOOLS
    if world:
        (folder / "world.py").write_text(WORLD)
        entries = [{**entry, "x-simia": {**entry["x-simia"], "route": "llm"}} for entry in TOOLS]
        entries = [entry for entry in entries if entry["function"]["name"] not in ("get_book", "rename")]
    (folder / "rubric.yaml").write_text(RUBRIC)
    (folder / "tools.json").write_text(json.dumps(entries))
    (folder / "policy.md").write_text("Lend books with care. <<data:call 000000000000>> is no block.\n")
    (folder / "state.json").write_text(json.dumps(STATE))
    (folder / "state.schema.json").write_text(json.dumps(SCHEMA))
    (folder / "train.jsonl").write_text(json.dumps(TASK) + "\n")
    return folder


def tool_call(name: str, /, **arguments: Any) -> str:
    """A policy's action."""
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def context_of(
    domain: Domain, *, state: State | None = None, seed: int = 1, group: str = "", turn: int = 1
) -> StepContext:
    """An episode's present, with a record of its own."""
    prepared = domain.prepare(domain.tasks["train"][0])
    return StepContext(prepared, prepared.initial if state is None else state, Ledger(), seed, turn, group)


def write_transition(
    ledger: Ledger, turn: int, transition: Transition, call: JsonObject | None = None, say: str | None = None
) -> None:
    """Write into a record what answered a call or a message, as an episode does it."""
    ledger.append(
        "transition",
        turn=turn,
        speaker=transition.speaker,
        call=call,
        say=say,
        observation=transition.observation,
        outcome=transition.outcome,
        error_code=transition.error_code,
        ops=transition.ops,
        end=transition.end,
        meta=transition.meta,
    )


def after(
    context: StepContext, transition: Transition, call: ToolCall | None = None, *, say: str | None = None
) -> StepContext:
    """The present after a transition, taken over and recorded as an episode does it."""
    state = transition.state
    if state is None:
        state = context.state.apply(transition.reveals).apply(transition.ops or ())
    shown = None if call is None else {"name": call.name, "arguments": call.arguments, "id": call.id}
    write_transition(context.ledger, context.turn, transition, shown, say)
    return replace(context, state=state, turn=context.turn + 1)


def ok(observation: str = "done", *ops: dict[str, Any], reveals: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """A ledger reply of success."""
    words = {"outcome": "ok", "error_code": None, "observation": observation}
    return {**words, "reveals": list(reveals), "ops": list(ops)}


def failed(observation: str = "Error: no", code: Any = "not_allowed", *ops: dict[str, Any]) -> dict[str, Any]:
    """A ledger reply of failure."""
    return {"outcome": "error", "error_code": code, "reveals": [], "ops": list(ops), "observation": observation}


def said(observation: str = "done", *, done: bool = False, code: str | None = None) -> dict[str, Any]:
    """A reference reply."""
    outcome = "ok" if code is None else "error"
    return {"outcome": outcome, "error_code": code, "observation": observation, "done": done}


def put(path: str, value: Any, op: str = "replace") -> dict[str, Any]:
    """One operation."""
    return {"op": op, "path": path, "value": value}


GET = ToolCall("get_book", {"book_id": "b1"})
RENAME = ToolCall("rename", {"book_id": "b1", "title": "Lake"})
LAKE = put("/books/b1/title", "Lake")
MEMBER = put("/members/m9", {"id": "m9", "name": "Bo"}, "add")


class Double:
    """A scripted `ChatModel` that keeps what it was asked.

    Args:
        answers: What it says, in order; a function gets the request, and an exception is raised. The last one is
            repeated.
    """

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[ChatRequest] = []
        self._last: Any = None

    def say(self, *answers: Any) -> Double:
        """Queue answers."""
        self.answers.extend(answers)
        return self

    @property
    def asked(self) -> list[list[dict[str, Any]]]:
        """The messages of each request."""
        return [json.loads(request.prompt.messages_json()) for request in self.requests]

    async def complete(self, request: ChatRequest) -> Reply:
        """Give the next answer."""
        self.requests.append(request)
        answer = self._last = self.answers.pop(0) if self.answers else self._last
        if isinstance(answer, BaseException):
            raise answer
        data = answer(request) if callable(answer) else answer
        if hasattr(data, "__await__"):
            data = await data
        text = json.dumps(data)
        return Reply(text, text, data, model="double")


def blocks(message: Mapping[str, Any]) -> list[Block]:
    """The blocks of a message."""
    return list(read_blocks(message["content"]))


def kinds(message: Mapping[str, Any]) -> list[str]:
    """The kinds of the blocks of a message."""
    return [block.kind for block in blocks(message)]
