from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from simia_gym.envs.webshop.catalogue.requests import generate
from simia_gym.envs.webshop.goals import Goal
from simia_gym.envs.webshop.matching import COLORS, normalize_color, nouns, similar
from simia_gym.envs.webshop.scoring import best_reward, find_attribute, match_options, same_option, score, score_type
from simia_gym.types import JsonObject


def product(**changes: Any) -> JsonObject:
    row: JsonObject = {
        "asin": "B1",
        "title": "Norvane Table Lamp, Dimmable, for Nightstands",
        "query": "table lamp",
        "product_category": "Home › Lighting › Table Lamps",
        "description": "Worth knowing: linen shade.",
        "bullets": ["A usb port charges your phone."],
        "attributes": ["dimmable", "solid wood"],
        "price": 25.0,
        "options": {"color": ["navy blue", "red"], "size": ["small", "large"]},
    }
    return {**row, **changes}


def goal(**changes: Any) -> Goal:
    value: JsonObject = {
        "asin": "B1",
        "category": "garden",
        "query": "table lamp",
        "name": "Norvane Table Lamp, Dimmable, for Nightstands",
        "product_category": "Home › Lighting › Table Lamps",
        "attributes": ["dimmable", "usb port"],
        "goal_options": ["navy blue", "small"],
        "price_upper": 30.0,
    }
    return Goal.model_validate({**value, **changes})


# Each reward is (attributes met + options met + price met) / 5, times the type factor.
@pytest.mark.parametrize(
    ("changes", "chosen", "reward"),
    [
        ({}, {"color": "navy blue", "size": "small"}, 5 / 5),
        ({}, {"color": "navy blue"}, 4 / 5),
        ({}, {"color": "red", "size": "large"}, 3 / 5),
        ({}, {}, 3 / 5),
        ({"price": 30.0}, {}, 3 / 5),
        ({"price": 30.01}, {}, 2 / 5),
        ({"bullets": []}, {"size": "small"}, 3 / 5),
        ({"attributes": [], "title": "Norvane Table Lamp"}, {}, 2 / 5),
        # Another kind of thing that shares 1 of the 4 nouns norvane, table, lamp, nightstands: 0.25 is above 0.2.
        ({"query": "x", "product_category": "x", "title": "Lamp", "attributes": ["dimmable"]}, {}, 3 / 5),
        # Nothing of the title in common: worth nothing, even in the right category.
        ({"title": "Pillow", "attributes": ["dimmable"]}, {}, 0.0),
    ],
)
def test_reward_by_hand(changes: JsonObject, chosen: dict[str, str], reward: float) -> None:
    assert score(product(**changes), goal(), chosen).reward == pytest.approx(reward)


LONG = "Alpha Bravo Charlie Delta Echo Foxtrot Golf Hotel India Juliet Kilo"


@pytest.mark.parametrize(
    ("title", "name", "query", "path", "factor", "share"),
    [
        ("Alpha", "Alpha Bravo", "x", "x", 1.0, 0.5),
        ("Alpha", "Alpha Bravo Charlie Delta Echo", "x", "x", 0.5, 0.2),
        ("Alpha", "Alpha Bravo Charlie Delta Echo", "table lamp", "x", 1.0, 0.2),
        ("Alpha", "Alpha Bravo Charlie Delta Echo", "x", "Lighting › Home", 1.0, 0.2),
        ("Alpha", "Alpha Bravo Charlie Delta Echo", "x", "Home › Home › Rugs", 0.5, 0.2),
        ("Alpha", LONG, "table lamp", "x", 0.1, 1 / 11),
        ("Zulu", "Alpha Bravo", "table lamp", "x", 0.0, 0.0),
        ("Zulu", "with the 12", "x", "x", 0.5, 0.2),
    ],
)
def test_type_factor(title: str, name: str, query: str, path: str, factor: float, share: float) -> None:
    result = score_type(product(title=title, query=query, product_category=path), goal(name=name))
    assert result.factor == factor
    assert result.title_score == pytest.approx(share)


@pytest.mark.parametrize(
    ("phrase", "where"),
    [
        ("dimmable", "dimmable"),
        ("solid woods", "solid wood"),
        ("wood, solid!", "solid wood"),
        ("nightstands", "title"),
        ("usb port", "features"),
        ("linen shade", "description"),
        ("Linen shade", None),
        ("pull chain", None),
    ],
)
def test_where_an_attribute_is_found(phrase: str, where: str | None) -> None:
    assert find_attribute(product(), phrase) == where


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("tea tree", "tree tea", True),
        ("essential oils", "essential oil", True),
        ("natural ingredients", "natural", True),
        ("large", "x-large", True),
        ("café au lait", "caf au lait", True),
        ("noise cancelling", "fast charging", False),
        ("red", "", False),
        ("!!", "??", False),
    ],
)
def test_fuzzy_matching_as_published(one: str, other: str, same: bool) -> None:
    assert similar(one, other) is same
    assert similar(other, one) is same


def test_colours() -> None:
    assert list(COLORS) == sorted(COLORS)
    assert len(COLORS) == 102
    assert normalize_color("navy blue") == "blue"
    assert normalize_color("light grey") == "grey"
    assert normalize_color("standard") == "tan"
    assert normalize_color("12 oz") == "12 oz"
    assert same_option("sky blue", "navy blue")
    assert not same_option("black", "white")
    assert not same_option("dark red", "red")  # "dark" comes before "red" in the list


def test_options_are_compared_as_values() -> None:
    """In whatever form a goal states its options, the values count."""
    assert goal(goal_options={"color": "red", "size": "small"}).goal_options == ("red", "small")
    assert match_options(["red", "xl"], ["small", "bright red"]) == (("red", "bright red"), ("xl", None))


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Norvane Table Lamp, Dimmable, for Nightstands", {"norvane", "table", "lamp", "nightstands"}),
        ("12 Pack of Soft Blue Cutting Boards (2-Piece)", {"pack", "cutting", "boards", "piece"}),
        ("The waterproof, washable and slowly ageing", set()),
    ],
)
def test_nouns(title: str, expected: set[str]) -> None:
    assert nouns(title) == expected


@pytest.mark.parametrize("changes", [{"attributes": []}, {"price_upper": 0}, {"price_upper": "much"}, {"name": None}])
def test_goals_are_checked(changes: JsonObject) -> None:
    with pytest.raises(ValidationError, match=next(iter(changes))):
        goal(**changes)


def test_best_reward_is_that_of_the_best_choice(products: Mapping[str, JsonObject]) -> None:
    """Also for goals that the product meets in part."""
    for index in range(12):
        value = dict(generate("train", index).options["goal"])
        row = products[value["asin"]]
        if index % 2:
            value["attributes"] = [*value["attributes"], "made on the moon"]
            value["goal_options"] = [*value["goal_options"], "red", "nothing like it"]
        wanted = Goal.model_validate(value)
        choices = itertools.product(*((*values, "") for values in row["options"].values()))
        chosen = [{name: one for name, one in zip(row["options"], choice, strict=True) if one} for choice in choices]
        assert best_reward(row, wanted) == max(score(row, wanted, options).reward for options in chosen)
