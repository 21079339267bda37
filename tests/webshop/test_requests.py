from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import pytest

from simia_gym.envs.webshop.catalogue import requests
from simia_gym.envs.webshop.catalogue.request_reading import Request, read_request
from simia_gym.envs.webshop.catalogue.requests import KINDS, fixed_tasks, generate
from simia_gym.envs.webshop.goals import BOUNDS, NO_BOUND, Goal, bounds_above, price_words
from simia_gym.errors import InputError
from simia_gym.types import Split, Task

SPLITS: tuple[Split, ...] = ("train", "test")
N = 300


def goals(tasks: Sequence[Task]) -> list[Goal]:
    return [Goal.model_validate(task.options["goal"]) for task in tasks]


def test_fixed_tasks_are_of_every_kind_and_of_different_products() -> None:
    for split, count in zip(SPLITS, (40, 20), strict=True):
        tasks = fixed_tasks(split)
        assert {task.kind for task in tasks} == {kind.name for kind in KINDS}
        assert len({goal.asin for goal in goals(tasks)}) == len(tasks) == count


def test_splits_share_no_product() -> None:
    made = {
        split: {goal.asin for goal in goals([*fixed_tasks(split), *(generate(split, i) for i in range(N))])}
        for split in SPLITS
    }
    assert not made["train"] & made["test"]
    assert not {goal.asin for goal in goals([generate("dev", index) for index in range(N)])} & made["test"]
    assert min(len(asins) for asins in made.values()) > 90


def test_splits_share_no_seed() -> None:
    ranges = sorted([seed, seed + requests._MOST_GENERATED] for seed in requests._GENERATED_SEEDS.values())
    assert len(ranges) == 3
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(ranges))


def test_generated_tasks_are_many_and_of_every_kind() -> None:
    tasks = [generate("train", index) for index in range(2 * N)]
    assert set(Counter(task.kind for task in tasks).values()) == {2 * N // len(KINDS)}
    assert len({task.id for task in tasks}) == 2 * N
    assert len({str(task.options["goal"]) for task in tasks}) > 1.9 * N
    fixed = {str(task.options["goal"]) for task in fixed_tasks("train")}
    assert not fixed & {str(task.options["goal"]) for task in tasks}


@pytest.mark.parametrize("index", [-1, 1_000_000_000])
def test_index_out_of_range(index: int) -> None:
    with pytest.raises(InputError, match="out of range"):
        generate("train", index)


def test_a_request_says_what_its_goal_wants() -> None:
    for split in SPLITS:
        for task in [generate(split, index) for index in range(N)]:
            goal = Goal.model_validate(task.options["goal"])
            assert task.instruction is not None
            request = read_request(task.instruction)
            assert request.thing == goal.query
            assert set(request.attributes) == set(goal.attributes)
            assert tuple(request.options.values()) == goal.goal_options
            assert (request.bound or NO_BOUND) == goal.price_upper
            assert task.setup[0]["value"] == task.instruction


def test_price_bounds_as_published() -> None:
    assert bounds_above(25.0) == (30.0, 40.0, 50.0, 60.0)
    assert bounds_above(30.0) == (40.0, 50.0, 60.0, 70.0)
    assert bounds_above(985.0) == (990.0,)
    assert BOUNDS[-1] == 990.0
    assert price_words(40.0) == ", and price lower than 40.00 dollars"
    assert price_words(NO_BOUND) == ""


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("I need a travel mug", Request("travel mug", (), {}, None)),
        (
            "we leave on friday. find me some lip balm. it should be vegan, tinted and long lasting and it should have "
            "beeswax with scent: honey, and quantity: pack of 4, and price lower than 20.00 dollars",
            Request(
                "lip balm",
                ("vegan", "tinted", "long lasting", "beeswax"),
                {"scent": "honey", "quantity": "pack of 4"},
                20.0,
            ),
        ),
        (
            "show me a power bank that should be magnetic. for color pick black | grey, for capacity pick 5000 mah",
            Request("power bank", ("magnetic",), {"color": "black | grey", "capacity": "5000 mah"}, None),
        ),
        ("buy me something nice", Request("buy me something nice", (), {}, None)),
    ],
)
def test_reading(text: str, request_: Request) -> None:
    assert read_request(text) == request_
