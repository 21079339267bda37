"""Shopping goals, as data for the reward and as requests for the policy, and tasks made from goals."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from simia_gym.envs.webshop.catalogue.products import NO_ATTRIBUTES
from simia_gym.types import JsonObject, Split, Task

NO_BOUND = 1_000_000.0
"""Price bound of a goal without one, as in the published shop."""
BOUNDS = tuple(10.0 * step for step in range(1, 100))
"""Possible price bounds: multiples of ten dollars, as in the published shop."""


class Goal(BaseModel):
    """A shopping goal, as ``Task.options["goal"]`` holds it.

    Attributes:
        asin: Id of the product from which the goal was made; other products may meet the goal, too.
        category: The product's department.
        query: The phrase that names the product's kind.
        name: The product's title.
        product_category: The product's category from coarse to fine.
        attributes: Wanted attribute phrases.
        goal_options: Wanted option values; of a mapping, as in the published synthetic goals, its values.
        price_upper: Maximum price in dollars.
    """

    model_config = ConfigDict(frozen=True)

    asin: str
    category: str
    query: str
    name: str
    product_category: str
    attributes: tuple[str, ...] = Field(min_length=1)
    goal_options: Annotated[
        tuple[str, ...], BeforeValidator(lambda v: v.values() if isinstance(v, Mapping) else v)
    ] = ()
    price_upper: float = Field(gt=0)


def goal_for(product: Mapping[str, Any], attributes: Sequence[str], options: Sequence[str], bound: float) -> Goal:
    """Make a goal that asks for some attributes and option values of a normalised product row."""
    return Goal(
        asin=product["asin"],
        category=product["category"],
        query=product["query"],
        name=product["title"],
        product_category=product["product_category"],
        attributes=tuple(attributes),
        goal_options=tuple(options),
        price_upper=bound,
    )


def bounds_above(price: float) -> tuple[float, ...]:
    """The price bounds that a goal for a product of this price may have: the next four multiples of ten, if any."""
    return tuple(bound for bound in BOUNDS if bound > price)[:4]


def price_words(bound: float) -> str:
    """The words by which a request states its price bound."""
    return "" if bound >= NO_BOUND else f", and price lower than {bound:.2f} dollars"


def sample_bound(rng: random.Random, price: float) -> float:
    """Draw a price bound as in the published shop: the higher of two of the next four multiples of ten."""
    near = bounds_above(price)
    return max(rng.sample(near, 2)) if len(near) >= 2 else NO_BOUND


def usable_attributes(product: Mapping[str, Any]) -> list[str]:
    """The attribute phrases of a product that a goal may ask for."""
    return [phrase for phrase in product["attributes"] if phrase not in NO_ATTRIBUTES]


def split_of(asin: str) -> Split:
    """Which split a product's goals belong to: one product in three is for tests, by a stable hash of its id."""
    return "test" if hashlib.sha256(f"split of {asin}".encode()).digest()[0] % 3 == 0 else "train"


def make_task(task_id: str, split: Split, kind: str, goal: Goal, instruction: str, gold: Sequence[JsonObject]) -> Task:
    """Make the task of a goal; the policy reads ``instruction`` on every page, and ``gold`` are calls that reach it."""
    return Task(
        id=task_id,
        split=split,
        kind=kind,
        instruction=instruction,
        setup=({"op": "replace", "path": "/session/main/instruction", "value": instruction},),
        gold=tuple(gold),
        options={"goal": goal.model_dump(mode="json")},
    )
