"""An answer to a call that contradicts what the tool declares, or what the model was shown, is asked again once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import CUSTOM, domain_path
from simia_gym.domain.tools import declared_tools, spec_from_entry, tool
from simia_gym.domain.world import World
from simia_gym.errors import Fault, InputError
from simia_gym.simulators.checked import CheckedSimulator
from simia_gym.simulators.checking import Rejected, check_answer
from simia_gym.simulators.reference import ReferenceSimulator
from simia_gym.state import Draft
from simia_gym.types import ToolCall

from .desk import GET, LAKE, RENAME, Double, context_of, failed, ok, put, said, write_domain

SEA = put("/books/b1/title", "Sea")
"""What is there already."""


def checked(domain: Domain, data: dict[str, Any], name: str = "rename", **marks: Any) -> Any:
    return check_answer(data, replace(domain.specs[name], **marks), domain.base, domain.state_schema)


def test_a_tool_that_always_changes_something_does_not_succeed_without(domain: Domain) -> None:
    assert checked(domain, ok()).ops == ()
    for nothing in (ok(), ok("x", put("/books/b1/title", "Sea", "test"))):
        with pytest.raises(Rejected, match="rename always changes something"):
            checked(domain, nothing, always_changes=True)
    assert checked(domain, ok("x", LAKE), always_changes=True).ops == (LAKE,)
    assert checked(domain, ok("x", SEA), always_changes=True).ops == ()
    assert checked(domain, failed(), always_changes=True).outcome == "error"


@pytest.mark.parametrize("text", ["buy now", "", "{'id': 1}", '{"id": 1', '{"id": 1} and more', "NaN"])
def test_a_tool_that_answers_json_answers_nothing_else(domain: Domain, text: str) -> None:
    assert checked(domain, ok(text), "get_book").observation == text
    with pytest.raises(Rejected, match="get_book returns is JSON"):
        checked(domain, ok(text), "get_book", answers="json")
    assert checked(domain, ok('[{"id": 1}]'), "get_book", answers="json").outcome == "ok"
    assert checked(domain, failed("Error: no"), "get_book", answers="json").outcome == "error"
    shown = {"answers": "json", "render": {"row": "/books/{book_id}"}}  # code writes it
    assert checked(domain, ok(text), "get_book", **shown).outcome == "ok"


@pytest.mark.parametrize("text", ["5", "{}", '["a"]', "[[5]]"])
def test_json_of_another_form_is_wrong_where_the_tool_declares_its_form(domain: Domain, text: str) -> None:
    form = {"type": "array", "items": {"type": "array", "items": {"type": "object"}}}
    with pytest.raises(Rejected, match="not of its form"):
        checked(domain, ok(text), "get_book", answers=form)
    assert checked(domain, ok('[[{"id": 1}], []]'), "get_book", answers=form).outcome == "ok"


async def test_without_a_state_code_writes_no_observation() -> None:
    domain = load_domain(domain_path("simia/retail-v0"))
    call, context = ToolCall("get_order_details", {"order_id": "#W1"}), context_of(domain)
    model = Double(said("no JSON"), said('{"order_id": "#W1"}'))
    simulator = ReferenceSimulator(domain, model)
    simulator.begin(context)
    assert (await simulator.call(call, context)).observation == '{"order_id": "#W1"}'
    assert "is JSON" in model.asked[1][-1]["content"]


class Own:
    """A class of a domain."""


def test_what_a_method_returns_says_whether_it_is_json() -> None:
    class Some(World):
        @tool()
        def own(self, db: Draft) -> Own:
            """Own."""
            return Own()

        @tool()
        def text(self, db: Draft) -> str:
            """Say."""
            return ""

        @tool()
        def page(self, db: Draft) -> None:
            """Show."""

        @tool()
        def rows(self, db: Draft) -> list[dict[str, str]]:
            """List."""
            return []

        @tool()
        def either(self, db: Draft) -> str | list[str]:
            """Either."""
            return []

        @tool()
        def number(self, db: Draft) -> int | float:
            """Count."""
            return 0

    answers = {name: spec.answers for name, spec in declared_tools(Some).items()}
    rows = {"type": "array", "items": {"type": "object"}}
    number = {"anyOf": [{"type": "integer"}, {"type": "number"}]}
    assert answers == {"text": "text", "page": "text", "rows": rows, "either": "text", "number": number, "own": "json"}
    entries = {name: spec.entry["x-simia"] for name, spec in declared_tools(Some).items()}
    assert ("answers" in entries["text"], entries["rows"]["answers"]) == (False, rows)
    assert not any("always_changes" in entry for entry in entries.values())


def test_what_writes_nothing_cannot_always_change_something() -> None:
    entry = {"function": {"name": "poke"}, "x-simia": {"always_changes": True}}
    with pytest.raises(InputError, match=r"always_changes.*nothing that the tool may write"):
        spec_from_entry(entry, lambda path: "tools.json")
    spec = spec_from_entry({**entry, "x-simia": {"always_changes": True, "writes": ["a"]}}, lambda path: "tools.json")
    assert spec.entry["x-simia"]["always_changes"] is True


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        (GET, True),
        (ToolCall("discard", {"book_id": "b1"}), True),
        (RENAME, False),  # a further argument may be what is missing
        (ToolCall("find_title", {"title": "Sea"}), True),
        (ToolCall("find_title", {"title": "b1"}), False),  # another name's value
        (ToolCall("find_loan", {"book_id": "b2", "member": "m1"}), True),
        (ToolCall("find_loan", {"book_id": "b2", "member": "Ada"}), False),
        (ToolCall("get_book", {"book_id": "b9"}), False),
        (ToolCall("lend", {"book_id": "b1", "member_id": "m9"}), False),
        (ToolCall("find_member", {"member_id": "m1"}), True),
        (ToolCall("think", {"thought": "b1"}), False),
    ],
    ids=lambda value: f"{value.name} {value.arguments}" if isinstance(value, ToolCall) else str(value),
)
async def test_what_was_shown_is_not_missing(domain: Domain, call: ToolCall, wrong: bool) -> None:
    model, context = Double(failed("Error: there is none", "not_found")), context_of(domain)
    simulator = CheckedSimulator(domain, model)
    simulator.begin(context)
    if not wrong:
        assert (await simulator.call(call, context)).error_code == "not_found"
        return
    with pytest.raises(Fault, match="was shown to you") as caught:
        await simulator.call(call, context)
    assert (caught.value.kind, len(model.asked)) == ("invalid_reply", 2)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ok("renamed", LAKE), None),
        (ok("in other words", LAKE), None),
        (ok("renamed"), "1 missed writes"),
        (ok("renamed", put("/books/b1/title", "Pond")), "1 wrong values"),
    ],
)
async def test_a_state_that_the_world_proves_wrong_is_a_fault(
    tmp_path: Path, answer: dict[str, Any], words: str | None
) -> None:
    config = EnvConfig(
        CUSTOM,
        domain=str(write_domain(tmp_path / "told", world=True)),
        simulator="hybrid",
        routes={"rename": "llm"},
        shadow_faults=True,
        pins=False,
    )
    suite = Suite(config, Resources(models={"simulator": Double(answer)}))
    simulator, context = suite.make_simulator(), context_of(suite.domain)
    simulator.begin(context)
    if words is None:
        assert (await simulator.call(RENAME, context)).ops == (LAKE,)
        return
    with pytest.raises(Fault, match=words) as caught:
        await simulator.call(RENAME, context)
    assert (caught.value.role, caught.value.kind) == ("simulator", "shadow")


def test_faults_of_the_shadow_need_a_state() -> None:
    with pytest.raises(InputError, match="keeps none"):
        EnvConfig("simia/retail-v0", simulator="llm", strategy="reference", shadow_faults=True)


async def test_an_error_that_the_code_at_hand_does_not_give_is_asked_again(coded: Domain) -> None:
    model, context = Double(failed("Error: no"), ok("renamed", LAKE)), context_of(coded)
    simulator = CheckedSimulator(coded, model)
    simulator.begin(context)
    answer = await simulator.call(RENAME, context)
    assert (answer.ops, answer.meta["route"]) == ((LAKE,), "repaired")
    assert "it succeeds" in model.asked[1][-1]["content"]
    model.say(failed("Error: none", "not_found"))
    assert (await simulator.call(ToolCall("get_book", {"book_id": "b9"}), context)).error_code == "not_found"


CONDITIONS = """\
def lent(state, arguments):
    return not state.at(f"/books/{arguments['book_id']}/available")
"""


@pytest.mark.parametrize(("book", "wrong"), [("b1", True), ("b2", False)])
@pytest.mark.parametrize("tool", ["rename", "show_book"])
async def test_an_error_without_a_text_is_worded_by_the_model_where_it_occurs(
    folder: Path, tool: str, book: str, wrong: bool
) -> None:
    (folder / "conditions.py").write_text(CONDITIONS)
    entries = json.loads((folder / "tools.json").read_text())
    error = {"code": "lent", "when": "conditions.py:lent"}
    for entry in entries:
        if entry["function"]["name"] == tool:
            entry["x-simia"]["errors"] = [error]
    (folder / "tools.json").write_text(json.dumps(entries))
    domain = load_domain(folder)
    assert domain.specs[tool].entry["x-simia"]["errors"] == [error]
    model, context = Double(failed("Error: it is away", "lent")), context_of(domain)
    simulator = CheckedSimulator(domain, model)
    simulator.begin(context)
    call = ToolCall(tool, {"book_id": book, **({"title": "Lake"} if tool == "rename" else {})})
    if not wrong:
        assert (await simulator.call(call, context)).observation == "Error: it is away"
        form: Any = model.requests[0].reply
        form = form.sent.schema["properties"]["answer"]["anyOf"][1]
        assert form["properties"]["error_code"]["enum"] == ["lent", "too_large"]
        assert '"errors":[{"code":"lent"}]' in model.asked[0][0]["content"]
    elif tool == "show_book":  # code shows what is there
        assert (await simulator.call(call, context)).meta["route"] == "render"
    else:
        with pytest.raises(Fault, match="'lent' does not occur here") as caught:
            await simulator.call(call, context)
        assert (caught.value.kind, len(model.asked)) == ("invalid_reply", 2)
