"""Shopping goals, as data for the reward and as requests for the policy, and tasks made from goals."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from simia_gym.envs.webshop.catalogue.products import NO_ATTRIBUTES
from simia_gym.errors import InputError
from simia_gym.types import JsonObject, Split, Task

NO_BOUND = 1_000_000.0
"""Price bound of a goal without one, as in the published shop."""
BOUNDS = tuple(10.0 * step for step in range(1, 100))
"""Possible price bounds: multiples of ten dollars, as in the published shop."""


@dataclass(frozen=True)
class Goal:
    """A shopping goal.

    Attributes:
        asin: Id of the product from which the goal was made; other products may meet the goal, too.
        category: The product's department.
        query: The phrase that names the product's kind.
        name: The product's title.
        product_category: The product's category from coarse to fine.
        attributes: Wanted attribute phrases.
        goal_options: Wanted option values.
        price_upper: Maximum price in dollars.
    """

    asin: str
    category: str
    query: str
    name: str
    product_category: str
    attributes: tuple[str, ...]
    goal_options: tuple[str, ...]
    price_upper: float

    def to_json(self) -> JsonObject:
        """The goal as a JSON object, for ``Task.options["goal"]``."""
        value = asdict(self)
        return {**value, "attributes": list(self.attributes), "goal_options": list(self.goal_options)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any], where: str = "goal") -> Goal:
        """Read a goal from a JSON object.

        Options may be a mapping from name to value, as in the published synthetic goals; the values are used.

        Args:
            value: The decoded object.
            where: File and position, for error messages.

        Raises:
            InputError: A field is missing or of the wrong type.
        """
        options = value.get("goal_options", ())
        try:
            goal = cls(
                asin=value["asin"],
                category=value["category"],
                query=value["query"],
                name=value["name"],
                product_category=value["product_category"],
                attributes=tuple(value["attributes"]),
                goal_options=tuple(options.values() if isinstance(options, Mapping) else options),
                price_upper=float(value["price_upper"]),
            )
        except KeyError as error:
            fix = "Write every field of a goal."
            raise InputError(f"the goal has no {error.args[0]!r}", where=where, fix=fix) from error
        except (TypeError, ValueError) as error:
            raise InputError(f"the goal cannot be read: {error}", where=where, fix="Mend the field.") from error
        if not goal.attributes or goal.price_upper <= 0:
            fix = "Give at least one attribute and a price bound above 0."
            raise InputError("the goal has no attributes or no price bound", where=where, fix=fix)
        return goal


def goal_for(product: Mapping[str, Any], attributes: Sequence[str], options: Sequence[str], bound: float) -> Goal:
    """Make a goal from a product.

    Args:
        product: A normalised product row.
        attributes: Attribute phrases to ask for.
        options: Option values to ask for.
        bound: The price bound.
    """
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
    """Make the task of a goal.

    Args:
        task_id: The task's id.
        split: Its split.
        kind: Its kind.
        goal: What is wanted.
        instruction: The request, as the policy reads it on every page.
        gold: Calls that reach the goal.
    """
    return Task(
        id=task_id,
        split=split,
        kind=kind,
        instruction=instruction,
        setup=({"op": "replace", "path": "/session/main/instruction", "value": instruction},),
        gold=tuple(gold),
        options={"goal": goal.to_json()},
    )
