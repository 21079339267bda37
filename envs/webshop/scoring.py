"""The published WebShop reward, with its parts.

    reward = type factor x (attributes met + options met + price met) / (attributes + options + 1)

Three remarks. Published synthetic goals compare options as (name, value) pairs, which cannot match properly; published
human goals compare values, as is done here for every goal. The nouns of titles come from an approximation (see
`matching.nouns`), so the type factor may differ for unusual titles. Two colours count as the same if the first known
colour word in them is the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from simia_gym.envs.webshop.goals import Goal
from simia_gym.envs.webshop.matching import normalize_color, nouns, similar


@dataclass(frozen=True)
class TypeScore:
    """Whether a product is the kind of thing that was asked for.

    Attributes:
        factor: 1, 0.5, 0.1 or 0.
        query_match: Whether product and goal have the same query phrase.
        category_match: Whether at least two of their categories are the same.
        title_score: Share of the nouns in the goal's title that occur in the product's title.
    """

    factor: float
    query_match: bool
    category_match: bool
    title_score: float


@dataclass(frozen=True)
class Score:
    """The reward of a purchase and what it is made of.

    Attributes:
        reward: 0 to 1.
        kind: The type factor and its parts.
        attributes: Each wanted attribute and where it was found: the phrase or the name of a text; ``None`` if nowhere.
        options: Each wanted option value and the chosen value that meets it; ``None`` if none does.
        price: What the product costs.
        price_met: Whether that is within the bound.
    """

    reward: float
    kind: TypeScore
    attributes: Mapping[str, str | None]
    options: tuple[tuple[str, str | None], ...]
    price: float
    price_met: bool


def score(product: Mapping[str, Any], goal: Goal, chosen: Mapping[str, str]) -> Score:
    """Score the purchase of a product (a normalised row) with option values, given by option name."""
    kind = score_type(product, goal)
    found = {phrase: find_attribute(product, phrase) for phrase in goal.attributes}
    options = match_options(goal.goal_options, chosen.values())
    price_met = product["price"] <= goal.price_upper
    met = sum(where is not None for where in (found[phrase] for phrase in goal.attributes))
    met += sum(value is not None for _, value in options)
    total = len(goal.attributes) + len(goal.goal_options) + 1
    return Score((met + price_met) / total * kind.factor, kind, found, options, product["price"], price_met)


def score_type(product: Mapping[str, Any], goal: Goal) -> TypeScore:
    """Compare kind and title of a product with the wanted ones."""
    query_match = product["query"] == goal.query
    category_match = len(_categories(product["product_category"]) & _categories(goal.product_category)) >= 2
    wanted = nouns(goal.name)
    title_score = len(wanted & nouns(product["title"])) / len(wanted) if wanted else 0.2
    factor = 1.0 if query_match or category_match or title_score > 0.2 else 0.5
    if title_score == 0.0:
        factor = 0.0
    elif title_score < 0.1:
        factor = 0.1
    return TypeScore(factor, query_match, category_match, title_score)


def _categories(path: str) -> set[str]:
    return {part.strip() for part in path.split("›")}


def find_attribute(product: Mapping[str, Any], phrase: str) -> str | None:
    """Find where a product shows a wanted attribute.

    Returns:
        The product's own phrase that is similar enough, or ``title``, ``features`` or ``description`` if the wanted
        phrase stands there; ``None`` if the product does not have it.
    """
    for own in product["attributes"]:
        if similar(own, phrase):
            return str(own)
    if phrase in product["title"].lower():
        return "title"
    if phrase in " ".join(product["bullets"]).lower():
        return "features"
    return "description" if phrase in product["description"].lower() else None


def match_options(wanted: Iterable[str], chosen: Iterable[str]) -> tuple[tuple[str, str | None], ...]:
    """For each wanted option value, the first chosen one that meets it."""
    have = list(chosen)
    return tuple((value, next((own for own in have if same_option(own, value)), None)) for value in wanted)


def same_option(chosen: str, wanted: str) -> bool:
    """Whether a chosen option value meets a wanted one."""
    return similar(normalize_color(chosen), normalize_color(wanted))


def best_reward(product: Mapping[str, Any], goal: Goal) -> float:
    """The highest reward for a product, found by trying every combination of its options.

    All values of an option that meet no wanted one are tried as one case: the option is not chosen.
    """
    useful: list[list[tuple[str, str] | None]] = [
        [None, *((name, value) for value in values if any(same_option(value, want) for want in goal.goal_options))]
        for name, values in product["options"].items()
    ]
    choices = (dict(pair for pair in combination if pair is not None) for combination in itertools.product(*useful))
    return max(score(product, goal, chosen).reward for chosen in choices)
