"""The shop's pages in the published text format: visible texts joined by ``[SEP]``, and the clickable names.

Texts that depend on only one product are cached. A page does not show the chosen options, as in the published text
format.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simia_gym.types import JsonObject

SEP = " [SEP] "
PER_PAGE = 10
SEARCH, BACK, PREVIOUS, NEXT, BUY = "search", "back to search", "< prev", "next >", "buy now"
SUB_PAGES = ("description", "features", "reviews")
START: JsonObject = {"page": "start", "keywords": None, "results": None, "number": 1, "asin": None, "options": {}}
"""What the row of a session holds on the start page, whatever came before."""


class Part(NamedTuple):
    """The part of a page after the instruction.

    Attributes:
        text: The page's text after the instruction, with the line of available actions.
        clickables: The clickable names, in published order.
        targets: Option value to option name, on an item page.
    """

    text: str
    clickables: tuple[str, ...]
    targets: Mapping[str, str]


NOTHING: Mapping[str, str] = {}


def actions_line(clickables: Sequence[str], *, search_bar: bool = False) -> str:
    """The last line of an observation: the available actions as JSON."""
    return f"\n\nAvailable Actions:\n{json.dumps(available(clickables, search_bar=search_bar))}"


def available(clickables: Sequence[str], *, search_bar: bool = False) -> JsonObject:
    """The available actions as a JSON object: ``has_search_bar`` and ``clickables``."""
    return {"has_search_bar": search_bar, "clickables": list(clickables)}


def head(instruction: str) -> str:
    """The beginning of every page except the first and the last."""
    return f"Instruction:{SEP}{instruction}{SEP}"


def start_page(instruction: str) -> str:
    """The page with the search bar."""
    return f"WebShop{SEP}{head(instruction)}Search{actions_line((SEARCH,), search_bar=True)}"


def window(found: Sequence[str], number: int) -> Sequence[str]:
    """The results that one page shows."""
    return found[max(number - 1, 0) * PER_PAGE : number * PER_PAGE]


def results_part(found: Sequence[str], products: Mapping[str, Mapping[str, Any]], number: int) -> Part:
    """Page ``number``, from 1, of the results whose ids were ``found``, best first; beyond the last one it is empty."""
    shown = window(found, number)
    turning = ("< Prev", "Next >") if number > 1 else ("Next >",)
    texts = ["Back to Search", f"Page {number} (Total results: {len(found)})", *turning]
    for asin in shown:
        texts += (asin, products[asin]["title"].strip(), products[asin]["price_tag"])
    clickables = (BACK, *(word.lower() for word in turning), *(asin.lower() for asin in shown))
    return Part(SEP.join(texts) + actions_line(clickables), clickables, NOTHING)


def item_part(product: Mapping[str, Any]) -> Part:
    """A product's own page. Where two options share a value, clicking it chooses the later option."""
    texts = ["Back to Search", "< Prev"]
    targets: dict[str, str] = {}
    for name, values in product["options"].items():
        texts += (name.strip(), *values)
        targets.update(dict.fromkeys(values, name))
    texts += (product["title"].strip(), f"Price: {product['price_tag']}", f"Rating: {product['rating']}")
    texts += ("Description", "Features", "Reviews", "Buy Now")
    clickables = tuple(dict.fromkeys((BACK, PREVIOUS, *SUB_PAGES, BUY, *targets)))
    return Part(SEP.join(texts) + actions_line(clickables), clickables, targets)


def sub_part(product: Mapping[str, Any], page: str) -> Part:
    """One of the `SUB_PAGES` behind a product's page."""
    texts = ["Back to Search", "< Prev"]
    if page == "features":
        texts += [bullet.strip() for bullet in product["bullets"]]
    elif page == "reviews":
        for review in product["reviews"]:
            texts += [f'"{review["title"]}"', str(review["score"])]
            texts += [review["body"].strip()] if review["body"] else []
    elif product["description"]:
        texts.append(product["description"].strip())
    clickables = (BACK, PREVIOUS)
    return Part(SEP.join(texts) + actions_line(clickables), clickables, NOTHING)


def end_page(asin: str, options: Mapping[str, str]) -> str:
    """The page after a purchase.

    Unlike the published page, it does not show the score: the world does not know the goal, and the verdict holds the
    reward.
    """
    texts = ["Thank you for shopping with us!", "Your code:", "None", "Purchased", "asin", asin]
    return SEP.join([*texts, "options", json.dumps(options)]) + actions_line(())
