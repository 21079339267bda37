"""Whole episodes with a customer that a model plays: its yes counts, and what it keeps to itself stays there."""

from __future__ import annotations

import json

import pytest

from simia_gym.domain.world import WorldSimulator
from simia_gym.episode import Episode
from simia_gym.rewards.judge.judge import LLMJudge
from simia_gym.rewards.rubric import RubricReward
from simia_gym.simulators.checked import CheckedSimulator
from simia_gym.types import JsonObject, Step
from simia_gym.users.llm import LLMUser

from ..cheats.making import strings
from ..model_server import Asked, serving
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
            says("Hi, please cancel my order.", confirms=True),  # nothing was proposed yet
            says(email),
            says("Yes, go ahead.", confirms=confirms),
            says("Thanks, bye.", stop=True),
        ]
    )
    async with serving(lambda asked: next(lines)) as server:
        assert DOMAIN.world is not None
        episode = Episode(
            DOMAIN,
            simulator=WorldSimulator(DOMAIN.world),
            user=LLMUser(DOMAIN, server.model("user")),
            reward=DOMAIN.make_reward(),
        )
        assert not episode.inline
        start = await episode.reset(TASK, seed=3)
        assert start.info["user"] == "llm"
        actions = (
            "Your e-mail?",
            tool_call("find_user_id_by_email", email=email),
            f"Shall I cancel {gold['arguments']['order_id']}?",
        )
        for action in (*actions, tool_call(gold["name"], **gold["arguments"])):
            step: Step = await episode.step(action)
        step = await episode.step("It is cancelled.")
    assert step.verdict is not None
    assert step.info["ended"] == "user_stop"
    passed = {item.id: item.passed for item in step.verdict.criteria}
    assert passed["goal"] is True
    assert passed["confirmed"] is confirms
    assert not any(table == "_user" for table, _ in episode.state.touched_since(episode.initial))
    assert [event["type"] for event in episode.ledger.events].count("model") == 4


async def test_what_it_was_not_asked_for_reaches_nobody() -> None:
    assert TASK.user is not None

    def answer(asked: Asked) -> JsonObject:
        if asked.has("customer"):
            return says("I'd rather not say.")
        if asked.has("criterion"):
            return {"verdict": "not_met", "reason": "r", "evidence": []}
        return failed("Error: User not found", "not_found")

    async with serving(answer) as server:
        simulator = CheckedSimulator(DOMAIN, server.model("simulator"))
        judge = LLMJudge(DOMAIN, server.model("judge"))
        reward = RubricReward([*DOMAIN.rubric, POLITE], folder=DOMAIN.folder, judge=judge)
        user = LLMUser(DOMAIN, server.model("user"))
        episode = Episode(DOMAIN, simulator=simulator, user=user, reward=reward, max_turns=3)
        await episode.reset(TASK, seed=3)
        await episode.step("What do you want?")
        await episode.step(tool_call("find_user_id_by_email", email="nobody@example.com"))
        step = await episode.step("Who are you?")
    assert step.verdict is not None
    assert step.verdict.valid
    told = [asked for asked in server.asked if asked.has("customer")]
    others = [asked for asked in server.asked if not asked.has("customer")]
    assert len(told) == 3
    assert {"simulator", "judge"} == {"judge" if asked.has("criterion") else "simulator" for asked in others}
    private = {text for text in strings(TASK.user) if len(text) > 8 and text not in DOMAIN.policy}
    private -= {name for name in private if name in DOMAIN.specs}
    assert TASK.user["facts"]["email"]["values"][0] in private
    seen = [json.dumps(asked.body, ensure_ascii=False) for asked in others]
    seen.append(json.dumps(episode.messages, ensure_ascii=False))
    for text in private:
        assert json.dumps(text, ensure_ascii=False)[1:-1] in json.dumps(told[0].value("customer"), ensure_ascii=False)
        assert not any(text in body for body in seen)
