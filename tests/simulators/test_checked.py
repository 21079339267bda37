from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simia_gym.contracts import StepContext
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.errors import Fault, InputError
from simia_gym.llm.blocks import make_nonce, outside_blocks
from simia_gym.simulators.checked import CheckedSimulator
from simia_gym.simulators.checking import LEDGER_REPLY
from simia_gym.types import ToolCall, Transition

from .desk import GET, LAKE, MEMBER, RENAME, Double, after, blocks, context_of, failed, kinds, ok, put, write_domain

MISSING = ToolCall("get_book", {"book_id": "b9"})
STRAY = put("/books/b1/copies", 9)


def begun(domain: Domain, model: Any, context: StepContext, **options: Any) -> CheckedSimulator:
    simulator = CheckedSimulator(domain, model, **options)
    simulator.begin(context)
    return simulator


async def answered(domain: Domain, model: Double, call: ToolCall, *answers: Any, **options: Any) -> Transition:
    context = context_of(domain)
    return await begun(domain, model.say(*answers), context, **options).call(call, context)


async def test_a_read_shows_what_the_model_says(domain: Domain, model: Double) -> None:
    context = context_of(domain)
    transition = await begun(domain, model.say(ok("the sea")), context).call(GET, context)
    assert (transition.observation, transition.outcome, transition.ops) == ("the sea", "ok", ())
    assert transition.meta == {"route": "llm"}
    assert transition.state is domain.base
    (event,) = context.ledger.events
    assert (event["type"], event["purpose"], event["ordinal"], event["role"]) == ("model", "answer", 0, "simulator")
    assert json.loads(event["reply"]) == ok("the sea")
    assert 0 < event["static_bytes"] < event["prompt_bytes"]


async def test_the_prompt_has_the_parts_in_their_order(domain: Domain, model: Double) -> None:
    await answered(domain, model, GET, ok())
    system, user = model.asked[0]
    assert (system["role"], user["role"]) == ("system", "user")
    assert kinds(system) == ["domain", "tools", "schema"]
    assert kinds(user) == ["state", "call"]
    named, tools, schema = (block.value for block in blocks(system))
    assert named == {"name": "desk", "version": 1, "options": {}}
    assert [entry["function"]["name"] for entry in tools] == list(domain.specs)
    assert tools[3]["x-simia"]["writes"] == ["books/*/title"]
    assert list(schema["tables"]) == ["books", "loans", "members", "desk"]
    state, call = (block.value for block in blocks(user))
    assert state == {"tables": {"books": {"b1": dict(domain.base.get("books", "b1") or {})}}, "missing": []}
    assert call == {"name": "get_book", "arguments": {"book_id": "b1"}}
    nonce = make_nonce(domain.hash)
    assert {block.nonce for block in (*blocks(system), *blocks(user))} == {nonce}
    assert "Lend books with care." in outside_blocks(system["content"])
    form = model.requests[0].reply
    assert form is not None
    assert form.schema is LEDGER_REPLY.schema
    await answered(domain, model, MISSING, failed("none", "not_found"))
    assert blocks(model.asked[1][1])[0].value == {"tables": {"books": {}}, "missing": ["/books/b9"]}


async def test_private_tables_never_reach_the_model(domain: Domain, model: Double) -> None:
    await answered(domain, model, ToolCall("wipe", {}), ok())
    assert "_clock" not in json.dumps(model.asked[0][1])


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (ToolCall("fly", {}), "unknown_tool"),
        (ToolCall("get_book", {"book_id": 5}), "invalid_arguments"),
        (ToolCall("get_book", {"book_id": "b1", "x": 1}), "invalid_arguments"),
    ],
)
async def test_the_gate_costs_nothing(domain: Domain, model: Double, call: ToolCall, code: str) -> None:
    transition = await answered(domain, model, call)
    assert (transition.error_code, transition.meta) == (code, {"route": "gate"})
    assert model.requests == []


async def test_a_broken_rule_is_mended_once_with_the_violation(domain: Domain, model: Double) -> None:
    context = context_of(domain)
    model.say(ok("renamed", STRAY), ok("renamed", LAKE))
    transition = await begun(domain, model, context).call(RENAME, context)
    assert transition.ops == (LAKE,)
    assert transition.meta == {"route": "repaired"}
    first, second = model.asked
    assert second[: len(first)] == first
    assert [message["role"] for message in second[len(first) :]] == ["assistant", "user"]
    assert blocks(second[-2])[0].value == ok("renamed", STRAY)
    (told,) = blocks(second[-1])
    assert told.kind == "violations"
    assert "/books/b1/copies" in told.value[0]
    assert [event["type"] for event in context.ledger.events] == ["model", "rejected", "model"]
    rejected = context.ledger.events[1]
    assert (rejected["tool"], rejected["purpose"], list(rejected["violations"])) == ("rename", "answer", told.value)
    assert [request.ordinal for request in model.requests] == [0, 1]
    assert len({request.seed for request in model.requests}) == 2


async def test_the_stronger_model_starts_afresh(domain: Domain) -> None:
    context = context_of(domain)
    small, big = Double(ok("a", STRAY)), Double(ok("c", STRAY), ok("d", LAKE))
    transition = await begun(domain, small, context, escalation=big).call(RENAME, context)
    assert (transition.ops, transition.meta) == ((LAKE,), {"route": "escalated"})
    assert (len(small.asked), len(big.asked)) == (2, 2)
    assert big.asked[0] == small.asked[0]
    purposes = [event["purpose"] for event in context.ledger.events if event["type"] == "model"]
    assert purposes == ["answer", "repair", "escalation", "repair"]


@pytest.mark.parametrize("stronger", [False, True])
async def test_when_every_answer_breaks_rules_it_is_a_fault(domain: Domain, model: Double, stronger: bool) -> None:
    context = context_of(domain)
    simulator = begun(domain, model.say(ok("a", STRAY)), context, escalation=model if stronger else None)
    with pytest.raises(Fault, match="rename") as caught:
        await simulator.call(RENAME, context)
    assert (caught.value.kind, caught.value.role) == ("invalid_reply", "simulator")
    purposes = [event["purpose"] for event in context.ledger.events if event["type"] == "rejected"]
    assert purposes == ["answer", "repair", "escalation", "repair"][: 4 if stronger else 2]


async def test_a_failing_endpoint_is_a_fault_and_no_escalation(domain: Domain, model: Double) -> None:
    lost = Fault("server_error", "500", role="simulator")
    with pytest.raises(Fault, match="server_error"):
        await answered(domain, model, GET, lost, escalation=model)
    assert len(model.requests) == 1


SHOW, ABSENT = (ToolCall("show_book", {"book_id": book}) for book in ("b1", "b9"))


async def test_a_read_that_follows_from_the_state_asks_no_model(domain: Domain, model: Double) -> None:
    context = context_of(domain)
    shown = await begun(domain, model, context).call(SHOW, context)
    assert json.loads(shown.observation) == domain.base.get("books", "b1")
    assert (shown.outcome, shown.ops, shown.meta) == ("ok", (), {"route": "render"})
    assert shown.state is context.state
    assert (len(context.ledger), model.requests) == (0, [])


async def test_a_model_writes_what_rules_write_where_it_is_asked_to(domain: Domain, model: Double) -> None:
    row = dict(domain.base.to_tables()["books"]["b1"])
    for text, wrong in (("words", "is an object"), ("[]", "is an object"), ('{"id": "b1"}', "lacks .*'title'")):
        with pytest.raises(Fault, match=wrong):
            await answered(domain, model, SHOW, ok(text), ok(text), render="model")
    model.asked.clear()
    own = json.dumps({**row, "title": "the model's own words"})
    written = await answered(domain, model, SHOW, ok(own), render="model")
    assert (written.observation, written.meta) == (own, {"route": "llm"})
    (tool,) = (entry for entry in blocks(model.asked[0][0])[1].value if entry["function"]["name"] == "show_book")
    assert "render" not in tool["x-simia"]


FOUND = {"book_id": "b1"}


@pytest.mark.parametrize(
    ("marks", "arguments", "asked"),
    [
        ({}, FOUND, False),
        ({"effect": "none"}, FOUND, False),
        ({"effect": "write", "writes": []}, FOUND, True),
        ({"errors": [{"code": "lent", "text": "It is lent."}]}, FOUND, True),
        ({"errors": [{"code": "lent", "text": "It is lent.", "when": "errors.py:never"}]}, FOUND, False),
        ({"reads": ["books/{book_id}", "members"]}, FOUND, True),  # further members may be revealed
        ({"reads": ["books/{book_id}", "members/{book_id}"]}, FOUND, False),
        ({}, {"book_id": "b9"}, True),
    ],
)
async def test_a_model_is_asked_where_it_may_know_better_than_the_rule(
    folder: Path, model: Double, marks: dict[str, Any], arguments: dict[str, Any], asked: bool
) -> None:
    tools = json.loads((folder / "tools.json").read_text())
    next(entry for entry in tools if entry["function"]["name"] == "show_book")["x-simia"].update(marks)
    (folder / "tools.json").write_text(json.dumps(tools))
    (folder / "errors.py").write_text("def never(state, arguments):\n    return False\n")
    code = "lent" if "errors" in marks else "not_allowed"
    await answered(load_domain(folder), model, ToolCall("show_book", arguments), failed("none", code))
    assert bool(model.requests) is asked


async def test_what_is_too_large_is_the_error_that_the_world_gives(folder: Path, model: Double) -> None:
    with (folder / "domain.yaml").open("a") as file:
        file.write("limits: {observation: 9}\n")
    large = await answered(load_domain(folder), model, SHOW)
    assert (large.outcome, large.error_code, large.meta) == ("error", "too_large", {"route": "render"})
    assert "9" in large.observation


async def test_code_writes_the_observation_where_the_tool_has_a_rule(folder: Path, model: Double) -> None:
    tools = json.loads((folder / "tools.json").read_text())
    for entry in tools:
        if entry["function"]["name"] == "rename":
            entry["x-simia"]["render"] = {"row": "/books/{book_id}"}
    (folder / "tools.json").write_text(json.dumps(tools))
    domain = load_domain(folder)
    renamed = {name: part for name, part in ok("", LAKE).items() if name != "observation"}
    for answer in (renamed, ok("the model's own words", LAKE)):
        transition = await answered(domain, model, RENAME, answer)
        assert json.loads(transition.observation)["title"] == "Lake"
    entries = blocks(model.asked[0][0])[1].value
    assert [entry["x-simia"].get("render") for entry in entries[:4]] == [
        None,
        True,
        None,
        True,
    ]
    refused = await answered(domain, model, ABSENT, failed("none", "not_found"))
    assert (refused.observation, refused.error_code) == ("Error: none", "not_found")
    with pytest.raises(Fault, match="invalid_reply"):
        await answered(domain, model, ABSENT, ok("a book that is not there"))


async def test_a_revealed_row_is_there_from_then_on(domain: Domain, model: Double) -> None:
    context = context_of(domain)
    simulator = begun(domain, model.say(ok("Bo", reveals=(MEMBER,)), ok("Bo")), context)
    call = ToolCall("find_member", {"member_id": "m9"})
    first = await simulator.call(call, context)
    assert (first.reveals, first.ops) == ((MEMBER,), ())
    context = after(context, first, call)
    await simulator.call(call, context)
    seen = [blocks(messages[1])[0].value for messages in model.asked]
    assert seen[0] == {"tables": {"members": {}}, "missing": ["/members/m9"]}
    assert seen[1] == {"tables": {"members": {"m9": MEMBER["value"]}}, "missing": []}


async def test_only_a_terminal_tool_that_succeeds_ends_the_episode(domain: Domain, model: Double) -> None:
    closed = put("/desk/main/closed", True)
    assert (await answered(domain, model, ToolCall("close", {}), ok("closed", closed))).end == "terminal_tool"
    assert (await answered(domain, model, ToolCall("close", {}), failed("busy", "busy"))).end is None
    assert (await answered(domain, model, GET, ok("[TERMINATE] ###STOP### done"))).end is None


async def test_the_beginning_of_the_prompt_is_the_same_bytes(domain: Domain, model: Double) -> None:
    model.say(ok())
    for seed in (1, 2):
        context = context_of(domain, seed=seed)
        simulator = begun(domain, model, context)
        for call in (GET, ToolCall("get_book", {"book_id": "b2"})):
            context = after(context, await simulator.call(call, context), call)
    (beginning,) = {request.prompt.chunks[0] for request in model.requests}
    assert [request.prompt.static for request in model.requests] == [len(beginning)] * 4
    assert len({request.prompt.messages_json() for request in model.requests}) == 2


async def test_a_domains_own_prompt_takes_the_place(folder: Path, model: Double) -> None:
    path = folder / "prompts" / "simulator_ledger.md"
    path.parent.mkdir()
    path.write_text("Obey: {{policy}}")
    await answered(load_domain(folder), model, GET, ok())
    assert model.asked[0][0]["content"].startswith("Obey: Lend books with care.")
    path.write_text("One\n{{polcy}}")
    domain = load_domain(folder)
    with pytest.raises(InputError, match=f"{path}:2.*polcy"):
        begun(domain, model, context_of(domain))


async def test_the_opening_is_the_instruction_or_the_worlds(domain: Domain, coded: Domain, model: Double) -> None:
    context = context_of(domain)
    assert (await begun(domain, model, context).open(context)).observation == "Tidy the desk."
    context = context_of(coded)
    opened = await begun(coded, model, context).open(context)
    assert opened.observation == "The desk is open."
    assert opened.state is not None
    assert opened.state.at("/_clock/now/day") == 4


async def test_nothing_to_begin_with_is_named(folder: Path, model: Double) -> None:
    (folder / "train.jsonl").write_text('{"id": "t", "split": "train", "kind": "k", "goal": []}\n')
    domain = load_domain(folder)
    context = context_of(domain)
    with pytest.raises(InputError, match="task t"):
        await begun(domain, model, context).open(context)


async def test_requests_of_an_episode_are_numbered_and_seeded(domain: Domain) -> None:
    async def requests(seed: int, group: str = "") -> list[tuple[int, int | None, str]]:
        double = Double(ok())
        context = context_of(domain, seed=seed, group=group)
        simulator = begun(domain, double, context)
        for _ in range(2):
            context = after(context, await simulator.call(GET, context), GET)
        return [(request.ordinal, request.seed, request.scope) for request in double.requests]

    one, again, other = await requests(1), await requests(1), await requests(2)
    assert one == again
    assert [number for number, _, _ in one] == [0, 1]
    assert len({seed for _, seed, _ in (*one, *other)}) == 4
    assert one[0][2] == context_of(domain, seed=1).scope
    assert [seed for _, seed, _ in await requests(1, "g")] == [seed for _, seed, _ in await requests(2, "g")]


async def test_a_slice_that_is_too_large_is_a_fault(folder: Path, model: Double) -> None:
    books = {f"b{i}": {"id": f"b{i}", "title": "t" * 1000, "copies": 1, "available": 1, "tags": []} for i in range(99)}
    (folder / "state.json").write_text(json.dumps({"books": books, "desk": {"main": {"closed": False}}}))
    tools = (folder / "tools.json").read_text()
    (folder / "tools.json").write_text(tools.replace('"reads": ["books/{book_id}"]', '"reads": ["books"]'))
    with pytest.raises(Fault, match="slice_too_large"):
        await answered(load_domain(folder), model, GET)
    assert model.requests == []


async def test_a_row_that_the_call_does_not_show_is_not_overwritten(domain: Domain, model: Double) -> None:
    taken = put("/loans/l1", {"id": "l1", "book_id": "b1", "member": "m1"}, "add")
    free = put("/loans/l2", {"id": "l2", "book_id": "b1", "member": "m1"}, "add")
    call = ToolCall("lend", {"book_id": "b1", "member_id": "m1"})
    transition = await answered(domain, model, call, ok("lent", taken), ok("lent", free))
    assert (transition.ops, transition.meta["route"]) == ((free,), "repaired")


@pytest.mark.parametrize(
    ("limits", "outcome"),
    [
        ("{}", "renamed"),
        ("{arguments: 20}", "invalid_arguments"),
        ("{slice: 10}", "slice_too_large"),
        ("{observation: 3}", "invalid_reply"),
        ("{operations: 1}", "invalid_reply"),
        ("{value: 3}", "invalid_reply"),
        ("{value: 1, arguments: 1, slice: 1}", "invalid_arguments"),
    ],
)
async def test_a_domain_sets_the_sizes(tmp_path: Path, limits: str, outcome: str) -> None:
    folder = write_domain(tmp_path / "sized")
    with (folder / "domain.yaml").open("a") as file:
        file.write(f"limits: {limits}\n")
    sea = put("/books/b1/title", "Sea")
    try:
        transition = await answered(load_domain(folder), Double(ok("renamed", sea, LAKE)), RENAME)
        got = transition.error_code or transition.observation
    except Fault as fault:
        got = fault.kind
    assert got == outcome


@pytest.mark.parametrize(
    ("world", "file", "text"),
    [
        (False, "domain.yaml", "opening: pages.py:breaks\n"),
        (False, "domain.yaml", "info: pages.py:breaks\n"),
        (True, "world.py", "\n    def info(self, state):\n        raise KeyError('pages')\n"),
    ],
)
async def test_a_bug_in_the_domains_own_functions_is_not_the_models(
    tmp_path: Path, model: Double, world: bool, file: str, text: str
) -> None:
    folder = write_domain(tmp_path / "broken", world=world)
    (folder / "pages.py").write_text("def breaks(*_):\n    raise KeyError('pages')\n")
    with (folder / file).open("a") as end:
        end.write(text)
    context = context_of(load_domain(folder))
    simulator = begun(load_domain(folder), model.say(ok("the sea")), context)
    for asked in [simulator.open(context)] + ([] if "opening" in text else [simulator.call(GET, context)]):
        with pytest.raises(Fault, match="raised KeyError: 'pages'") as caught:
            await asked
        assert (caught.value.kind, caught.value.role) == ("bug", "world")


ERRORS = [
    {"code": "no_book", "text": "There is no book {book_id}.", "when": "errors.py:no_book"},
    {"code": "lent", "text": "{/books/{book_id}/title} is lent.", "when": "errors.py:lent"},
    {"code": "banned", "text": "This member must not borrow."},
]
CONDITIONS = """
def no_book(state, arguments):
    return not state.has("books", arguments["book_id"])

def lent(state, arguments):
    return state.get("books", arguments["book_id"])["available"] == 0
"""


@pytest.mark.parametrize(
    ("book", "answers", "code", "asked"),
    [
        ("b9", [], "no_book", 0),
        ("b2", [], "lent", 0),
        ("b1", [failed("Error: no", "banned")], "banned", 1),
        ("b1", [failed("Error: no", "lent"), ok()], None, 2),
        ("b1", [failed("Error: no", "tired"), ok()], None, 2),
        ("b1", [ok()], None, 1),
    ],
)
async def test_code_answers_declared_errors_and_refuses_all_others(
    folder: Path, model: Double, book: str, answers: list[Any], code: str | None, asked: int
) -> None:
    tools = json.loads((folder / "tools.json").read_text())
    next(entry for entry in tools if entry["function"]["name"] == "lend")["x-simia"]["errors"] = ERRORS
    (folder / "tools.json").write_text(json.dumps(tools))
    (folder / "errors.py").write_text(CONDITIONS)
    domain = load_domain(folder)
    transition = await answered(domain, model, ToolCall("lend", {"book_id": book, "member_id": "m1"}), *answers)
    assert (transition.error_code, len(model.requests)) == (code, asked)
    if asked == 0:
        text = {"no_book": "Error: There is no book b9.", "lent": "Error: Hill is lent."}
        assert transition.observation == text[str(code)]
    if asked == 2:
        (told,) = blocks(model.asked[1][-1])
        assert "banned" in told.value[0]
