"""A rubric with a judge: what goes to it, what stays with programs, and episodes whose simulator kept no state."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simia_gym.errors import Fault, InputError
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.record.verdict import from_json, to_json
from simia_gym.rewards import report
from simia_gym.rewards.judge.question import question_of
from simia_gym.rewards.outcome import OutcomeReward
from simia_gym.rewards.programs.state_checks import NO_STATE
from simia_gym.rewards.rubric import RubricReward
from simia_gym.types import JsonObject, Verdict

from .story import CANCEL, CONFIRMED, GOAL, Notes, Story, own

STATE: JsonObject = {"id": "state", "kind": "goal", "check": {"program": "goal_state", "ignore": ["/orders/*/note"]}}
TOLD: JsonObject = {"id": "told", "kind": "communication", "check": {"program": "says", "all": ["12.50"]}}
POLITE: JsonObject = {"id": "polite", "kind": "communication", "check": {"llm": "The agent was polite."}}
ITEMS = [STATE, TOLD, CONFIRMED]


def episode(*, stateless: bool = False) -> FinishedEpisode:
    it = Story().say("Cancel #W1 for $12.50?", "Yes.", ["confirm"])
    it.call("cancel_order", None if stateless else CANCEL, observation='{"status": "cancelled"}', order_id="#W1")
    it.say("Done, you get $12.50.", "Thank you.", end="user_stop")
    return replace(it.finished(goal=GOAL), ledger=it.ledger, digest="d")


def values(verdict: Verdict) -> dict[str, float | None]:
    assert from_json(to_json(verdict)) == verdict
    return {item.id: item.value for item in verdict.criteria}


# ---- who decides what


async def test_programs_come_first() -> None:
    judge = Notes()
    verdict = await RubricReward([*ITEMS, POLITE], judge=judge).score(episode())
    assert judge.ids == ["polite"]
    assert (verdict.reward, verdict.parts) == (1.0, {})
    assert [item.id for item in verdict.criteria] == ["state", "told", "confirmed", "polite"]
    assert (await RubricReward(ITEMS, judge=judge).score(episode())).reward == 1.0
    assert judge.ids == ["polite"]  # nothing is left to judge, so it is not asked again


@pytest.mark.parametrize(("said", "reward"), [(1.0, 1.0), (0.0, 0.0), (None, None)])
async def test_a_judge_decides_conduct_and_gates_then_with_a_hint_of_what_a_program_read(
    said: float | None, reward: float | None
) -> None:
    judge = Notes(said)
    item: JsonObject = {
        "id": "silent",
        "kind": "conduct",
        "says": "The agent names no amount.",
        "check": {"program": "not_says", "any": ["12.50"]},
    }
    verdict = await RubricReward([*ITEMS, item], judge=judge).score(episode())
    assert judge.ids == ["silent"]
    assert (verdict.reward, verdict.valid) == (reward, said is not None)
    (asked,) = judge.asked
    data = question_of(asked, episode()).data
    assert (data["kind"], data["question"]) == (
        "forbidden",
        "The agent names no amount. (The agent told the user none of the given texts.)",
    )
    hint = {"holds": False, "reason": "the user was told '12.50'", "quotes": ["Cancel #W1 for $12.50?"]}
    assert data["facts"] == {"arguments": {"any": ["12.50"]}, "hint": hint}
    assert values(verdict)["silent"] == said
    assert verdict.criteria[-1].kind == "forbidden"


async def test_the_judge_can_decide_everything_and_is_measured() -> None:
    judge = Notes(0.0)
    reward = RubricReward.for_domain([*ITEMS, POLITE], {}, judge=judge, judge_scope="all")
    verdict = await reward.score(episode())
    assert judge.ids == ["state", "told", "confirmed", "polite"]
    assert values(verdict) == {"state": 0.0, "told": 0.0, "confirmed": 0.0, "polite": 0.0}
    assert verdict.reward == 0.0
    assert verdict.parts == {"programs": {"state": 1.0, "told": 1.0, "confirmed": 1.0}}
    assert "programs" in report(verdict)


def test_a_scope_that_does_not_exist_is_refused() -> None:
    scope: Any = "some"
    with pytest.raises(InputError, match="judge_scope"):
        RubricReward(ITEMS, judge=Notes(), judge_scope=scope)


async def test_a_judge_that_forgets_a_criterion_is_a_fault() -> None:
    with pytest.raises(Fault, match="0 findings for 1"):
        await RubricReward([*ITEMS, POLITE], judge=Notes(forgets=True)).score(episode())


def test_the_published_rule_takes_no_judge() -> None:
    assert OutcomeReward.for_domain([], {}).io is False
    with pytest.raises(InputError, match="takes no judge"):
        OutcomeReward.for_domain([], {}, judge=Notes())


# ---- no state was kept


async def test_without_a_judge_such_an_episode_has_no_reward() -> None:
    verdict = await RubricReward(ITEMS).score(episode(stateless=True))
    assert (verdict.valid, verdict.reward, verdict.success) == (False, None, False)
    assert verdict.reason == f"criterion 'state': {NO_STATE}"
    assert values(verdict) == {"state": None, "told": 1.0, "confirmed": 1.0}


@pytest.mark.parametrize(("said", "reward"), [(1.0, 1.0), (0.0, 0.0), (None, None)])
async def test_the_judge_decides_what_needs_the_state_and_programs_the_rest(
    said: float | None, reward: float | None
) -> None:
    judge = Notes(said)
    finished = episode(stateless=True)
    verdict = await RubricReward([*ITEMS, POLITE], judge=judge).score(finished)
    assert judge.ids == ["state", "polite"]
    assert judge.seen == [finished]
    assert (verdict.reward, verdict.valid) == (reward, reward is not None)


async def test_a_forbidden_act_gates_without_any_state() -> None:
    it = Story().call("cancel_order", None, order_id="#W1").say("Done, $12.50.")
    verdict = await RubricReward(ITEMS, judge=Notes(1.0)).score(it.finished(goal=GOAL))
    assert (verdict.reward, verdict.valid) == (0.0, True)


async def test_a_task_without_a_goal_is_no_matter_for_the_judge() -> None:
    judge = Notes()
    finished = replace(episode(stateless=True), task=replace(episode().task, goal=None))
    verdict = await RubricReward(ITEMS, judge=judge).score(finished)
    assert judge.ids == []
    assert "states no goal" in verdict.reason


async def test_programs_that_look_at_the_state_are_noticed(folder: Path) -> None:
    items, judge = [own("sees_state"), own("sees_record")], Notes(0.0)
    assert (await RubricReward(items, folder=folder).score(episode())).reward == 1.0
    alone = await RubricReward(items, folder=folder).score(episode(stateless=True))
    assert values(alone) == {"sees_state": None, "sees_record": 1.0}
    assert (await RubricReward(items, folder=folder, judge=judge).score(episode(stateless=True))).valid
    assert judge.ids == ["sees_state"]


@pytest.mark.parametrize("name", ["graded", "refuses"])
@pytest.mark.parametrize("judge", [None, Notes()])
async def test_a_grade_of_the_state_is_not_given(folder: Path, name: str, judge: Notes | None) -> None:
    options = {"grade": f"own.py:{name}"}
    verdict = await RubricReward([CONFIRMED], options, folder=folder, judge=judge).score(episode(stateless=True))
    assert (verdict.valid, verdict.reward) == (False, None)
    assert verdict.reason.startswith(f"grade own.py:{name}: ")
    assert values(verdict) == {"confirmed": 1.0}


async def test_a_grade_of_the_record_is_given(folder: Path) -> None:
    options = {"grade": "own.py:by_record"}
    assert (await RubricReward([], options, folder=folder).score(episode(stateless=True))).reward == 0.5


async def test_with_a_state_such_a_fault_is_a_fault(folder: Path) -> None:
    with pytest.raises(Fault, match="I cannot see it"):
        await RubricReward([], {"grade": "own.py:refuses"}, folder=folder).score(episode())


# ---- criteria as questions


def question(item: JsonObject, finished: FinishedEpisode | None = None) -> Any:
    (read,) = RubricReward([item, own_goal()]).criteria((finished or episode()).task)[:1]
    return question_of(read, finished or episode())


def own_goal() -> JsonObject:
    return {"id": "needed", "kind": "goal", "check": {"program": "called", "tool": "cancel_order"}}


def test_the_goal_is_given_as_facts() -> None:
    asked = question(STATE)
    assert asked.data["facts"] == {"goal": [dict(GOAL[0])], "arguments": {"ignore": ["/orders/*/note"]}}
    assert "facts.goal" in asked.text
    assert (asked.burden, asked.trusted) == ("met", {"seen"})
    empty = replace(episode(), task=replace(episode().task, goal=()))  # that nothing changed needs no proof
    asked = question({**STATE, "check": {"program": "goal_state"}}, empty)
    assert (asked.data["facts"], asked.burden) == ({"goal": []}, "not_met")


@pytest.mark.parametrize(
    ("item", "burden", "trusted"),
    [
        (TOLD, "met", {"said", "heard", "seen"}),
        (CONFIRMED, "not_met", {"said", "called", "heard", "seen"}),
        (POLITE, "met", {"said", "heard", "seen"}),
        ({**POLITE, "kind": "interaction"}, "met", {"heard", "seen"}),
        ({**POLITE, "kind": "forbidden"}, "not_met", {"said", "called", "heard", "seen"}),
        ({"id": "x", "kind": "communication", "check": {"program": "not_says", "any": ["a"]}}, "not_met", None),
        ({"id": "x", "kind": "goal", "check": {"program": "unchanged"}}, "not_met", None),
        ({"id": "x", "kind": "goal", "check": {"program": "state_is", "path": "/a/b", "value": 1}}, "met", {"seen"}),
    ],
)
def test_who_must_prove_what(item: JsonObject, burden: str, trusted: set[str] | None) -> None:
    asked = question(item)
    assert asked.burden == burden
    assert trusted is None or asked.trusted == trusted


def test_a_programs_question_is_what_it_says() -> None:
    asked = question({**TOLD, "says": "The customer hears the amount."})
    assert asked.text.startswith("The customer hears the amount. (The agent told the user")
    assert asked.data["facts"] == {"arguments": {"all": ["12.50"]}}
    told = question({**POLITE, "check": {"llm": {"question": "Kind?", "limit": 3}}})
    assert told.data == {"id": "polite", "kind": "communication", "question": "Kind?", "facts": {"limit": 3}}
    gold = replace(episode(), task=replace(episode().task, gold=({"name": "cancel_order", "arguments": {}},)))
    asked = question({"id": "g", "kind": "forbidden", "check": {"program": "gold_writes"}}, gold)
    assert asked.data["facts"]["gold"] == [{"name": "cancel_order", "arguments": {}}]
