"""Data of one's own may set more than tables and tasks: limits, grammar, history, world, and the state's schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import run_inline
from simia_gym.contracts import StepContext
from simia_gym.domain.registration import CUSTOM
from simia_gym.errors import DomainError, InputError
from simia_gym.oracle.domains import KnownDomain
from simia_gym.oracle.options import OracleOptions
from simia_gym.record.ledger import Ledger
from simia_gym.simulators.prefix import prompt_prefix

from .conftest import TASK, call, edit

ADDED = """
import json
from dataclasses import replace

from simia_gym.domain.data import DomainData
from simia_gym.domain.tasks import task_from_json
from simia_gym.actions import ToolsGrammar


def read(path):
    given = json.loads(path.read_text())
    tasks = [task_from_json(each, "data") for each in given.get("tasks", [])]
    given["tasks"] = {"train": tasks}
    if given.pop("endless", False):
        given["generator"] = lambda split, index: replace(tasks[0], id=f"more-g{index}", split=split)
    return DomainData(**given)


def told(history):
    return f"{len(history.done)} done"


class Jars(World):
    @tool(effect="write", writes=("jars/*/lids",))
    def turn(self, db: Draft, jar: str) -> str:
        \"\"\"Turn a lid.

        Args:
            jar: Which jar.
        \"\"\"
        db.edit("jars", jar)["lids"] += 1
        return "turned"


class Loud(ToolsGrammar):
    name = "loud"
    loud = False

    def with_options(self, options):
        made = Loud()
        made.loud = options["loud"]
        return made

    def parse(self, text):
        return super().parse(text.lower() if self.loud else text)
"""
JARS = {
    "tables": {"jars": {"j": {"lids": 0}}},
    "tasks": [{**TASK, "goal": [{"op": "test", "path": "/jars/j/lids", "value": 1}]}],
    "state_schema": {"tables": {"jars": {"row": {"type": "object", "required": ["lids"]}, "goal": False}}},
    "world": "world.py:Jars",
    "ends": [{"path": "/jars/j/lids", "value": 1, "reason": "turned"}],
}


@pytest.fixture
def own(folder: Path) -> Path:
    """The counter's folder with a function for data, two grammars and a schema."""
    code = (folder / "world.py").read_text()
    (folder / "world.py").write_text(code + ADDED)
    (folder / "state.schema.json").write_text('{"tables": {"counters": {}}}')
    edit("domain.yaml", "state_schema: null\n", "")(folder)
    edit("domain.yaml", "grammar: tools\n", "grammar:\n  tools: tools\n  loud: world.py:Loud\n")(folder)
    edit("domain.yaml", "ends:\n", "data: world.py:read\noptions: {loud: false}\nends:\n")(folder)
    return folder


def suite(folder: Path, data: dict[str, Any] | None = None, **settings: Any) -> Suite:
    if data is not None:
        settings["data"] = str(folder.parent / "data.json")
        Path(settings["data"]).write_text(json.dumps({"tasks": [TASK], **data}))
    return load_suite(EnvConfig(CUSTOM, domain=str(folder), **settings))


def test_data_sets_what_it_names_and_nothing_else(own: Path) -> None:
    plain, empty = suite(own), suite(own, {})
    for made in (plain, empty):
        assert (made.max_turns, made.history, made.domain.grammar_name) == (6, None, "tools")
    made = suite(own, {"max_turns": 2, "grammar": "loud", "history": "world.py:told"})
    assert (made.max_turns, made.domain.grammar_name) == (2, "loud")
    assert list(made.domain.specs) == list(plain.domain.specs)
    episode = made.episode()
    run_inline(episode.reset(made.tasks[0], seed=1))
    assert episode.shown[1]["content"] == "0 done"
    run_inline(episode.step(call("add", name="a")))
    assert run_inline(episode.step(call("add", name="a"))).truncated
    assert episode.ledger.events[0]["grammar"] == "loud"


def test_the_caller_has_the_last_word(own: Path) -> None:
    data = {"max_turns": 2, "grammar": "loud", "history": "page"}
    made = suite(own, data, max_turns=4, grammar="tools", history="steps")
    assert made.history is not None
    assert (made.max_turns, made.domain.grammar_name, made.history.name) == (4, "tools", "steps")


def test_data_may_bring_its_own_tables_world_and_schema(own: Path) -> None:
    made = suite(own, JARS)
    domain = made.domain
    assert list(domain.specs) == ["turn"]
    assert domain.state_schema is not None
    assert (list(domain.state_schema.tables), domain.uncounted) == (["jars"], ("/jars",))
    assert [*domain.state_schema.problems(domain.base.apply([{"op": "add", "path": "/jars/k", "value": {}}]))]
    context = StepContext(domain.prepare(made.tasks[0]), domain.base, Ledger(), 0, 0)
    known = prompt_prefix(domain, context, "terse", "ledger")
    assert rb"\"lids\"" in b"".join(known.prompt.chunks)
    episode = made.episode()
    run_inline(episode.reset(made.tasks[0], seed=1))
    assert run_inline(episode.step(call("turn", jar="j"))).terminated
    assert (episode.state.at("/jars/j/lids"), episode.ended) == (1, "turned")
    assert next(iter(suite(own).domain.specs)) == "add"
    data = str(own.parent / "data.json")
    assert list(KnownDomain(own, {}, OracleOptions(data=data)).world.tools) == ["turn"]
    assert "add" in KnownDomain(own, {}, OracleOptions(data=data, data_free=True)).world.tools


def test_data_may_bring_a_generator_of_its_own(own: Path) -> None:
    (own / "made.py").write_text("def generate(split, index):\n    raise AssertionError\n")
    edit("domain.yaml", "data:", "generator: made.py:generate\ndata:")(own)
    assert [task.id for task in suite(own, {"endless": True}, generated=2).tasks] == ["to-three", "more-g0", "more-g1"]
    assert len(suite(own, {"endless": True}, split="dev").tasks) == 20
    with pytest.raises(InputError, match="no task generator with data of your own"):
        suite(own, {}, generated=2)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"grammar": "laud"}, "data: grammar: counter has no grammar 'laud'. Did you mean 'loud'?"),
        ({"max_turns": 0}, "data: max_turns: Input should be greater than or equal to 1, got 0"),
        ({"ends": [{"path": "jars", "value": 1}]}, "data: ends[0].path: String should match pattern"),
        ({"history": "pages"}, "there is no history 'pages'"),
        ({"world": "world.py:Loud"}, "no World class"),
    ],
)
def test_what_data_sets_wrongly_is_named(own: Path, data: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        suite(own, data)
    assert said in str(caught.value)


def test_a_wrong_schema_of_data_is_named(own: Path) -> None:
    schema = {"tables": {"jars": {"foreign_keys": {"/lids": "lids"}}}}
    with pytest.raises(DomainError, match=r"data: state_schema\.tables\.jars\.foreign_keys.*no table 'lids'"):
        assert suite(own, {**JARS, "state_schema": schema}).domain.state_schema


@pytest.mark.parametrize(("loud", "ended"), [(True, True), (False, False)])
def test_a_grammar_may_depend_on_options(own: Path, loud: bool, ended: bool) -> None:
    made = suite(own, {"options": {"loud": loud}, "grammar": "loud"})
    episode = made.episode()
    run_inline(episode.reset(made.tasks[0], seed=1))
    assert run_inline(episode.step(call("stop").upper())).terminated is ended
