"""The scores beside the reward, and what players without understanding reach."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import gymnasium as gym
import pytest

from simia_gym.common.event_loop import run_sync
from simia_gym.envs.mind2web.screen import render
from simia_gym.envs.mind2web.sites.loading import sites_called
from simia_gym.envs.mind2web.work.expert import call_of
from simia_gym.envs.mind2web.work.generate import generate
from simia_gym.envs.mind2web.work.reading import read_page, read_prompt
from simia_gym.state import State
from simia_gym.types import Split, Task, ToolCall

from ..proof.stage import suite_of, take
from .guessers import Overlap, Player, Rememberer, learned
from .plays import begun, domain, solves

SPLITS: Sequence[Split] = ("train", "test")


def scores(task: Task, actions: Sequence[str], **settings: Any) -> Mapping[str, Any]:
    suite = suite_of("simia/mind2web-v0", split="all", simulator="world", grammar="tools", **settings)
    episode = run_sync(take(suite, task, actions), inline=True)
    assert episode.verdict is not None
    return episode.verdict.parts


def call(name: str, **arguments: str) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def gold(task: Task) -> list[str]:
    return [call(item["name"], **item["arguments"]) for item in task.gold]


@cache
def reserving() -> Task:
    """A task whose first page has one field to fill."""
    tasks = (generate("train", index) for index in range(400))
    return next(task for task in tasks if task.options["way"] == "reserve_at")


def test_the_expert_has_full_scores_and_steps_do_not_count_the_next_choices() -> None:
    task = reserving()
    steps = gold(task)
    more = sum("more" in step for step in steps)
    full = {"element_accuracy": 1.0, "action_f1": 1.0, "step_success": 1.0}
    assert scores(task, steps) == {**full, "steps": len(steps) - more}
    assert scores(task, [*steps[:-1], call("more"), steps[-1]])["steps"] == len(steps) - more


@pytest.mark.parametrize(
    ("first", "element", "f1", "success"),
    [
        (lambda letter, value: call("type", choice=letter, value=value), 1, 1, 1),
        (lambda letter, value: call("type", choice=letter.lower(), value=value), 1, 1, 1),
        (lambda letter, value: call("type", choice=letter, value=value.split()[0]), 1, None, 0),
        (lambda letter, value: call("click", choice=letter), 1, 0, 0),
        (lambda letter, value: call("click", choice="B"), 0, 0, 0),
        (lambda letter, value: call("type", choice="Z", value=value), 0, 1, 0),
        (lambda letter, value: "I type the title.", 0, 0, 0),
    ],
)
def test_a_step_is_scored_against_what_is_right_on_its_page(
    first: Any, element: int, f1: int | None, success: int
) -> None:
    task = reserving()
    begin = task.gold[0]["arguments"]
    found = scores(task, [first(begin["choice"], begin["value"]), call("done")])
    assert found["steps"] == 2
    assert found["element_accuracy"] == element / 2
    assert found["step_success"] == success / 2
    wanted = f1 if f1 is not None else 2 * 2 / (2 + len({"TYPE", *begin["value"].split()}))
    assert found["action_f1"] == pytest.approx(wanted / 2)


def test_pruned_pages_have_only_the_number_of_steps() -> None:
    assert scores(reserving(), [call("done")], options={"page": "published"}) == {"steps": 1}


def test_scores_do_not_touch_the_reward() -> None:
    env = gym.make("simia/mind2web-v0", task_order="listed", grammar="tools")
    task = env.unwrapped.suite.tasks[0]  # type: ignore[attr-defined]
    env.reset(options={"task": task.id})
    *steps, last = gold(task)
    for step in steps:
        assert env.step(step)[1] == 0.0
    _, reward, terminated, _, info = env.step(last)
    assert (reward, terminated) == (1.0, True)
    assert info["verdict"].parts["step_success"] == 1.0


def succeeds(player: Player, task: Task) -> bool:
    """Whether a player solves a task."""
    player.begin()
    turn = -1

    def choose(state: State) -> ToolCall:
        nonlocal turn
        turn += 1
        text = render(state)
        prompt = read_prompt(text)
        return call_of(player.choose(read_page(prompt, sites_called(prompt.title)[0]), turn))

    begin = begun(task, domain())
    return solves(task, begin, begin, choose)


def shares(player: Player, tasks: Sequence[Task]) -> tuple[float, Mapping[str, float]]:
    """The share of tasks that a player solves, of all and of each kind."""
    found: dict[str, list[bool]] = defaultdict(list)
    for task in tasks:
        found[task.kind].append(succeeds(player, task))
    each = {kind: sum(held) / len(held) for kind, held in found.items()}
    return sum(map(sum, found.values())) / len(tasks), each


def test_who_goes_by_shared_words_solves_little() -> None:
    tasks = [*domain().tasks["train"], *domain().tasks["test"]]
    whole, each = shares(Overlap(), tasks)
    assert whole <= 0.2
    assert max(each.values()) <= 0.4


@pytest.mark.slow
def test_who_goes_by_shared_words_solves_little_of_many_tasks() -> None:
    for split in SPLITS:
        whole, each = shares(Overlap(), [generate(split, index) for index in range(300)])
        assert 0 < whole <= 0.2
        assert max(each.values()) <= 0.4


@pytest.mark.slow
def test_who_remembers_the_letters_of_training_solves_hardly_anything_new() -> None:
    player = Rememberer()
    player.count = 1_500
    seen = [generate("train", index) for index in range(60)]
    assert learned(1_500)
    assert shares(player, seen)[0] > 0.05
    for split in SPLITS:
        assert shares(player, [generate(split, 5_000 + index) for index in range(300)])[0] <= 0.05
