"""A domain needs no code for a model to play it: tools.json, policy, tasks and schema are enough."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simia_gym.common.dotted_names import load_object
from simia_gym.common.event_loop import run_sync
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.domain.world import World
from simia_gym.errors import DomainError, InputError
from simia_gym.evaluation.checker import check_folder
from simia_gym.types import JsonObject, Task, ToolCall, Transition

from .conftest import edit


def begun(domain: Domain, task: Task) -> Transition:
    return run_sync(domain.opening(domain.prepare(task).initial, task), inline=True)


def entry(name: str = "wave", /, **marks: object) -> JsonObject:
    function = {"name": name, "description": "Wave.", "parameters": {"type": "object", "properties": {"name": {}}}}
    return {"type": "function", "function": function, "x-simia": marks}


def write_tools(folder: Path, *extra: JsonObject) -> None:
    world = load_object("world.py:Counter", folder=folder)
    assert isinstance(world, type)
    assert issubclass(world, World)
    declared = [spec.entry for spec in world.tools.values()]
    (folder / "tools.json").write_text(json.dumps([*declared, *extra]))


def test_a_model_can_play_tools_that_the_world_lacks(folder: Path) -> None:
    write_tools(folder, entry(route="llm", effect="read", reads=["counters/{name}"]), entry("other", effect="read"))
    domain = load_domain(folder)
    assert list(domain.specs)[-1] == "wave"
    assert domain.specs["wave"].route == "llm"
    assert domain.slicers["wave"](domain.base, ToolCall("wave", {"name": "a"})).tables == {
        "counters": {"a": {"value": 0}}
    }
    assert domain.world is not None
    assert "wave" not in domain.world.tools
    problems = [str(problem) for problem in check_folder(folder).problems]
    assert any("the world has no tool 'other'" in text for text in problems)
    assert not any("'wave'" in text for text in problems)


@pytest.mark.parametrize(
    ("marks", "named"),
    [
        ({"effect": "maybe"}, "effect"),
        ({"reads": "counters"}, "x-simia: reads: Input should be a list"),
        ({"render": 7}, "x-simia: render: Input should be "),
        ({"writes": ["counters//x"]}, "counters//x"),
        ({"terminal": 1}, "terminal"),
        ({"colour": "red"}, "'colour'. Remove it. The keys are: effect, "),
        ({"description": "Wave twice."}, "'description'"),
        ({"reads": ["counters/{"]}, "counters/{"),
        ({"render": {"line": "x"}}, "line"),
        ({"errors": [{"code": "No Way", "text": "no"}]}, "errors[0].code"),
        ({"errors": [{"code": "no", "text": "{colour}"}]}, "colour"),
        ({"errors": [{"code": "no", "text": "no", "when": "gone.py:f"}]}, "gone.py"),
    ],
)
def test_rules_that_make_no_sense_are_refused_by_the_domain(folder: Path, marks: JsonObject, named: str) -> None:
    write_tools(folder, entry(**{"route": "llm", **marks}))
    with pytest.raises(InputError, match="wave") as caught:
        load_domain(folder)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("marks", "named"),
    [
        ({"reads": ["shelves"]}, "the table 'shelves'"),
        ({"reads": ["counters/{id}"]}, "the argument 'id'"),
        ({"reads": ["counters/{/shelves/{name}/id}"]}, "the table 'shelves'"),
        ({"reads": ["counters?value={x}"]}, "the argument 'x'"),
        ({"reads": ["counters#value/{y}"]}, "the argument 'y'"),
        ({"writes": ["shelves/*"]}, "the table 'shelves'"),
        ({"render": {"row": "/counters/{id}"}}, "the argument 'id'"),
    ],
)
def test_the_checker_names_what_a_declaration_gets_wrong(folder: Path, marks: JsonObject, named: str) -> None:
    write_tools(folder, entry(route="llm", **marks))
    problems = [problem for problem in check_folder(folder).problems if "'wave'" in problem.where]
    assert [named in problem.what for problem in problems] == [True]


@pytest.mark.parametrize(
    ("marks", "named"),
    [
        ('reads=("counters",)', None),
        ('reads=("counters/{name}#value",), render={"value": "/counters/{name}/value"}', None),
        ('reads=("counters/a",)', "on the slice"),
        ('reads=("counters/{name}#colour",)', "cannot run on the slice"),
        ('reads=("counters",), render={"text": "{name}"}', "its rendering rule writes"),
        ('reads=("counters",), render={"value": "/counters/{name}/none"}', "its rendering rule fails"),
    ],
)
def test_the_checker_tries_slices_and_rules_on_gold_calls(folder: Path, marks: str, named: str | None) -> None:
    edit("world.py", 'reads=("counters",)', marks)(folder)
    task = json.loads((folder / "train.jsonl").read_text())
    task["gold"] = [{"name": "add", "arguments": {"name": "b", "amount": 3}}]
    task["goal"] = [{"op": "test", "path": "/counters/b/value", "value": 3}]
    (folder / "train.jsonl").write_text(json.dumps(task) + "\n")
    problems = [problem.what for problem in check_folder(folder, write_tools=True).problems]
    assert [named in text for text in problems] == [True] if named is not None else problems == []


@pytest.mark.parametrize(("errors", "wrong"), [("", True), (', errors=[DeclaredError("shy", "No.")]', False)])
def test_a_read_that_code_would_answer_where_the_world_declines_is_named(
    folder: Path, errors: str, wrong: bool
) -> None:
    with (folder / "world.py").open("a") as file:
        file.write(
            f"""
    @tool(effect="read", render={{"text": "seen"}}{errors})
    def peek(self, db: Draft) -> str:
        \"\"\"Look.\"\"\"
        raise ToolError("No.", "shy")
"""
        )
    task = {**json.loads((folder / "train.jsonl").read_text()), "gold": [{"name": "peek", "arguments": {}}]}
    (folder / "train.jsonl").write_text(json.dumps(task) + "\n")
    found = [problem.what for problem in check_folder(folder, write_tools=True).problems]
    assert any("shows \"seen\" where the world answers 'shy'" in text for text in found) is wrong, found


def test_two_tools_of_one_name_are_refused(folder: Path) -> None:
    (folder / "tools.json").write_text(json.dumps([entry(), entry()]))
    edit("domain.yaml", "world.py:Counter", "null")(folder)
    with pytest.raises(DomainError, match="two tools 'wave'"):
        load_domain(folder)


PAGES = """\
from simia_gym.state import State
from simia_gym.types import Task


def opening(state: State, task: Task) -> str:
    return f"{task.instruction} It is {state.at('/counters/a/value')} now."


def info(state: State) -> dict[str, object]:
    return {"sum": sum(row["value"] for _, row in state.rows("counters"))}


nothing = 7
"""


def take_world_away(folder: Path, *lines: str) -> None:
    write_tools(folder)
    edit("domain.yaml", "world: world.py:Counter", "\n".join(["world: null", *lines]))(folder)
    (folder / "pages.py").write_text(PAGES)


@pytest.mark.parametrize(
    ("lines", "first", "extras"),
    [
        ([], "Bring counter a to 3.", {}),
        (["opening: pages.py:opening", "info: pages.py:info"], "Bring counter a to 3. It is 0 now.", {"sum": 0}),
    ],
)
def test_functions_stand_in_for_a_worlds_first_words_and_extras(
    folder: Path, lines: list[str], first: str, extras: JsonObject
) -> None:
    take_world_away(folder, *lines)
    domain = load_domain(folder)
    assert begun(domain, domain.tasks["train"][0]).observation == first
    assert domain.extras(domain.base) == extras


@pytest.mark.parametrize("line", ["opening: pages.py:none", "info: pages.py:nothing", "info: nowhere:info"])
def test_functions_that_do_not_exist_are_found_at_once(folder: Path, line: str) -> None:
    take_world_away(folder, line)
    with pytest.raises(DomainError) as caught:
        load_domain(folder)
    assert line.split(":")[0] in str(caught.value)


def test_a_setup_that_breaks_the_schema_is_found(folder: Path) -> None:
    row = {"type": "object", "properties": {"value": {"type": "integer"}}}
    (folder / "state.schema.json").write_text(json.dumps({"tables": {"counters": {"row": row}}}))
    edit("domain.yaml", "state_schema: null", "state_schema: state.schema.json")(folder)
    task = json.loads((folder / "train.jsonl").read_text())
    task["setup"] = [{"op": "add", "path": "/counters/c", "value": {"value": "many"}}]
    (folder / "train.jsonl").write_text(json.dumps(task) + "\n")
    found = [problem for problem in check_folder(folder).problems if "task to-three" in problem.where]
    assert any("/counters/c/value" in problem.what for problem in found)
