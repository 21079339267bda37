"""Tasks: any number, of every kind, all different, each with a goal that its gold actions reach."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from simia_gym.domain import domain
from simia_gym.domain.goal import first_difference
from simia_gym.envs.retail import generate as generator
from simia_gym.envs.retail.generate import FIRST_SEED, FIXED, FIXED_SEED, SPAN, generate
from simia_gym.envs.retail.generate_kinds import KINDS
from simia_gym.errors import InputError
from simia_gym.rewards.criteria import Rubric
from simia_gym.types import JsonObject
from tests.retail.play import SPLITS, fixed, forbidden, generated, suite


def test_splits_have_nothing_in_common() -> None:
    ranges = [range(FIRST_SEED[split], FIRST_SEED[split] + SPAN) for split in domain.SPLITS]
    ranges += [range(FIXED_SEED[split], FIXED_SEED[split] + 1 + len(FIXED[split])) for split in SPLITS]
    ranges.sort(key=lambda r: r.start)
    assert all(a.stop <= b.start for a, b in itertools.pairwise(ranges))


def test_tasks_are_about_fresh_rows() -> None:
    base = suite().domain.base
    seen: set[str] = set()
    for task in [*fixed(), *generated(200)]:
        paths = {op["path"] for op in task.setup}
        assert not any(base.has(*path.split("/")[1:]) for path in paths)
        seen |= {path for path in paths if path.startswith("/users/")}
    assert len(seen) > 450


def test_every_kind_is_generated_and_fixed() -> None:
    assert {generate("train", index).kind for index in range(len(KINDS))} == set(KINDS)
    assert {task.kind for task in fixed() if task.split == "train"} == set(KINDS)
    assert {generate("dev", index).kind for index in range(domain.DEV_TASKS)} == set(FIXED["test"])
    assert {generate("dev", index).kind for index in range(len(KINDS))} == set(KINDS)
    assert [sum(task.split == split for task in fixed()) for split in SPLITS] == [40, 20]
    assert len({task.id for task in fixed()}) == 60


def test_fixed_tasks_rebuild_to_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = generator.TASK_FOLDER
    monkeypatch.setattr(generator, "TASK_FOLDER", tmp_path / "tasks")
    generator.main()
    for split in SPLITS:
        assert (shipped / f"{split}.jsonl").read_bytes() == (tmp_path / "tasks" / f"{split}.jsonl").read_bytes()


def test_gold_actions_reach_the_goal_and_criteria_are_sound() -> None:
    """Where nothing changes, the criteria ask for words or a call."""
    domain = suite().domain
    world = domain.world
    assert world is not None
    rubric = Rubric(domain.rubric, folder=domain.folder)
    for task in [*fixed(), *generated(80)]:
        initial = domain.base.apply(task.setup)
        assert task.goal is not None
        assert first_difference(task.goal, initial, world.replay(initial, task.gold)) is None
        assert bool(task.goal) is any(world.tools[item["name"]].effect == "write" for item in task.gold)
        assert rubric.for_task(task.id, task.criteria)
        programs = {item["check"]["program"] for item in task.criteria if item.get("required")}
        assert task.goal or programs & {"says", "refused", "called"}
        if forbidden(task):
            assert "refused" in programs
            assert any(item.get("kind") == "forbidden" for item in task.criteria)


@pytest.mark.parametrize("index", [-1, SPAN])
def test_index_outside_the_range(index: int) -> None:
    with pytest.raises(InputError, match="generated"):
        generate("train", index)


def test_gold_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: tuple[JsonObject, ...] = ({"name": "get_user_details", "arguments": {"user_id": "nobody"}},)
    with pytest.raises(InputError, match=r"task x: gold call get_user_details fails"):
        generator._goal((), calls, "x")
