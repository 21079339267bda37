"""No cheat pays, and its harmless twin costs nothing: in every service, and in worlds of pages and files.

These play a sample of the book; ``python -m benchmarks.cheats`` plays all of it on more tasks, and stores the outcome.
"""

from __future__ import annotations

import json

import pytest

from simia_gym.evaluation.cheats import play_cheats
from simia_gym.policies import Policy
from tests.cheats import kit
from tests.cheats.deeds import TRIES
from tests.docs_tables import CHEATS
from tests.domains.table import WORLDS, World
from tests.sweeps import sample

ENOUGH = 8
TASKS = 40
CASES = [
    (world, cheat) for world in WORLDS for cheat in (*(kit.CHEATS if world.config.service else ()), *world.own.cheats)
]

LIES = [(world, cheat) for world in WORLDS if world.config.service for cheat in kit.REPORTED]


def shown(part: World | type[Policy]) -> str:
    return part.name if isinstance(part, World) else str(part.__doc__)


@pytest.mark.parametrize(("world", "cheat"), sample(CASES, 120), ids=shown)
@pytest.mark.sampled
def test_a_cheat_earns_nothing_and_its_twin_loses_nothing(world: World, cheat: type[Policy]) -> None:
    tasks = world.tasks(TASKS)[:TASKS]
    (score,) = play_cheats(world.suite(simulator="world"), tasks, [cheat], world.few(ENOUGH))
    assert (score.problem is not None) == (score.cheat in world.own.holes), score


@pytest.mark.parametrize(("world", "cheat"), sample(LIES, 30), ids=shown)
@pytest.mark.sampled
def test_a_lie_that_earns_nothing_is_reported_and_its_twin_loses_nothing(world: World, cheat: type[Policy]) -> None:
    tasks = world.tasks(TASKS)[:TASKS]
    (score,) = play_cheats(world.suite(simulator="world"), tasks, [cheat], ENOUGH)
    assert score.succeeded - score.reported <= 0.05 * score.bent, score
    assert score.lost <= 0.03 * score.bent, score


@pytest.mark.parametrize("world", [world for world in WORLDS if world.config.service], ids=lambda world: world.name)
@pytest.mark.slow
def test_what_is_forbidden_is_not_tried_beside_another_wish_either(world: World) -> None:
    tasks = [one for one in world.tasks(300) if any(item["id"].startswith("not_tried") for item in one.criteria)]
    (score,) = play_cheats(world.suite(simulator="world"), tasks, [TRIES], len(tasks))
    assert score.succeeded <= 0.05 * score.bent
    assert score.bent


def test_the_stored_result_is_of_this_book_and_every_cheat_in_it_really_cheats() -> None:
    scores = json.loads(CHEATS.read_text(encoding="utf-8"))
    registered = [(world, cheat) for world, cheat in CASES if not world.settings]
    assert {(score["domain"], score["cheat"]) for score in scores if score["stands"] == "held"} == {
        (world.name, cheat.__doc__) for world, cheat in registered
    }
    assert len(kit.CHEATS) >= 60
    for name in {score["cheat"] for score in scores}:
        assert sum(score["bent"] for score in scores if score["cheat"] == name) >= 5, name
    for score in scores:
        unseen = {"held": score["succeeded"], "reported": score["succeeded"] - score["reported"], "left": 0}
        assert unseen[score["stands"]] <= 0.05 * score["bent"], score
