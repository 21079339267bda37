"""The shop's own catalogue, generated from a random seed, in the format of the public WebShop product file.

Products of one kind are similar on purpose: each has some of the kind's attributes and some of its option values, so
that several products meet a request in part and few meet it in full.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

from simia_gym.envs.webshop.catalogue.products import normalise
from simia_gym.envs.webshop.catalogue.vocabulary import (
    ATTRIBUTES,
    CATEGORIES,
    FIRST_SYLLABLES,
    LAST_SYLLABLES,
    LINES,
    Category,
)
from simia_gym.envs.webshop.pages import START
from simia_gym.types import JsonObject

SEED = 20_240
PER_CATEGORY = 20
_ID_LETTERS = "0123456789ABCDEFGHJKLMNPQRSTVWXYZ"
_OPENINGS = (
    "{brand} has made the {line} in the same town since the start.",
    "The {line} is the newest from {brand}.",
    "{brand} drew the {line} for people who keep their things.",
    "Meet the {line} by {brand}.",
)
_PRAISE = (
    ("Better than the old one", 5, "I bought a second one for my sister within the week."),
    ("Does the job", 4, "Nothing to complain about after two months."),
    ("Good value", 4, "I have paid more for worse."),
    ("It is fine", 3, "Looks a little different from the picture, but it works."),
    ("Not for me", 2, "Decent, but I expected something else and sent it back."),
    ("Love it", 5, "My neighbour asked where it came from."),
    ("Came late", 3, "Two days after the promised date, otherwise good."),
)


@cache
def tables() -> dict[str, dict[str, JsonObject]]:
    """The initial state of the shop: its products, and one session on the start page; not to be changed."""
    rng = random.Random(SEED)
    taken: set[str] = set()
    products = []
    for category in CATEGORIES:
        brands = _brands(rng, 6)
        lines = rng.sample(LINES, PER_CATEGORY)
        products += [_product(rng, category, rng.choice(brands), line, taken) for line in lines]
    rng.shuffle(products)
    rows = (normalise(raw, where=f"catalogue[{number}]") for number, raw in enumerate(products))
    return {"products": {row["asin"]: row for row in rows}, "session": {"main": new_session()}}


def new_session() -> JsonObject:
    """The row of a session on the start page; a task puts its instruction in."""
    return {"instruction": "", **START, "bought": False}


def _brands(rng: random.Random, n: int) -> list[str]:
    names: list[str] = []
    while len(names) < n:
        name = rng.choice(FIRST_SYLLABLES) + rng.choice(LAST_SYLLABLES)
        if name not in names:
            names.append(name)
    return names


def _product(rng: random.Random, category: Category, brand: str, line: str, taken: set[str]) -> JsonObject:
    # The search covers the first attributes (in the title), the next one (the first feature) and two more (in the
    # description). The remaining attributes are only in the further features, which the search does not cover.
    attributes = rng.sample(category.attributes, rng.choice((3, 4, 4)))
    head = rng.choice(category.heads)
    n = rng.choice((1, 1, 2))
    in_title, first = attributes[:n], attributes[n]
    told = attributes[n + 1 : n + rng.choice((2, 3))] or [first]
    others = [phrase for phrase in attributes if phrase != first]
    extras = ", ".join(phrase.title() for phrase in in_title)
    name = f"{brand} {line} {head}, {extras}, for {rng.choice(category.uses)}"
    opening = rng.choice(_OPENINGS).format(brand=brand, line=line)
    description = f"{opening} {rng.choice(category.story)} Worth knowing: {' and '.join(told)}."
    features = [ATTRIBUTES[phrase].feature for phrase in [first, *rng.sample(others, len(others))]]
    reviews = rng.sample(_PRAISE, rng.randrange(4))
    return {
        "asin": _asin(rng, taken),
        "name": name,
        "category": category.department,
        "query": category.query,
        "product_category": category.path,
        "full_description": description,
        "small_description": features,
        "pricing": _pricing(rng, *category.prices),
        "customization_options": {
            option: [{"value": value} for value in _some(rng, pool)] for option, pool in category.options.items()
        },
        "Attributes": sorted(attributes),
        "images": [f"{category.query.replace(' ', '-')}-{rng.randrange(1, 9)}.jpg"],
        "Rating": f"{sum(score for _, score, _ in reviews) / len(reviews):.1f}" if reviews else "N.A.",
        "Reviews": [{"title": title, "score": score, "body": body} for title, score, body in reviews],
    }


def _some(rng: random.Random, pool: Sequence[str]) -> list[str]:
    """A random part of a pool, in the pool's order: at least half of it and at least two values."""
    n = rng.randint(max(2, (len(pool) + 1) // 2), len(pool))
    keep = set(rng.sample(range(len(pool)), n))
    return [value for index, value in enumerate(pool) if index in keep]


def _pricing(rng: random.Random, low: int, high: int) -> str:
    price = rng.randrange(low, high) + rng.choice((0.49, 0.95, 0.99))
    if rng.random() < 0.2:
        return f"${price:.2f} to ${price + rng.choice((2, 3, 5, 8)):.2f}"
    return f"${price:.2f}"


def _asin(rng: random.Random, taken: set[str]) -> str:
    while True:
        asin = "B0" + "".join(rng.choices(_ID_LETTERS, k=8))
        if asin not in taken:
            taken.add(asin)
            return asin
