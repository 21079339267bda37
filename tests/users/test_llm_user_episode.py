"""Whole episodes with a customer that a model plays: its yes counts, and what it keeps to itself stays there."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from simia_gym.common.json_encoding import texts_in
from simia_gym.types import JsonObject

from ..attacks.test_hostile_models import played
from ..model_server import Asked
from ..retail.play import generator, suite
from ..simulators.desk import failed, tool_call
from .test_llm_user import says

POLITE: JsonObject = {"id": "polite", "kind": "communication", "check": {"llm": "The agent was polite."}}
DOMAIN = suite().domain
TASK = next(
    task
    for task in (generator().make(f"cancel{seed}", "train", seed, "cancel") for seed in range(1, 99))
    if task.user and "email" in task.user["facts"] and len(task.user["requests"]) == 1 and task.gold
)
"""A customer who knows an e-mail address and wants an order cancelled."""


@pytest.mark.parametrize("confirms", [True, False])
async def test_its_yes_is_what_the_rubric_sees(confirms: bool) -> None:
    assert TASK.user is not None
    email = TASK.user["facts"]["email"]["values"][0]
    (gold,) = [item for item in TASK.gold if item["name"] == "cancel_pending_order"]
    lines = iter(
        [
            says("Hi, please cancel my order."),
            says(email),
            says("Yes, go ahead." if confirms else "That is my order.", confirms=confirms),
            says("Thanks, bye.", stop=True),
        ]
    )
    actions = (
        "Your e-mail?",
        tool_call("find_user_id_by_email", email=email),
        f"Shall I cancel {gold['arguments']['order_id']}?",
        tool_call(gold["name"], **gold["arguments"]),
        "It is cancelled.",
    )
    episode, _ = await played(actions, lambda asked: next(lines), TASK, simulator="world", user="llm")
    assert not episode.inline
    assert episode.ledger.events[0]["user"] == "llm"
    assert episode.verdict is not None
    assert episode.ended == "user_stop"
    passed = {item.id: item.passed for item in episode.verdict.criteria}
    assert passed["goal"] is True
    assert passed["confirmed"] is confirms
    assert not any(table == "_user" for table, _ in episode.state.touched_since(episode.initial))
    assert [event["type"] for event in episode.ledger.events].count("model") == 4


async def test_what_it_was_not_asked_for_reaches_nobody() -> None:
    assert TASK.user is not None

    def answer(asked: Asked) -> JsonObject:
        if asked.has("customer"):
            return says(f"I'd rather not say, for the {len(asked.messages)}th time.")
        if asked.has("criterion"):
            kept = asked.value("criterion")["kind"] == "forbidden"  # which needs no evidence
            return {"verdict": "met" if kept else "not_met", "reason": "r", "evidence": []}
        return failed("Error: User not found", "not_found")

    actions = ["What do you want?", tool_call("find_user_id_by_email", email="nobody@example.com"), "Who are you?"]
    task = replace(TASK, criteria=(*TASK.criteria, POLITE))
    models = {"simulator": "llm", "user": "llm", "judge": "llm"}
    episode, asked = await played(actions, answer, task, **models, max_turns=3)
    assert episode.verdict is not None
    assert episode.verdict.valid
    told = [each for each in asked if each.has("customer")]
    others = [each for each in asked if not each.has("customer")]
    assert len(told) == 3
    assert {"simulator", "judge"} == {"judge" if each.has("criterion") else "simulator" for each in others}
    private = {text for text in texts_in(TASK.user) if len(text) > 8 and text not in DOMAIN.policy}
    private -= {name for name in private if name in DOMAIN.specs}
    assert TASK.user["facts"]["email"]["values"][0] in private
    seen = [json.dumps(each.body, ensure_ascii=False) for each in others]
    seen.append(json.dumps(episode.messages, ensure_ascii=False))
    assert TASK.user["facts"]["email"]["say"][0] in told[0].value("customer")
    for text in private:
        assert not any(text in body for body in seen)
