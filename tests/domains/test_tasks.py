"""Tasks: sound, any number, and others for each split."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import pytest

from simia_gym.common.json_encoding import encode
from simia_gym.domain.domain import DEV_TASKS, SPLITS
from simia_gym.domain.tasks import TaskList, task_to_json
from simia_gym.envs.build import files
from simia_gym.evaluation.checker import check_folder
from simia_gym.evaluation.evaluate import evaluate
from simia_gym.evaluation.gold import try_gold
from simia_gym.rollout.jobs import choose
from simia_gym.types import Split, Task

from ..docs_pages import CHECKOUT, blocks
from .table import World


def content(task: Task) -> Mapping[str, object]:
    return {**task_to_json(task), "id": "", "split": ""}


@pytest.mark.parametrize("name", ["airline", "officebench", "os", "retail", "webshop"])
def test_files_of_the_own_domains_follow_from_code(name: str) -> None:
    for path, data in files(name):
        assert path.read_bytes() == data, f"run python -m simia_gym.envs.build {name}"


@pytest.mark.slow
def test_check_finds_nothing(world: World) -> None:
    report = check_folder(world.folder)
    assert [str(problem) for problem in report.problems] == []
    assert [note for note in report.notes if note.startswith("warning")] == []
    assert report.played


@pytest.mark.slow
def test_splits_share_no_task(generating: World) -> None:
    made = {split: list(generating.suite(split=split, generated=300).tasks) for split in SPLITS}
    for split, tasks in made.items():
        assert {task.split for task in tasks} == {split}
        assert len({task.id for task in tasks}) == len(tasks)
    assert len(made["dev"]) == DEV_TASKS + 300
    for one, two in combinations(made.values(), 2):
        assert not {task.id for task in one} & {task.id for task in two}
        assert not {encode(content(task)) for task in one} & {encode(content(task)) for task in two}
    assert {task.split for task in generating.suite().tasks} == {"train", "test"}


@pytest.mark.sampled
def test_dev_is_a_split_like_the_others(generating: World) -> None:
    env = generating.make(split="dev", task_order="listed")
    suite = env.unwrapped.suite
    assert [env.reset(seed=1)[1]["task"], len(suite.tasks)] == [suite.tasks[0].id, DEV_TASKS]
    assert suite.task(suite.tasks[7].id) == suite.tasks[7]
    scores = evaluate(generating.make(split="dev", max_turns=1), "null")["series"][0]
    assert (scores["split"], scores["tasks"]) == ("dev", DEV_TASKS)
    assert len(generating.suite(split="train", without_dev=True).tasks) == len(generating.suite(split="train").tasks)


@pytest.mark.sampled
def test_the_generator_makes_the_same_sound_task_again(generating: World) -> None:
    domain = generating.domain
    problems = getattr(domain.make_reward(), "problems", lambda task, tools: ())
    assert domain.generator is not None
    for index in range(generating.few(100)):
        task, again = (domain.generator("train", index) for _ in range(2))
        assert encode(task_to_json(task)) == encode(task_to_json(again))
        assert [*try_gold(domain, task, task.id)[1], *problems(task, domain.tool_entries)] == []


@pytest.mark.sampled
def test_an_id_is_told_as_the_task_has_it(generating: World) -> None:
    tasks = generating.suite(split="train", generated=generating.few(20)).tasks
    assert [tasks.id_at(place) for place in range(len(tasks))] == [task.id for task in tasks]


def test_ids_that_a_generator_tells_cost_no_task() -> None:
    class Telling:
        made = 0

        def __call__(self, split: Split, index: int) -> Task:
            self.made += 1
            return Task(self.id_of(split, index), split, "any")

        def id_of(self, split: Split, index: int) -> str:
            return f"{split}-{index}"

    generate = Telling()
    tasks = TaskList([Task("fixed-0", "train", "any")], {"train": 3, "dev": 3}, generate)
    ids = ["fixed-0", *(f"{split}-{number}" for split in ("train", "dev") for number in range(3))]
    assert [tasks.id_at(place) for place in range(7)] == ids
    assert choose(tasks, ["dev-2", "train-0"]) == (6, 1)
    assert generate.made == 0
    assert (tasks[6].id, generate.made) == ("dev-2", 1)


def test_a_page_shows_a_transcript_that_is_tested(registered: World) -> None:
    page = CHECKOUT / "docs" / "domains" / f"{registered.config.name}.md"
    assert any(block.note.startswith(f"transcript: {registered.env} ") for block in blocks(page))
