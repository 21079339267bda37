from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simia_gym.contracts import StepContext
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.domain.tasks import task_from_json, task_to_json
from simia_gym.errors import DomainError, Fault
from simia_gym.simulators.checking import REFERENCE_REPLY
from simia_gym.simulators.hybrid import HybridSimulator
from simia_gym.simulators.prefix import reference_messages
from simia_gym.simulators.reference import MAX_SAID, MAX_WRITTEN, ReferenceSimulator
from simia_gym.types import ToolCall, Transition

from .desk import GET, RENAME, Double, after, blocks, context_of, kinds, said

OTHER = ToolCall("get_book", {"book_id": "b2"})


def begun(domain: Domain, model: Any, context: StepContext, **options: Any) -> ReferenceSimulator:
    simulator = ReferenceSimulator(domain, model, **options)
    simulator.begin(context)
    return simulator


async def test_a_call_is_answered_and_no_state_is_kept(domain: Domain, model: Double) -> None:
    context = context_of(domain)
    transition = await begun(domain, model.say(said("renamed")), context).call(RENAME, context)
    assert (transition.observation, transition.ops, transition.state) == ("renamed", None, None)
    assert transition.meta == {"route": "llm"}
    system, user = model.asked[0]
    assert kinds(system) == ["domain", "task", "tools", "reference"]
    assert kinds(user) == ["call"]
    assert blocks(system)[1].value == {"id": "tidy", "digest": context.digest, "split": "train"}
    form = model.requests[0].reply
    assert form is not None
    assert form.schema is REFERENCE_REPLY.schema


async def test_the_reference_is_what_the_world_answered(domain: Domain, coded: Domain, model: Double) -> None:
    for played in (domain, coded):
        context = context_of(played)
        model.say(said())
        await begun(played, model, context).call(GET, context)
    bare, executed = (blocks(messages[0])[3].value for messages in model.asked)
    call = {"role": "assistant", "call": {"name": "get_book", "arguments": {"book_id": "b1"}}}
    assert bare == [{"role": "user", "content": "Tidy the desk."}, call]
    assert executed[:2] == bare
    assert executed[2]["role"] == "tool"
    assert json.loads(executed[2]["content"])["title"] == "Sea"


def test_a_trace_of_ones_own_takes_the_place_of_the_gold_calls(coded: Domain) -> None:
    trace = [
        {"role": "user", "content": "Tidy the desk, please."},
        {"role": "assistant", "tool_calls": [{"function": {"name": "get_book", "arguments": "{}"}}]},
        {"role": "tool", "content": "Sea"},
        {"role": "assistant", "content": "Done."},
    ]
    own = context_of(coded).task
    task = task_from_json({**task_to_json(own), "reference": trace}, "here")
    assert reference_messages(coded, task) == trace
    assert task_to_json(task)["reference"] == trace
    assert reference_messages(coded, own) != trace


@pytest.mark.parametrize("wrong", [{"role": "system", "content": "x"}, {"role": "user"}, {"content": "x"}])
def test_what_is_no_conversation_is_named(wrong: dict[str, Any]) -> None:
    value = {"id": "a", "split": "train", "kind": "k", "reference": [{"role": "user", "content": "Hi"}, wrong]}
    with pytest.raises(DomainError, match="is no message") as caught:
        task_from_json(value, "here")
    assert "reference[1]" in str(caught.value)


async def test_the_conversation_only_grows(domain: Domain, model: Double) -> None:
    context = context_of(domain)
    context.ledger.append("message", turn=0, speaker="user", text="Hello.", ops=[], meta={})
    model.say(said("sea"), said("hill"), said("sea"))
    simulator = begun(domain, model, context)
    context = after(context, await simulator.call(GET, context), GET)
    context = after(context, Transition("Yes.", speaker="user"), say="Shall I go on?")
    context = after(context, Transition("Fine.", speaker="user"), say="Really?")
    context = after(context, await simulator.call(OTHER, context), OTHER)
    await simulator.call(GET, context)
    first, second, third = model.asked
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    assert [kinds(message) for message in third] == [
        ["domain", "task", "tools", "reference"],
        ["said", "call"],
        ["answer"],
        ["said", "said", "call"],
        ["answer"],
        ["call"],
    ]
    assert blocks(third[1])[0].value == {"agent": "", "user": "Hello."}
    assert blocks(third[3])[1].value == {"agent": "Really?", "user": "Fine."}
    assert blocks(third[2])[0].value == said("sea")
    assert [event["ordinal"] for event in context.ledger.events if event["type"] == "model"] == [0, 1, 2]


async def test_what_code_answered_is_told_as_answered(coded: Domain, model: Double) -> None:
    context = context_of(coded)
    simulator = HybridSimulator(coded, ReferenceSimulator(coded, model), {})
    simulator.begin(context)
    model.say(said("poked"))
    unknown, poke = ToolCall("fly", {}), ToolCall("poke", {})
    context = after(context, await simulator.call(GET, context), GET)
    context = after(context, await simulator.call(unknown, context), unknown)
    context = after(context, await simulator.call(poke, context), poke)
    messages = model.asked[0]
    assert [kinds(message) for message in messages[1:]] == [["call"], ["answer"], ["call"], ["answer"], ["call"]]
    assert json.loads(blocks(messages[2])[0].value["observation"])["id"] == "b1"
    assert blocks(messages[4])[0].value["error_code"] == "unknown_tool"


@pytest.mark.parametrize(
    "wrong",
    [
        {**said("x"), "error_code": "bad"},
        {**said("x", code="Bad Code")},
        {**said("x", code="bad"), "done": True},
        said("x" * 50_000),
    ],
)
async def test_broken_answers_are_mended_once_or_a_fault(domain: Domain, model: Double, wrong: dict[str, Any]) -> None:
    context = context_of(domain)
    model.say(wrong, said("sea"), said("hill"))
    simulator = begun(domain, model, context)
    transition = await simulator.call(GET, context)
    assert transition.meta == {"route": "repaired"}
    context = after(context, transition, GET)
    await simulator.call(OTHER, context)
    assert [kinds(message) for message in model.asked[2][1:]] == [
        ["call"],
        ["answer"],
        ["violations"],
        ["answer"],
        ["call"],
    ]
    model.say(wrong, wrong)
    with pytest.raises(Fault, match="invalid_reply"):
        await simulator.call(GET, context)


async def test_a_stronger_model_is_asked_where_one_is_named(domain: Domain) -> None:
    wrong = {**said("x"), "error_code": "bad"}
    small, big = Double(wrong, wrong, said("hill")), Double(wrong, said("sea"))
    context = context_of(domain)
    simulator = begun(domain, small, context, escalation=big)
    transition = await simulator.call(GET, context)
    assert (transition.observation, transition.meta) == ("sea", {"route": "escalated"})
    context = after(context, transition, GET)
    transition = await simulator.call(OTHER, context)
    assert (transition.observation, transition.meta) == ("hill", {"route": "llm"})
    asked = [(event["purpose"], event["ordinal"]) for event in context.ledger.events if event["type"] == "model"]
    assert asked == [("answer", 0), ("repair", 1), ("escalation", 2), ("repair", 3), ("answer", 4)]
    # Of what was rejected, only what the stronger model said itself stays in the conversation.
    assert [kinds(message)[-1] for message in small.asked[2][1:]] == ["call", "answer", "violations", "answer", "call"]


@pytest.mark.parametrize(
    ("call", "end", "endless"),
    [
        (RENAME, "closed", None),
        (GET, None, None),  # what changes nothing ends nothing
        (ToolCall("think", {"thought": "all is done"}), None, None),
        (ToolCall("close", {}), "terminal_tool", "terminal_tool"),
    ],
)
async def test_done_counts_only_for_writes_where_the_domain_has_an_end(
    folder: Path, model: Double, call: ToolCall, end: str | None, endless: str | None
) -> None:
    model.say(said("closed", done=True))
    domain = load_domain(folder)
    context = context_of(domain)
    assert (await begun(domain, model, context).call(call, context)).end == end
    config = (folder / "domain.yaml").read_text()
    (folder / "domain.yaml").write_text(config[: config.index("ends:")])
    domain = load_domain(folder)
    context = context_of(domain)
    assert (await begun(domain, model, context).call(call, context)).end == endless


async def test_the_beginning_is_the_same_bytes_in_every_episode(domain: Domain, model: Double) -> None:
    model.say(said())
    for seed in (1, 2):
        context = context_of(domain, seed=seed)
        simulator = begun(domain, model, context)
        for call in (GET, OTHER):
            context = after(context, await simulator.call(call, context), call)
    assert len({request.prompt.chunks[0] for request in model.requests}) == 1
    for first, second in (model.requests[:2], model.requests[2:]):
        assert first.prompt.static == len(first.prompt.chunks[0])
        assert second.prompt.static == second.prompt.size - len(second.prompt.chunks[-1])  # all but the last message
    assert [request.ordinal for request in model.requests] == [0, 1, 0, 1]


async def test_a_flood_that_the_gate_refused_is_no_part_of_the_conversation(domain: Domain, model: Double) -> None:
    context = context_of(domain)
    simulator = begun(domain, model.say(said("sea")), context)
    flood = ToolCall("get_book", {"book_id": "x" * 90_000})
    for _ in range(5):
        context = after(context, await simulator.call(flood, context), flood)
    assert (await simulator.call(GET, context)).observation == "sea"
    assert len(json.dumps(model.asked[0])) < 20_000


async def test_who_writes_too_much_is_refused_and_not_masked(domain: Domain, model: Double) -> None:
    context = context_of(domain)
    simulator = begun(domain, model.say(said("renamed")), context)
    call = ToolCall("rename", {"book_id": "b1", "title": "x" * 9_000})
    outcomes: list[str | None] = []
    for _ in range(14):
        transition = await simulator.call(call, context)
        outcomes.append(transition.error_code)
        context = after(context, transition, call)
    allowed = MAX_WRITTEN // 9_050
    assert outcomes == [None] * allowed + ["too_much_text"] * (14 - allowed)
    assert len(model.asked) == allowed
    assert len(json.dumps(model.asked[-1])) < 2 * MAX_WRITTEN


async def test_long_words_are_read_in_part(domain: Domain, model: Double) -> None:
    context = context_of(domain)
    simulator = begun(domain, model.say(said()), context)
    context = after(context, Transition("Hm.", (), speaker="user"), say="first " + "x" * 50_000 + " last")
    await simulator.call(GET, context)
    (words,) = [item.value for item in blocks(model.asked[0][1]) if item.kind == "said"]
    assert words["agent"].startswith("first ")
    assert words["end"].endswith(" last")
    assert words["left_out"] == 50_011 - MAX_SAID
