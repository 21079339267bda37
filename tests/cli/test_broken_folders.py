"""`simia check` names what people write by mistake: where, what, and what to do; never a traceback, never silence."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ..sweeps import sweep
from .conftest import Simia

Change = Callable[[Path], None]


def swap(file: str, old: str, new: str) -> Change:
    """Another text in the place of one."""

    def change(folder: Path) -> None:
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new, 1))

    return change


def add(file: str, text: str) -> Change:
    """A text at the end of a file, which may be new."""

    def change(folder: Path) -> None:
        with (folder / file).open("a") as written:
            written.write(text)

    return change


def whole(file: str, data: bytes) -> Change:
    """A file of other bytes."""

    def change(folder: Path) -> None:
        (folder / file).write_bytes(data)

    return change


def both(*changes: Change) -> Change:
    """Several changes."""

    def change(folder: Path) -> None:
        for one in changes:
            one(folder)

    return change


def task(**values: object) -> Change:
    """Other values of the first task; ``None`` for none."""

    def change(folder: Path) -> None:
        path = folder / "tasks" / "train.jsonl"
        first, *others = path.read_text().splitlines()
        made = {**json.loads(first), **values}
        made = {key: value for key, value in made.items() if value is not None}
        path.write_text("\n".join([json.dumps(made), *others]) + "\n")

    return change


def tool(**values: object) -> Change:
    """Other values of the first tool, which a model plays."""

    def change(folder: Path) -> None:
        swap("domain.yaml", "world: world.py:LibraryWorld", "world: null")(folder)
        entries = json.loads((folder / "tools.json").read_text())
        entries[0]["function"] |= values
        (folder / "tools.json").write_text(json.dumps(entries, indent=1))

    return change


def looped(folder: Path) -> None:
    (folder / "policy.md").unlink()
    (folder / "policy.md").symlink_to("policy.md")


def twice(folder: Path) -> None:
    entries = json.loads((folder / "tools.json").read_text())
    (folder / "tools.json").write_text(json.dumps([*entries, entries[0]]))


SEARCH = "wanted = title.casefold()"
SIGNATURE = "search_books(self, db: Draft, title: str)"
READS = 'reads=["books"]'
COPIES = '"available": 1'
SHELF = '{"id": "shelf", "table": "books", "left": "/available", "op": "<=", "right": "/copies"}'
MADE = "generator: made.py:make\n"

# What is changed, then the exit code, the place and the problem, with its fix.
BROKEN: dict[str, tuple[Change, int, str, str]] = {
    "an empty file": (whole("domain.yaml", b""), 2, "domain.yaml", "is not a mapping of keys"),
    "a tab in YAML": (swap("domain.yaml", "  train:", "\ttrain:"), 2, "domain.yaml:19:1", "not valid YAML"),
    "UTF-16": (whole("domain.yaml", "name: x".encode("utf-16")), 2, "domain.yaml", "not UTF-8 text"),
    "no text": (whole("domain.yaml", b"name: x\0"), 2, "domain.yaml", "control characters are not allowed"),
    "a tag of Python": (
        swap("domain.yaml", "title: Library desk", "title: !!binary aGk="),
        2,
        "domain.yaml:4:8",
        "not valid YAML: binary is no kind of JSON value",
    ),
    "a truth for a number": (swap("domain.yaml", "version: 1", "version: true"), 2, "domain.yaml:3", "valid integer"),
    "endless turns": (swap("domain.yaml", "max_turns: 12", f"max_turns: {10**20}"), 2, ":9: max_turns", "100000"),
    "an empty name": (swap("domain.yaml", "world.py:LibraryWorld", "''"), 2, ":11: world", "names nothing"),
    "a link to itself": (looped, 2, "domain.yaml", "'policy.md' leads nowhere"),
    "an option that is no number": (add("domain.yaml", "options: {a: .nan}\n"), 2, ":29: options", "JSON has"),
    "an option with a number as key": (add("domain.yaml", "options: {a: {1: 2}}\n"), 2, ":29: options", "key 1 is a"),
    "a sample that is cut": (
        swap("domain.yaml", 'harbour"}}</tool_call>', "harbour</tool_call>"),
        1,
        "domain.yaml:27: samples[1]",
        "it is no valid action: The tool call is not valid JSON",
    ),
    "a sample of no tool": (swap("domain.yaml", '"search_books"', '"seek"'), 1, ":27: samples[1]", "'seek' not found"),
    "an end that cannot come": (
        add("domain.yaml", "ends:\n  - {path: /lones/main/x, value: 1}\n"),
        1,
        "domain.yaml:30: ends[0].path",
        "names no table, so that the rule never holds. Did you mean 'loans'?",
    ),
    "data by no function": (add("domain.yaml", "data: world.py:LOAN_DAYS\n"), 1, ":29: data", "is not a function"),
    "an expert that is no class": (
        swap("domain.yaml", "expert.py:Expert", "expert.py:MOST_LOANS"),
        1,
        "domain.yaml:23: policies.expert",
        "is no class (it is of type int)",
    ),
    "a policy text of a mark alone": (whole("policy.md", codecs.BOM_UTF8), 1, "policy.md", "is empty"),
    "NaN": (swap("state.json", COPIES, '"available": NaN'), 2, "state.json:3", "NaN is not a JSON value"),
    "a number without end": (swap("state.json", COPIES, '"available": 1e999'), 2, "state.json:3", "is too large"),
    "many digits": (swap("state.json", COPIES, f'"available": {"9" * 5000}'), 2, "state.json:3", "number is too long"),
    "half a character": (swap("state.json", "Harbour", "\\ud800"), 2, "state.json:", "\\ud800 is half of a character"),
    "a schema that is gone": (lambda at: (at / "state.schema.json").unlink(), 1, "state.schema.json", "no such state"),
    "an invariant twice": (
        swap("state.schema.json", SHELF, f"{SHELF}, {SHELF}"),
        1,
        "state.schema.json:60: invariants[1]",
        "has the id 'shelf' too",
    ),
    "a goal that begins with no slash": (
        task(goal=[{"op": "test", "path": "loans/L-5", "value": 1}]),
        2,
        "train.jsonl:1: goal operation 0",
        "begins with '/'. Write a JSON Pointer",
    ),
    "a task that tells nothing": (task(instruction=None), 1, "train.jsonl:1: task", "the agent is told nothing"),
    "a script that nobody reads": (task(user={"type": "robot"}), 1, ": task train-lend: user", "has no user"),
    "a tool twice": (twice, 1, "tools.json:1", "there are 2 tools 'search_books'"),
    "a tool's name with a space": (tool(name="search books"), 2, "tools.json:5", "is none that models can call"),
    "a tool's empty name": (tool(name=""), 2, "tools.json:5", "is none that models can call"),
    "parameters that are a list": (tool(parameters={"type": "array"}), 2, "tools.json:7", "describe no object"),
    "an argument that is only required": (
        tool(parameters={"type": "object", "properties": {}, "required": ["isbn"]}),
        1,
        "tools.json:2: tool 'search_books'",
        "requires 'isbn', which is none of its properties",
    ),
    "an opening without a world": (
        both(tool(), add("domain.yaml", "opening: world.py:_find\n")),
        1,
        "",
        "opening raised TypeError",
    ),
    "a tool without the draft": (
        swap("world.py", SIGNATURE, "search_books(self, title: str)"),
        2,
        "world.py:33: LibraryWorld.search_books",
        "Write def tool(self, db: Draft, ...)",
    ),
    "a tool of any arguments": (
        swap("world.py", SIGNATURE, "search_books(self, db: Draft, *title: str)"),
        2,
        "world.py:33",
        "cannot be given by its name",
    ),
    "a default of another type": (
        swap("world.py", "title: str)", "title: str = 3)"),
        2,
        "world.py:33: LibraryWorld.search_books",
        "the default of 'title' is none that its annotation allows",
    ),
    "a default that is no value": (swap("world.py", "title: str)", "title: str = object())"), 2, ":33", "the default"),
    "a text for a list": (swap("world.py", READS, 'reads="books"'), 2, "world.py:33", "Write reads=['books']"),
    "a tool that returns a set": (
        swap("world.py", SEARCH, "return {1}"),
        1,
        "selftests.jsonl:1",
        "a set is not",
    ),
    "a tool that yields": (
        swap("world.py", SEARCH, f"yield 1; {SEARCH}"),
        1,
        "selftests.jsonl:1",
        "a generator is",
    ),
    "a tool that returns a loop": (
        swap("world.py", SEARCH, "loop = []; loop.append(loop); return loop"),
        1,
        "selftests.jsonl:1",
        "tool search_books returned raised ValueError: Circular reference",
    ),
    "a tool that is cancelled": (
        swap("world.py", SEARCH, "import asyncio; raise asyncio.CancelledError"),
        1,
        "",
        "tool 'search_books' raised CancelledError, at: self-tests",
    ),
    "an interrupted import": (
        add("world.py", "raise KeyboardInterrupt\n"),
        2,
        "",
        "raised KeyboardInterrupt, at: files",
    ),
    "a generator of nothing": (
        both(add("made.py", "def make(split, index):\n    pass\n"), add("domain.yaml", MADE)),
        1,
        "domain.yaml:29: generator",
        "it made 'None', which is no task. Return a simia_gym.types.Task",
    ),
    "a service of a list": (
        both(add("service.yaml", "- a\n"), add("domain.yaml", "service: service.yaml\n")),
        2,
        "service.yaml:1",
        "should be an object",
    ),
}


@pytest.mark.parametrize("name", sweep(BROKEN, 15))
@pytest.mark.sampled
def test_a_broken_folder_is_named(name: str, desk: str, simia: Simia) -> None:
    change, code, where, what = BROKEN[name]
    change(Path(desk))
    result = simia("check", desk, "--json")
    problems = result.json["problems"]
    assert result.code == code
    assert any(where in item["where"] and what in f"{item['what']}. {item['fix']}" for item in problems), problems
    assert all(item["where"] and item["fix"] for item in problems), problems
    assert "Traceback" not in result.err


@pytest.mark.parametrize("file", ["domain.yaml", "policy.md", "state.json", "tasks/train.jsonl", "rubric.yaml"])
def test_a_mark_of_byte_order_and_lines_of_windows_change_nothing(file: str, desk: str, simia: Simia) -> None:
    path = Path(desk, file)
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes().replace(b"\n", b"\r\n"))
    assert simia("check", desk, "--json").json["problems"] == []


def test_a_date_in_yaml_is_a_text_as_in_json(desk: str, simia: Simia) -> None:
    item = "- {id: day, kind: goal, check: {program: state_is, path: /desk/main/today, value: 2024-03-01}}\n"
    add("rubric.yaml", item)(Path(desk))
    assert simia("check", desk, "--json").json["problems"] == []
