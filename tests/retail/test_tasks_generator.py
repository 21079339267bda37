"""Tasks: any number, of every kind, all different, each with a goal that its gold actions reach."""

from __future__ import annotations

from pathlib import Path

from simia_gym.domain.goal import first_difference
from simia_gym.rewards.criteria import Rubric
from simia_gym.service import write_fixed
from tests.retail.play import SPLITS, fixed, forbidden, generated, generator, suite


def test_tasks_are_about_fresh_rows() -> None:
    base = suite().domain.base
    seen: set[str] = set()
    for task in [*fixed(), *generated(200)]:
        paths = {op["path"] for op in task.setup}
        assert not any(base.has(*path.split("/")[1:]) for path in paths)
        seen |= {path for path in paths if path.startswith("/users/")}
    assert len(seen) > 450


def test_every_kind_is_generated_and_the_fixed_tasks_are_of_the_kinds_they_were() -> None:
    made = generator()
    drawn = {made("train", index).kind for index in range(800)}
    assert drawn == set(made.kinds) - set(made.service.declared.kinds)
    declared = made.service.declared.fixed
    for split in SPLITS:
        assert tuple(task.kind for task in fixed() if task.split == split) == declared[split]
    assert len({task.id for task in fixed()}) == 60


def test_fixed_tasks_rebuild_to_the_same_bytes(tmp_path: Path) -> None:
    declared = generator().service.declared.fixed
    write_fixed(generator(), tmp_path, declared["train"], declared["test"])
    for split in SPLITS:
        shipped = suite().domain.folder / "tasks" / f"{split}.jsonl"
        assert shipped.read_bytes() == (tmp_path / "tasks" / f"{split}.jsonl").read_bytes()


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
