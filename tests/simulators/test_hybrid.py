from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import CUSTOM
from simia_gym.errors import Fault, InputError
from simia_gym.simulators.checked import CheckedSimulator
from simia_gym.simulators.hybrid import HybridSimulator, choose_routes
from simia_gym.simulators.pins import MemoryPins
from simia_gym.types import ToolCall

from .desk import GET, LAKE, RENAME, Double, after, context_of, failed, ok, put, write_domain

POKE = ToolCall("poke", {})


def test_a_tool_may_be_declared_to_be_played_by_a_model(tmp_path: Path) -> None:
    folder = write_domain(tmp_path / "declared", world=True)
    code = (folder / "world.py").read_text()
    (folder / "world.py").write_text(code.replace('@tool(effect="read",', '@tool(route="llm", effect="read",'))
    assert choose_routes(load_domain(folder), {})["get_book"] == "llm"
    assert choose_routes(load_domain(folder), {"get_book": "world"})["get_book"] == "world"
    (folder / "world.py").write_text(code.replace('@tool(effect="read",', '@tool(route="world", effect="read",'))
    with pytest.raises(InputError, match="'get_book'"):
        choose_routes(load_domain(folder), {"get_book": "llm"})


@pytest.mark.parametrize(
    ("routes", "words"),
    [
        ({"fly": "llm"}, "'fly'"),
        ({"poke": "world"}, "'poke'"),
        ({"rename": "moon"}, "'moon'"),
    ],
)
def test_a_route_that_cannot_be_is_named(coded: Domain, routes: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        HybridSimulator(coded, CheckedSimulator(coded, Double(ok())), routes)


async def test_every_call_says_where_it_went(coded: Domain, model: Double) -> None:
    model.say(ok("poked"), ok("bad", put("/books/b1/copies", 1)), ok("renamed", LAKE))
    side = CheckedSimulator(coded, model, pins=MemoryPins())
    simulator = HybridSimulator(coded, side, {"rename": "llm"})
    context = context_of(coded, group="g")
    simulator.begin(context)
    routes = Counter[str]()
    for call in (GET, POKE, RENAME, GET, POKE, ToolCall("fly", {}), ToolCall("poke", {"x": 1})):
        transition = await simulator.call(call, context)
        routes[transition.meta["route"]] += 1
        context = after(context, transition, call)
    assert routes == {"world": 2, "llm": 1, "repaired": 1, "pin": 1, "gate": 2}
    assert len(model.requests) == 3
    assert context.state.at("/books/b1/title") == "Lake"


async def test_a_world_refuses_and_routes_by_the_state(tmp_path: Path) -> None:
    folder = write_domain(tmp_path / "deciding", world=True)
    deciding = """
    def refuse(self, state, call, feedback="terse"):
        if call.name == "rename" and state.at("/books/b1/title") == "Lake":
            return error_transition("Error: it has that title.", "not_now")
        return super().refuse(state, call, feedback)

    def route(self, state, call):
        known = {"Lake": "llm", "Sea": "moon", "River": None}
        return known[call.arguments["title"]] if call.name == "rename" else None
"""
    code = (folder / "world.py").read_text()
    head = "from simia_gym.domain.world import error_transition\n"
    (folder / "world.py").write_text(head + code + deciding)
    domain, model = load_domain(folder), Double(ok("renamed", LAKE))
    context = context_of(domain)

    def simulator(routes: dict[str, str]) -> HybridSimulator:
        made = HybridSimulator(domain, CheckedSimulator(domain, model), routes)
        made.begin(context)
        return made

    def rename(title: str) -> ToolCall:
        return ToolCall("rename", {"book_id": "b1", "title": title})

    assert (await simulator({"rename": "world"}).call(RENAME, context)).meta["route"] == "world"
    hybrid = simulator({})
    assert (await hybrid.call(rename("River"), context)).meta["route"] == "world"
    for title in ("Sea", "Pond"):  # an impossible route, and an exception
        with pytest.raises(Fault) as caught:
            await hybrid.call(rename(title), context)
        assert (caught.value.role, caught.value.kind) == ("world", "bug")
    transition = await hybrid.call(RENAME, context)
    assert transition.meta["route"] == "llm"
    context = after(context, transition, RENAME)
    for side in (hybrid, hybrid.model_side):
        refused = await side.call(RENAME, context)
        assert (refused.error_code, refused.meta["route"]) == ("not_now", "gate")
    assert len(model.requests) == 1


async def test_feedback_reaches_the_world(coded: Domain) -> None:
    missing = ToolCall("get_book", {"book_id": "b9"})
    context = context_of(coded)
    side = CheckedSimulator(coded, Double(ok()))
    terse = await HybridSimulator(coded, side).call(missing, context)
    explained = await HybridSimulator(coded, side, {}, "explain").call(missing, context)
    assert "Why:" not in terse.observation
    assert "Why: The shelf has only listed books." in explained.observation


async def test_the_shadow_compares_errors_as_they_are_told(tmp_path: Path) -> None:
    text = "Error: Book b99 not found. Why: The shelf has only listed books."
    config = EnvConfig(
        CUSTOM,
        domain=str(write_domain(tmp_path / "told", world=True)),
        simulator="hybrid",
        routes={"get_book": "llm"},
        shadow=True,
        feedback="explain",
        pins=False,
    )
    suite = Suite(config, Resources(models={"simulator": Double(failed(text, "not_found"))}))
    given = await suite.make_simulator().call(ToolCall("get_book", {"book_id": "b99"}), context_of(suite.domain))
    assert given.observation == text
    assert given.meta["shadow"] == {
        **dict.fromkeys(("outcome", "error_code", "observation"), True),
        **dict.fromkeys(("wrong", "missed", "spurious"), 0),
    }
