from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simia_gym.errors import DomainError, Fault
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.record.verdict import from_json, to_json
from simia_gym.rewards import report
from simia_gym.rewards.criteria import load_items, read_criterion
from simia_gym.rewards.outcome import OutcomeReward
from simia_gym.rewards.rubric import RubricReward
from simia_gym.types import Evidence, JsonObject, Task, Verdict

from .story import CONFIRMED, GOAL, TOOLS, Notes, Story, op, own

STATE: JsonObject = {"id": "state", "kind": "goal", "weight": 2, "check": {"program": "goal_state"}}
TOLD: JsonObject = {
    "id": "told",
    "kind": "communication",
    "weight": None,
    "check": {"program": "says", "all": ["12.50"]},
}
FORM: JsonObject = {"id": "form", "kind": "format", "weight": 1, "check": {"program": "no_errors"}}
JUDGED: JsonObject = {"id": "polite", "kind": "communication", "check": {"llm": "Was the agent polite?"}}
ITEMS = [STATE, TOLD, CONFIRMED, FORM]


def good() -> Story:
    return Story().say("Cancel #W1 for $12.50?", "Yes.", ["confirm"]).cancel().say("Done.", "Bye", end="user_stop")


async def score(finished: FinishedEpisode, items: list[Any] | None = None, **options: Any) -> Verdict:
    verdict = await RubricReward(ITEMS if items is None else items, options).score(finished)
    assert from_json(to_json(verdict)) == verdict
    for item in verdict.criteria:
        for piece in item.evidence:
            assert piece.quote
    return verdict


def passed(verdict: Verdict) -> dict[str, bool | None]:
    return {item.id: item.passed for item in verdict.criteria}


# ---- the number


SILENT = Story().say("Cancel #W1?", "Yes.", ["confirm"]).cancel().finished(goal=GOAL)
FORBIDDEN = Story().cancel().say("You get $12.50.").finished(goal=GOAL)


@pytest.mark.parametrize(
    ("finished", "value", "reward", "points", "failed"),
    [
        (good().finished(goal=GOAL), "strict", 1.0, 1.0, []),
        (SILENT, "strict", 0.0, 0.75, ["told"]),
        (SILENT, "weighted", 0.75, 0.75, ["told"]),
        (good().malformed().finished(goal=GOAL), "strict", 1.0, 0.75, ["form"]),  # not required, so it costs score only
        (FORBIDDEN, "strict", 0.0, 0.0, ["confirmed"]),
        (FORBIDDEN, "weighted", 0.0, 0.0, ["confirmed"]),
        (Story().say("Hm").finished("turn_limit", goal=GOAL), "strict", 0.0, 0.25, ["state", "told"]),
    ],
)
async def test_reward_and_score(
    finished: FinishedEpisode, value: str, reward: float, points: float, failed: list[str]
) -> None:
    verdict = await score(finished, value=value)
    assert (verdict.reward, verdict.score, verdict.valid) == (reward, points, True)
    assert verdict.success == (failed in ([], ["form"]))
    assert [name for name, met in passed(verdict).items() if not met] == failed
    assert verdict.basis == f"rubric:{value}"


async def test_lazy_agents_fail_a_task_that_must_be_refused() -> None:
    items: list[JsonObject] = [
        STATE,
        {"id": "refused", "kind": "communication", "check": {"program": "refused", "about": "cancel"}},
        {"id": "no_writes", "kind": "forbidden", "check": {"program": "no_writes", "attempts": True}},
    ]
    told = "I can't cancel it, it was delivered."
    undone = Story().cancel().call("undeclared", [op("/orders/#W1/status", "pending")]).say(told)
    lazy = [Story(), Story().malformed("empty_action"), Story().say("Done, I have cancelled it."), undone]
    for story in (*lazy, Story().call("cancel_order", error="not_pending").say(told)):
        assert (await score(story.finished(goal=()), items)).reward == 0.0
    assert (await score(Story().say(told).finished(goal=()), items)).reward == 1.0


CONDUCT: JsonObject = {"id": "honest", "kind": "conduct", "check": {"program": "not_claimed"}}


@pytest.mark.parametrize("value", ["strict", "weighted"])
async def test_conduct_is_reported_outside_the_reward(value: str) -> None:
    lie = Story().say("I have cancelled it. Cancel #W1?", "Yes.", ["confirm"]).cancel().say("You get $12.50.")
    verdict = await score(lie.finished(goal=GOAL), [*ITEMS, CONDUCT], value=value)
    assert (verdict.reward, verdict.score, verdict.success, verdict.valid) == (1.0, 1.0, True, True)
    assert passed(verdict)["honest"] is False
    assert "~ honest     [conduct]  in turn 1 the agent claimed to have done it\n" in report(verdict)
    assert "I have cancelled it." in report(verdict)
    honest = await score(good().finished(goal=GOAL), [*ITEMS, CONDUCT])
    assert "+ honest     [conduct]" in report(honest)


def test_conduct_alone_is_nothing_to_be_rewarded_for() -> None:
    with pytest.raises(DomainError, match="requires nothing"):
        RubricReward([CONDUCT]).criteria(task())


# ---- what cannot be judged


async def test_without_a_judge_the_verdict_is_invalid() -> None:
    for finished in (good().finished(goal=GOAL), Story().finished(goal=GOAL)):
        verdict = await score(finished, [*ITEMS, JUDGED])
        assert (verdict.reward, verdict.valid, verdict.success, verdict.score) == (None, False, False, None)
        assert "'polite'" in verdict.reason
        assert "polite" in report(verdict)
        assert passed(verdict)["polite"] is None


async def test_conduct_that_only_a_judge_can_read_waits_for_one() -> None:
    item = {"id": "kind", "kind": "conduct", "check": {"llm": "The agent was kind."}}
    verdict = await score(good().finished(goal=GOAL), [*ITEMS, item])
    assert (verdict.reward, verdict.valid, passed(verdict)["kind"]) == (1.0, True, None)


async def test_what_does_not_matter_need_not_be_judged() -> None:
    verdict = await score(good().finished(goal=GOAL), [*ITEMS, {**JUDGED, "required": False, "weight": 0}])
    assert (verdict.reward, verdict.valid) == (1.0, True)
    assert passed(verdict)["polite"] is None
    for item in ({**JUDGED, "required": False}, {**JUDGED, "weight": 0}, {**JUDGED, "kind": "forbidden"}):
        assert not (await score(good().finished(goal=GOAL), [*ITEMS, item])).valid


async def test_a_judge_that_invents_its_evidence_is_a_fault() -> None:
    judge = Notes(1.0, Evidence(3, "words that nobody said"))
    with pytest.raises(Fault, match=r"'polite'.*event 3") as caught:
        await RubricReward([*ITEMS, JUDGED], judge=judge).score(good().finished(goal=GOAL))
    assert (caught.value.kind, caught.value.role) == ("evidence", "judge")


# ---- programs of one's own


async def test_programs_of_ones_own(folder: Path) -> None:
    finished = Story().say("Hello").finished()
    short = RubricReward([own("short", turns=1)], folder=folder)
    assert (await short.score(finished)).reward == 1.0
    some = RubricReward([own("any_args", value=0.25)], {"value": "weighted"}, folder=folder)
    assert (await some.score(finished)).reward == 0.25
    slow = RubricReward([own("waits")], {"value": "weighted"}, folder=folder)
    assert slow.io
    assert (await slow.score(finished)).reward == 0.5
    alone = replace(finished.task, criteria=(own("waits"),))
    assert [problem.fix for problem in some.problems(alone) if "async" in problem.what]
    with pytest.raises(DomainError, match=r"short.*check\.turns"):
        RubricReward([own("short")], folder=folder)


@pytest.mark.parametrize(
    ("check", "grade", "words"),
    [
        (own("broken"), None, "'broken'.*own.py:broken.*ZeroDivisionError"),
        (own("invents"), None, "'invents'.*'nowhere'.*event 0"),
        (own("beyond"), None, "event 99"),
        (own("number"), None, "'number': 1.0"),
        *((own("any_args", value=value), None, "from 0 to 1") for value in (7, -1, float("nan"), "1")),
        (CONFIRMED, "made_up", "'price'.*'nowhere'.*event 0"),
        (CONFIRMED, "too_much", "own.py:too_much"),
    ],
)
async def test_a_broken_program_or_grade_is_a_fault_and_no_zero(
    folder: Path, check: JsonObject, grade: str | None, words: str
) -> None:
    options = {} if grade is None else {"grade": f"own.py:{grade}"}
    with pytest.raises(Fault, match=words) as caught:
        await RubricReward([check], options, folder=folder).score(Story().finished())
    assert caught.value.role == "judge"


async def test_a_misspelt_tool_never_passes_silently() -> None:
    item = {"id": "no_transfer", "kind": "forbidden", "check": {"program": "not_called", "tool": "trasnfer"}}
    reward = RubricReward([STATE, item])
    with pytest.raises(Fault, match="trasnfer"):
        await reward.score(Story().finished())
    (problem,) = reward.problems(Story().finished().task, TOOLS)
    assert "trasnfer" in str(problem)
    assert "transfer" in problem.fix


# ---- grades


async def test_a_grade_is_the_reward_unless_something_forbidden_happened(folder: Path) -> None:
    options = {"grade": "own.py:half", "name": "shop"}
    verdict = await RubricReward([CONFIRMED], options, folder=folder).score(good().finished())
    assert (verdict.reward, verdict.success, verdict.parts) == (0.5, False, {"attributes": 0.5})
    assert verdict.basis == "grade:shop (success: 1)"
    assert passed(verdict) == {"confirmed": True, "grade": False}
    assert "Half of it." in report(verdict)
    gated = await RubricReward([CONFIRMED], options, folder=folder).score(Story().cancel().finished())
    assert (gated.reward, gated.score, gated.valid) == (0.0, 0.0, True)
    full = await RubricReward([], {"grade": "own.py:full"}, folder=folder).score(Story().finished())
    assert (full.reward, full.success) == (1.0, True)


# ---- a task's own criteria


async def test_a_tasks_own_criteria() -> None:
    override: JsonObject = {"id": "told", "check": {"program": "says", "all": ["Done"]}}
    verdict = await score(good().finished(goal=GOAL, criteria=[override, {"id": "form", "drop": True}]))
    assert passed(verdict) == {"state": True, "told": True, "confirmed": True}
    assert verdict.criteria[1].kind == "communication"
    more: JsonObject = {"id": "twice", "kind": "goal", "check": {"program": "called", "tool": "cancel_order", "min": 2}}
    assert (await score(good().finished(goal=GOAL, criteria=[more]))).reward == 0.0


def task(*criteria: JsonObject, goal: Any = ()) -> Task:
    return Task("t7", "train", "cancel", goal=goal, criteria=tuple(criteria))


# ---- mistakes


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ("text", ["'text'"]),
        ({}, ["id:"]),
        ({"id": 3}, ["id:"]),
        ({**STATE, "wieght": 1}, ["'state'", "wieght", "weight"]),
        ({**STATE, "kind": "gaol"}, ["'state'", "kind", "gaol"]),
        ({"id": "x", "check": {"program": "goal_state"}}, ["'x'", "kind"]),
        ({**STATE, "weight": -1}, ["'state'", "weight", "-1"]),
        ({**STATE, "weight": "much"}, ["weight", "much"]),
        ({**STATE, "weight": True}, ["weight"]),
        ({**STATE, "weight": float("nan")}, ["weight"]),
        ({**STATE, "required": "yes"}, ["required"]),
        ({**STATE, "says": 3}, ["says"]),
        ({**STATE, "check": "goal_state"}, ["check", "program"]),
        ({**STATE, "check": {"program": "says", "llm": "x"}}, ["check", "program", "llm"]),
        ({**STATE, "check": {"program": "goal_stat"}}, ["goal_stat", "'goal_state'", "confirmed_writes"]),
        ({**STATE, "check": {"program": "no_such.module:check"}}, ["'state'", "no_such"]),
        ({**STATE, "check": {"program": "own.py:NOT_A_FUNCTION"}}, ["NOT_A_FUNCTION"]),
        ({**STATE, "check": {"program": "own.py:unknown_type"}}, ["unknown_type", "NoSuchType"]),
        ({**STATE, "check": {"program": "own.py:one_argument"}}, ["one_argument"]),
        ({**STATE, "check": {"program": "goal_state", "ignroe": "x"}}, ["check.ignroe", "tolerance, ignore"]),
        ({**STATE, "check": {"program": "called"}}, ["check.tool"]),
        ({**STATE, "check": {"program": "called", "tool": "x", "min": -1}}, ["check.min", "-1"]),
        ({**STATE, "check": {"program": "says"}}, ["check", "`all` or `any`"]),
        ({**STATE, "check": {"program": "says", "all": [True]}}, ["check.all"]),
        ({**STATE, "check": {"program": "says", "all": [" "]}}, ["check.all"]),
        ({**STATE, "check": {"program": "says", "all": ["x"], "mode": "loose"}}, ["check.mode", "loose"]),
        ({**STATE, "check": {"program": "called_before", "tool": "x"}}, ["check", "`before`"]),
        ({**STATE, "check": {"llm": ""}}, ["check", "llm"]),
        ({**CONFIRMED, "weight": 1}, ["'confirmed'", "weight"]),
        ({**CONFIRMED, "required": False}, ["'confirmed'", "required"]),
        ({**STATE, "drop": True}, ["drop"]),
    ],
)
def test_mistakes_in_a_rubric(folder: Path, item: Any, words: list[str]) -> None:
    with pytest.raises(DomainError) as caught:
        RubricReward([TOLD, item], folder=folder, where="shop/rubric.yaml")
    text = str(caught.value)
    assert text.startswith("shop/rubric.yaml: ")
    assert "\n" not in text
    assert all(word in text for word in words), text


def test_every_mistake_is_found_at_once() -> None:
    with pytest.raises(DomainError) as caught:
        RubricReward([{**STATE, "kind": "x"}, {**TOLD, "check": {"program": "says", "a": 1, "b": 2}}, FORM])
    assert len(caught.value.problems) == 3
    with pytest.raises(DomainError, match="'state'"):
        RubricReward([STATE, STATE])


@pytest.mark.parametrize(
    ("criteria", "words"),
    [
        ([{"id": "nope", "drop": True}], ["'t7'", "'nope'"]),
        ([{"id": "new", "check": {"program": "goal_state"}}], ["'t7'", "'new'", "kind"]),
        ([{"id": "told", "check": {"program": "says"}}], ["'t7'", "'told'"]),
        ([{"id": "a", "drop": 0}, {"id": "a"}], ["'t7'", "'a'"]),
        ([{"id": "state", "drop": True}, {"id": "told", "drop": True}], ["'t7'"]),
    ],
)
def test_mistakes_in_a_tasks_criteria(criteria: list[JsonObject], words: list[str]) -> None:
    text = " ".join(map(str, RubricReward(ITEMS).problems(task(*criteria))))
    assert all(word in text for word in words), text


async def test_mistakes_that_are_found_only_while_scoring_are_faults() -> None:
    with pytest.raises(Fault, match="drop"):
        await score(Story().finished(criteria=[{"id": "nope", "drop": True}]))


def test_problems_of_a_task() -> None:
    reward = RubricReward(ITEMS)
    assert reward.problems(task(), TOOLS) == []
    (no_goal,) = reward.problems(task(goal=None), TOOLS)
    assert "t7" in str(no_goal)
    (bad_goal,) = reward.problems(task(goal=({"op": "add", "path": "/a/b", "value": 1},)))
    assert "t7" in str(bad_goal)


def test_pointers_of_a_check_may_have_patterns_and_lead_into_private_tables() -> None:
    check = {"program": "unchanged", "tables": ["orders"], "ignore": ["/ord*/#W1", "/*/x", "/_clock/main"]}
    reward = RubricReward([*ITEMS, {"id": "quiet", "kind": "goal", "check": check}])
    assert reward.problems(task(), TOOLS, ["orders", "users"]) == []
    assert [problem.what for problem in reward.problems(task(), TOOLS, ["users"])] == [
        "check: 'orders' names no table",
        "check: '/ord*/#W1' names no table",
    ]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"valeu": "strict"}, "valeu"),
        ({"value": "loose"}, "value"),
        ({"grade": "no_such.module:grade"}, "no_such"),
        ({"grade": "own.py:NOT_A_FUNCTION"}, "NOT_A_FUNCTION"),
    ],
)
def test_mistakes_in_the_options(folder: Path, options: Mapping[str, Any], word: str) -> None:
    with pytest.raises(DomainError, match=word):
        RubricReward.for_domain(ITEMS, options, folder=folder, where="rubric.yaml")


def test_a_rubric_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rubric.yaml"
    path.write_text("- {id: told, kind: communication, check: {program: says, all: [12.50, 7]}}\n", encoding="utf-8")
    (item,) = RubricReward.for_domain(load_items(path), {}, folder=tmp_path, where=str(path)).rubric.criteria
    assert item.required
    assert item.check == read_criterion({**TOLD, "check": {"program": "says", "all": ["12.5", "7"]}}).check
    path.write_text("id: told\n", encoding="utf-8")
    with pytest.raises(DomainError, match="not a list"):
        load_items(path)


# ---- the published outcome


@pytest.mark.parametrize(
    ("said", "cancelled", "ended", "reward"),
    [
        ("It was 12.50.", True, "user_stop", 1.0),
        ("It was 12.", True, "user_stop", 0.0),
        ("It was 12.50.", False, "user_stop", 0.0),
        ("It was 12.50.", True, "turn_limit", 0.0),
        ("It was 12.50.", True, "token_limit", 0.0),
    ],
)
async def test_the_published_outcome(said: str, cancelled: bool, ended: str, reward: float) -> None:
    story = Story().say(said)
    finished = (story.cancel() if cancelled else story).finished(
        ended, goal=GOAL, options={"communicate_info": ["12.50"]}
    )
    verdict = await OutcomeReward.for_domain(ITEMS, {"value": "weighted"}).score(finished)
    assert (verdict.reward, verdict.valid, verdict.basis) == (reward, True, "tau2:db*communicate")
    assert from_json(to_json(verdict)) == verdict


async def test_the_published_outcome_needs_state_and_goal() -> None:
    told = await OutcomeReward().score(Story().finished(goal=()))
    assert (told.reward, told.parts) == (1.0, {"database": 1.0, "communicate": 1.0})
    for finished in (Story().finished(goal=None), Story().call("get_order", None).finished(goal=())):
        assert not (await OutcomeReward().score(finished)).valid
