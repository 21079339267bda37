from __future__ import annotations

from dataclasses import replace

import pytest

from simia_gym.assembly.suite import Suite
from simia_gym.envs.webshop.catalogue.requests import fixed_tasks
from simia_gym.envs.webshop.grade import grade
from simia_gym.errors import Fault
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.finding import stands_in
from simia_gym.types import Task

from ..proof.stage import played, take


@pytest.fixture(scope="module")
def task() -> Task:
    return next(task for task in fixed_tasks("train") if task.kind == "everything")


def bought(task: Task, *, leave_out: int = 0) -> list[str]:
    """The gold actions, some of the options left out."""
    actions = [f"{call['name']}[{next(iter(call['arguments'].values()))}]" for call in task.gold]
    return actions[: len(actions) - 1 - leave_out] + actions[-1:]


async def test_every_point_has_evidence_in_the_record(suite: Suite, task: Task) -> None:
    episode = await take(suite, task, bought(task))
    verdict = episode.verdict
    assert verdict is not None
    assert (verdict.reward, verdict.success, verdict.valid, episode.ended) == (1.0, True, True, "purchase")
    goal = task.options["goal"]
    wanted = [f"attribute: {phrase}" for phrase in goal["attributes"]]
    wanted += [*(f"option: {value}" for value in goal["goal_options"]), "price"]
    by_id = {item.id: item for item in verdict.criteria}
    assert set(wanted) | {"type"} <= set(by_id)
    for name in [*wanted, "type"]:
        assert by_id[name].passed
        assert by_id[name].reason
        assert by_id[name].evidence
        for piece in by_id[name].evidence:
            assert stands_in(episode.ledger.events[piece.event], piece.quote)
    assert verdict.parts["r_type"] == verdict.parts["r_att"] == verdict.parts["r_option"] == 1.0
    assert verdict.parts["w_att"] + verdict.parts["w_option"] + verdict.parts["w_price"] == pytest.approx(1.0)
    assert verdict.parts["bought"] == goal["asin"]


async def test_what_is_missing_is_named(suite: Suite, task: Task) -> None:
    verdict = (await take(suite, task, bought(task, leave_out=1))).verdict
    assert verdict is not None
    total = len(task.options["goal"]["attributes"]) + len(task.options["goal"]["goal_options"]) + 1
    assert verdict.score == verdict.reward == pytest.approx((total - 1) / total)
    assert not verdict.success
    missed = [item.id for item in verdict.criteria if item.passed is False and item.weight]
    assert missed == [f"option: {task.options['goal']['goal_options'][-1]}"]


async def test_the_type_factor_weighs_on_every_part(suite: Suite, task: Task) -> None:
    strange = replace(task, options={"goal": {**task.options["goal"], "name": "Qwertz Asdf"}})
    verdict = (await take(suite, strange, bought(task))).verdict
    assert verdict is not None
    assert (verdict.reward, verdict.parts["r_type"]) == (0.0, 0.0)
    assert all(item.value == 0.0 for item in verdict.criteria if item.weight)


async def test_no_purchase_no_reward(suite: Suite, task: Task) -> None:
    episode = await take(suite, task, ["click[search]"] * suite.domain.config.max_turns)
    verdict = episode.verdict
    assert verdict is not None
    assert (episode.ended, verdict.valid, verdict.reward) == ("turn_limit", True, 0.0)
    assert verdict.parts == {"bought": None}
    assert not any(item.passed for item in verdict.criteria)


async def test_without_a_state_there_is_no_grade(suite: Suite, task: Task) -> None:
    episode = await take(suite, task, bought(task))
    events = [{**event, "ops": None} if event["type"] == "transition" else event for event in episode.ledger.events]
    finished = FinishedEpisode(task, events, episode.initial, episode.state, "purchase", 5)
    with pytest.raises(Fault, match="kept no state"):
        grade(finished)


def test_expert_falls_back_to_the_best_that_it_saw(suite: Suite) -> None:
    """A request that nothing meets: it still buys, within the turns."""
    for task in suite.tasks[:40]:
        text = str(task.instruction).replace(" should be ", " should be made on the moon, ")
        text = text.replace(" should have ", " should have lunar dust, ")
        strange = replace(task, instruction=text, setup=({**task.setup[0], "value": text},))
        episode = played(suite, strange)
        assert episode.ended == "purchase"
        assert episode.verdict is not None
        assert (episode.verdict.reward or 0) > 0
