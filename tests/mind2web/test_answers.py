"""What counts as the answer to a question about a site."""

from __future__ import annotations

import random

import gymnasium as gym
import pytest

from simia_gym.envs.mind2web.sites.loading import sites
from simia_gym.envs.mind2web.sites.texts import short_date
from simia_gym.envs.mind2web.work.generate import SiteTasks
from simia_gym.types import Task


def asked(site: str, way: str) -> tuple[Task, str]:
    """A question, and its answer as the page shows it."""
    task = SiteTasks(sites()[site]).task("own", "train", way, "plain", random.Random(3), {})
    return task, task.criteria[0]["check"]["value"]


def reward(task: Task, answer: str) -> float:
    env = gym.make("simia/mind2web-v0")
    env.reset(options={"task": task})
    _, gained, over, _, _ = env.step(f"Answer: A.\nAction: DONE\nValue: {answer}")
    env.close()
    assert over
    return float(gained)


@pytest.mark.parametrize(
    ("form", "right"),
    [("{}", 1), ("£{}", 1), ("{}.", 1), ("{} pounds", 0), ("€{}", 0), ("1{}", 0), ("{} or less", 0), ("-{}", 0)],
)
def test_a_sum_is_right_with_and_without_its_sign(form: str, right: int) -> None:
    task, answer = asked("bank", "spent_at")
    assert answer.startswith("£")
    assert reward(task, form.format(answer[1:])) == right


def test_a_day_is_right_as_pages_show_it_and_as_fields_take_it() -> None:
    task, answer = asked("bank", "due_when")
    day = short_date(answer)
    assert day is not None
    assert [reward(task, text) for text in (answer, day, day.replace("-", "/"), day[:-3], "soon")] == [1, 1, 0, 0, 0]


def test_a_name_is_right_in_any_case_and_alone() -> None:
    task, answer = asked("clinic", "cheapest_for")
    forms = (answer, answer.upper(), f"{answer}.", f"It is {answer}", answer.removeprefix("Dr "))
    assert [reward(task, text) for text in forms] == [1, 1, 1, 0, 0]
