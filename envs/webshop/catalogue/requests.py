"""Generates any number of goals from the catalogue, with requests in a shopper's words.

Each split has its own range of seeds. Goals for training and for tests come from different products; those of dev are
about products of train. Each goal is made from a product that meets it in full, so that the highest reachable reward is
1. A goal is kept only if a search for the words of its request lists such a product among the first three, so that it
can be found within the turn limit.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from simia_gym.envs.webshop.catalogue.catalogue import tables
from simia_gym.envs.webshop.catalogue.vocabulary import ATTRIBUTES, CATEGORIES
from simia_gym.envs.webshop.goals import (
    NO_BOUND,
    Goal,
    bounds_above,
    goal_for,
    make_task,
    price_words,
    sample_bound,
    split_of,
)
from simia_gym.envs.webshop.scoring import best_reward
from simia_gym.envs.webshop.search import SearchIndex
from simia_gym.errors import InputError
from simia_gym.types import JsonObject, Split, Task

N_FIXED: Mapping[Split, int] = {"train": 40, "test": 20}
_FIXED_SEEDS: Mapping[Split, int] = {"train": 0, "test": 500_000}
_GENERATED_SEEDS: Mapping[Split, int] = {"train": 1_000_000, "test": 2_000_000_000, "dev": 3_000_000_000}
_MOST_GENERATED = 1_000_000_000
_IN_REACH = 3

_OPENERS = (
    "i am looking for {ask}",
    "i need {ask}",
    "find me {ask}",
    "i want to buy {ask}",
    "can you get me {ask}",
    "please show me {ask}",
)
_OCCASIONS = (
    "my sister moves into her first flat next month",
    "the old one gave up last tuesday",
    "a colleague keeps talking about hers",
    "we leave on friday and i forgot to buy one",
    "my neighbour turns fifty and likes practical gifts",
    "i saw one in a cafe yesterday and liked it",
    "the last one that i ordered got lost on its way",
    "our parcel shop closes early, so please hurry",
    "my brother borrowed mine and never gave it back",
    "i promised my grandmother to choose carefully",
)
_ASKS = {category.query: category.ask for category in CATEGORIES}


@dataclass(frozen=True)
class Kind:
    """How much a goal asks for.

    Attributes:
        name: The kind's name.
        attributes: Minimum and maximum number of attributes.
        options: Minimum and maximum number of options.
        bound: How the price bound is set: drawn as in the published shop, the next multiple of ten, or none.
    """

    name: str
    attributes: tuple[int, int]
    options: tuple[int, int]
    bound: str = "published"


KINDS = (
    Kind("attributes", (3, 4), (0, 0)),
    Kind("options", (1, 1), (2, 3)),
    Kind("mixed", (2, 3), (1, 2)),
    Kind("tight_price", (2, 2), (1, 2), "tight"),
    Kind("everything", (3, 4), (2, 3)),
    Kind("any_price", (2, 3), (2, 2), "none"),
)


def generate(split: Split, index: int) -> Task:
    """Generate a task.

    Returns:
        The task; the same arguments give the same task.

    Raises:
        InputError: The index is out of range.
    """
    if not 0 <= index < _MOST_GENERATED:
        raise InputError(f"index {index} is out of range", where="generate", fix=f"Use 0 to {_MOST_GENERATED - 1}.")
    kind = KINDS[index % len(KINDS)]
    return _task(f"webshop-{split}-g{index:06d}", split, kind, _GENERATED_SEEDS[split] + index)


def fixed_tasks(split: Split) -> list[Task]:
    """Generate the tasks that ship with the domain, each from a different product."""
    tasks: list[Task] = []
    used: set[str] = set()
    seed = _FIXED_SEEDS[split]
    while len(tasks) < N_FIXED[split]:
        number = len(tasks)
        task = _task(f"webshop-{split}-{number:03d}", split, KINDS[number % len(KINDS)], seed)
        seed += 1
        if task.options["goal"]["asin"] not in used:
            used.add(task.options["goal"]["asin"])
            tasks.append(task)
    return tasks


def _task(task_id: str, split: Split, kind: Kind, seed: int) -> Task:
    rng = random.Random(f"webshop goal {seed}")
    while True:
        product = rng.choice(_products(split))
        names = list(product["options"])
        asked = sorted(_some(rng, names, kind.options), key=names.index)
        options = {name: rng.choice(product["options"][name]) for name in asked}
        attributes = _some(rng, product["attributes"], kind.attributes)
        goal = goal_for(product, attributes, list(options.values()), _bound(rng, kind, product))
        if _findable(goal):
            request = write_request(rng, goal, options)
            return make_task(task_id, split, kind.name, goal, request, _gold(product, options))


def _findable(goal: Goal) -> bool:
    """Whether a search for the goal's words lists a product that meets the goal in full among the first results."""
    words = " ".join((goal.query, *goal.attributes, *goal.goal_options))
    listed = (tables()["products"][asin] for asin in _index().results(words)[:_IN_REACH])
    return any(best_reward(product, goal) == 1.0 for product in listed)


@cache
def _index() -> SearchIndex:
    return SearchIndex(tables()["products"].items())


def _some(rng: random.Random, items: Sequence[str], count: tuple[int, int]) -> list[str]:
    low, high = (min(number, len(items)) for number in count)
    return rng.sample(items, rng.randint(low, high))


@cache
def _products(split: Split) -> tuple[JsonObject, ...]:
    return tuple(row for asin, row in tables()["products"].items() if (split_of(asin) == "test") == (split == "test"))


def _bound(rng: random.Random, kind: Kind, product: Mapping[str, Any]) -> float:
    if kind.bound == "none":
        return NO_BOUND
    if kind.bound == "tight" and " to " not in product["price_tag"]:
        return bounds_above(product["price"])[0]
    return sample_bound(rng, product["price"])


def write_request(rng: random.Random, goal: Goal, options: Mapping[str, str]) -> str:
    """Write a goal as a shopper's request; ``options`` are its wanted option values by option name."""
    opener = rng.choice(_OPENERS).format(ask=_ASKS[goal.query])
    if rng.random() < 0.6:
        opener = f"{rng.choice(_OCCASIONS)}. {opener}"
    be = [phrase for phrase in goal.attributes if ATTRIBUTES[phrase].form == "be"]
    have = [phrase for phrase in goal.attributes if ATTRIBUTES[phrase].form == "have"]
    wants = [f"should {verb} {_listed(phrases)}" for verb, phrases in (("be", be), ("have", have)) if phrases]
    that, more = rng.choice(((" that ", " and "), (". it ", " and it ")))
    text = opener + that + more.join(wants)
    if options and rng.random() < 0.5:
        text += " with " + ", and ".join(f"{name}: {value}" for name, value in options.items())
    elif options:
        text += ". " + ", ".join(f"for {name} pick {value}" for name, value in options.items())
    return text + price_words(goal.price_upper)


def _listed(phrases: Sequence[str]) -> str:
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def _gold(product: Mapping[str, Any], options: Mapping[str, str]) -> list[JsonObject]:
    """Tool calls that buy the product, found by searching for its title."""
    clicks = [product["asin"].lower(), *options.values(), "buy now"]
    calls: list[JsonObject] = [{"name": "search", "arguments": {"keywords": product["title"].lower()}}]
    return calls + [{"name": "click", "arguments": {"value": value}} for value in clicks]
