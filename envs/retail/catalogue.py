"""What the shop sells: product types with their option axes, and products drawn from them.

Every name here is a plain word for an everyday thing. A `ProductType` says which options a thing comes in and what it
may cost; `make_product` draws one product with distinct variants from it. Values of one type never occur on two of its
axes, so that "the navy one" means one thing.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simia_gym.envs._tau2.people import fresh_id
from simia_gym.types import JsonObject


@dataclass(frozen=True, slots=True)
class ProductType:
    """A kind of thing.

    Attributes:
        name: What it is called.
        price: Typical price in dollars; a variant costs 0.8 to 1.25 times as much.
        axes: Option names and the values that each can take.
    """

    name: str
    price: float
    axes: Mapping[str, tuple[str, ...]]

    @property
    def combinations(self) -> int:
        """How many distinct variants there can be."""
        return math.prod(len(values) for values in self.axes.values())


def _type(name: str, price: float, **axes: str) -> ProductType:
    return ProductType(
        name,
        price,
        {axis.replace("_", " "): tuple(part.strip() for part in values.split("|")) for axis, values in axes.items()},
    )


TYPES: tuple[ProductType, ...] = (
    _type("Rain Jacket", 128, size="XS|S|M|L|XL", color="navy|moss|mustard|charcoal", lining="mesh|fleece"),
    _type("Trail Boots", 164, size="6|7|8|9|10|11", upper="suede|nubuck|knit", waterproof="yes|no"),
    _type("Canvas Satchel", 74, color="sand|rust|ink", closure="buckle|zipper|magnet", volume="12 L|18 L"),
    _type("Camp Lantern", 46, brightness="200 lm|400 lm|800 lm", power="rechargeable|AA batteries", color="red|teal"),
    _type("Pour-Over Kettle", 88, capacity="0.6 L|0.9 L|1.2 L", finish="matte black|brushed steel|copper"),
    _type("Iron Skillet", 57, diameter="8 inch|10 inch|12 inch", coating="enamel|bare", handle="short|long"),
    _type("Paring Knife Set", 69, pieces="3|5|7", grip="walnut|resin|cork", sheath="included|none"),
    _type("Bath Towel Bundle", 52, pieces="4|6|8", color="ivory|slate|coral|sage", weave="waffle|terry"),
    _type("Linen Bedding", 176, size="twin|queen|king", color="oat|indigo|clay", pattern="plain|striped"),
    _type("Arc Floor Lamp", 139, shade="paper|glass|brass", height="58 inch|66 inch", dimmable="yes|no"),
    _type("Sit-Stand Desk", 548, width="48 inch|60 inch|72 inch", top="bamboo|laminate|oak", memory_presets="2|4"),
    _type("Monitor Arm", 112, screens="one|two", mount="clamp|grommet", color="silver|black|white"),
    _type("Trackball", 63, connection="cable|radio|bluetooth", handed="left|right", buttons="3|5|8"),
    _type("Shelf Speakers", 289, cabinet="ash|cherry|graphite", input="analog|optical|usb", power="30 W|60 W"),
    _type("Pocket SSD", 119, capacity="500 GB|1 TB|2 TB|4 TB", port="USB-C|USB-A", case="rubber|aluminum"),
    _type("E-Ink Notepad", 334, screen="8 inch|10 inch|13 inch", memory="16 GB|32 GB|64 GB", pen="included|none"),
    _type("Studio Webcam", 97, resolution="1080p|1440p|4K", microphone="built-in|none", field_of_view="65|78|90"),
    _type("Cork Exercise Mat", 58, thickness="3 mm|5 mm|8 mm", length="68 inch|74 inch", strap="included|none"),
    _type("Commuter Helmet", 92, size="small|medium|large", color="lime|pearl|onyx", visor="clear|tinted|none"),
    _type("Glazed Planter", 38, diameter="6 inch|9 inch|14 inch", glaze="celadon|cobalt|chalk", saucer="yes|no"),
)
"""The types of the base catalogue."""

LINES: tuple[str, ...] = (
    "Alder", "Birchwood", "Calico", "Dovetail", "Ember", "Fernhill", "Gullwing", "Harbor", "Ironwood", "Juniper",
    "Kestrel", "Larkspur", "Meridian", "Northfold", "Osprey", "Pinecrest", "Quarry", "Redstart", "Saltmarsh",
    "Tamarack", "Umber", "Vesper", "Wrenfield", "Yarrow",
)  # fmt: skip
"""Product lines: put before a type they give products that the base catalogue does not have."""


def fresh_product(rng: random.Random, taken_names: set[str]) -> tuple[str, ProductType]:
    """A product name that is not in use, such as ``Larkspur Monitor Arm``, and the type of the product."""
    while True:
        line, kind = rng.choice(LINES), rng.choice(TYPES)
        name = f"{line} {kind.name}"
        if name not in taken_names:
            return name, kind


def make_product(rng: random.Random, name: str, kind: ProductType, n_variants: int, taken: set[str]) -> JsonObject:
    """Draw a row of ``products``.

    No two variants have the same options. About one in five is out of stock, at least one of four or more, and at
    least two variants (or all, if there are fewer) are in stock.

    Args:
        rng: Source of chance.
        name: Its name.
        kind: Its type.
        n_variants: How many variants; cut to the number of possible combinations.
        taken: Identifiers in use; the new ones are added.
    """
    axes = tuple(kind.axes)
    combinations = list(itertools.product(*kind.axes.values()))
    chosen = rng.sample(combinations, min(n_variants, len(combinations)))
    n_gone = max(round(len(chosen) * 0.2), 1) if len(chosen) >= 4 else 0
    gone = set(rng.sample(range(len(chosen)), n_gone))
    cents = _prices(rng, kind.price, len(chosen))
    variants: dict[str, Any] = {}
    identifier = fresh_id(rng, taken)
    for index, values in enumerate(chosen):
        key = fresh_id(rng, taken)
        variants[key] = {
            "item_id": key,
            "options": dict(zip(axes, values, strict=True)),
            "available": index not in gone,
            "price": cents[index] / 100,
        }
    return {"name": name, "product_id": identifier, "variants": variants}


def _prices(rng: random.Random, typical: float, n: int) -> list[int]:
    """Distinct prices in cents: "the cheapest one" should mean one thing."""
    low, high = round(typical * 80), round(typical * 125)
    return rng.sample(range(low, high), n)
