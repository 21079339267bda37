"""The scripted expert: reads the request, searches, opens promising products, chooses options, and buys.

It uses only its messages: searches use words of the request, clicks use the clickable names on the page.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from simia_gym.envs.webshop.catalogue.request_reading import Request, read_request
from simia_gym.envs.webshop.pages import PER_PAGE, SEP
from simia_gym.types import Message, ToolCall

TURNS = 15
"""Number of actions that the expert plans with: the domain's turn limit."""


@dataclass
class Candidate:
    """What the expert has seen of a product.

    Attributes:
        asin: The product's id, as the page lists it for clicking.
        title: The product's title, in lower case.
        prices: The price, or the lower and upper end of the price range, in dollars.
        options: Option values by option name; known once the product's page was opened.
        features: Text of the features page; known once that page was opened.
    """

    asin: str
    title: str
    prices: tuple[float, ...]
    options: dict[str, list[str]] | None = None
    features: str | None = None

    def is_thing(self, request: Request) -> bool:
        """Whether the title names the wanted kind of product."""
        return all(word in self.title for word in request.thing.split())

    def price_fits(self, request: Request) -> float:
        """1 if every possible price is within the bound, 0 if none is, else 0.5."""
        if request.bound is None:
            return 1.0
        return (min(self.prices) <= request.bound) / 2 + (max(self.prices) <= request.bound) / 2

    def chosen(self, request: Request) -> list[str]:
        """The wanted option values that the product has."""
        have = self.options or {}
        return [value for name, value in request.options.items() if value in have.get(name, ())]

    def has(self, attribute: str) -> bool | None:
        """Whether the product has an attribute; ``None`` if that is not known yet."""
        if attribute in self.title or (self.features is not None and attribute in self.features):
            return True
        return None if self.features is None else False

    def merit(self, request: Request, benefit: float) -> float:
        """How much of the request the product meets; ``benefit`` is the value of an attribute not known yet."""
        open_options = self.options is None
        met = self.price_fits(request)
        met += len(request.options) * benefit if open_options else len(self.chosen(request))
        for attribute in request.attributes:
            known = self.has(attribute)
            met += benefit if known is None else known
        return met if self.is_thing(request) else met / 4


@dataclass
class Page:
    """A parsed page.

    Attributes:
        kind: ``start``, ``results``, ``item``, ``sub`` or ``other``.
        parts: The texts between separators.
        clickables: What can be clicked.
    """

    kind: str
    parts: list[str]
    clickables: list[str]


@dataclass
class _Memory:
    request: Request
    known: dict[str, Candidate] = field(default_factory=dict)
    open: Candidate | None = None
    given_up: set[str] = field(default_factory=set)
    picked: list[str] = field(default_factory=list)
    turns: int = 0


class WebShopExpert:
    """Buys what the request asks for; one object plays episodes one after another."""

    whole_transcript = True
    mistakes = ("wrong-argument", "stops-early", "first-option")

    def __init__(self) -> None:
        self._memory: _Memory | None = None

    def act(self, messages: Sequence[Message]) -> str:
        """Return the next action."""
        page = read_page(str(messages[-1]["content"]))
        if self._memory is None or not any(message["role"] == "assistant" for message in messages):
            self._memory = _Memory(read_request(page.parts[2] if len(page.parts) > 2 else ""))
        self._memory.turns += 1
        return _next(self._memory, page)

    def offered(self, call: ToolCall, messages: Sequence[Message]) -> ToolCall:
        """The click on the first product of the page, or the first value of the option, in place of the chosen one."""
        page, clicked = read_page(str(messages[-1]["content"])), call.arguments.get("value")
        known = self._memory.known if self._memory is not None else {}
        products = [name for name in page.clickables if name in known]
        for offered in (products, *_read_options(page).values()):
            if clicked in offered:
                return ToolCall(call.name, {"value": offered[0]}, call.id)
        return call


def read_page(text: str) -> Page:
    """Parse an observation: the page's text with its line of available actions."""
    body, _, line = text.partition("\n\nAvailable Actions:\n")
    parts = body.split(SEP)
    clickables = list(json.loads(line)["clickables"]) if line else []
    kind = "other"
    if parts[0] == "WebShop":
        kind = "start"
    elif len(parts) > 3 and parts[3].startswith("Page "):
        kind = "results"
    elif "buy now" in clickables:
        kind = "item"
    elif "< prev" in clickables:
        kind = "sub"
    return Page(kind, parts, clickables)


def _next(memory: _Memory, page: Page) -> str:
    if page.kind == "start":
        return f"search[{memory.request.keywords}]"
    if page.kind == "results":
        memory.open = None
        memory.picked = []
        _read_results(memory, page)
        return _choose(memory, page)
    if page.kind == "item" and memory.open is not None:
        return _judge(memory, memory.open, page)
    if page.kind == "sub" and memory.open is not None:
        memory.open.features = SEP.join(page.parts[4:]).lower()
        return "click[< prev]"
    return f"click[{page.clickables[0]}]" if page.clickables else "click[back to search]"


def _read_results(memory: _Memory, page: Page) -> None:
    """Store the id, title and price of each product on a results page."""
    for place, part in enumerate(page.parts[:-2]):
        if part.lower() in page.clickables and page.parts[place + 2].startswith("$"):
            prices = tuple(float(price.strip().lstrip("$")) for price in page.parts[place + 2].split(" to "))
            memory.known.setdefault(part.lower(), Candidate(part.lower(), page.parts[place + 1].lower(), prices))


def _choose(memory: _Memory, page: Page) -> str:
    """On a results page: open the most promising product, turn the page, or return to the best product seen."""
    request = memory.request
    listed = [memory.known[name] for name in page.clickables if name in memory.known]
    fresh = [item for item in listed if item.asin not in memory.given_up and item.merit(request, 1.0) >= _full(request)]
    left = TURNS - memory.turns + 1
    best = _best(memory)
    to_buy = 2 + len(request.options)
    if fresh and left >= to_buy:
        # Open the first one: the search ranks products with more of the wanted words higher.
        memory.open = fresh[0]
    elif not fresh and "next >" in page.clickables and len(listed) == PER_PAGE and left > to_buy + 2:
        return "click[next >]"
    elif best is not None and best in listed:
        memory.open = best
    elif best is not None and "< prev" in page.clickables:
        return "click[< prev]"
    else:
        memory.open = max(listed, key=lambda item: item.merit(request, 0.5)) if listed else None
    return f"click[{memory.open.asin}]" if memory.open is not None else "click[back to search]"


def _full(request: Request) -> float:
    return len(request.attributes) + len(request.options) + 1.0


def _best(memory: _Memory) -> Candidate | None:
    """The best product that was opened and not bought."""
    seen = [memory.known[asin] for asin in sorted(memory.given_up)]
    return max(seen, key=lambda item: item.merit(memory.request, 0.5)) if seen else None


def _judge(memory: _Memory, item: Candidate, page: Page) -> str:
    """On a product's page: open its features, go back, choose an option, or buy."""
    request = memory.request
    if item.options is None:
        item.options = _read_options(page)
    wanted = item.chosen(request)
    left = TURNS - memory.turns + 1
    if item.asin not in memory.given_up and item.merit(request, 0.0) < _full(request):
        possible = item.merit(request, 1.0) >= _full(request)
        if possible and item.features is None and left >= 3 + len(wanted):
            return "click[features]"
        if not possible and left >= 3 + len(request.options):
            memory.given_up.add(item.asin)
            return "click[< prev]"
    for value in wanted:
        if value not in memory.picked:
            memory.picked.append(value)
            return f"click[{value}]"
    return "click[buy now]"


def _read_options(page: Page) -> dict[str, list[str]]:
    """The options on a product's page: names cannot be clicked, the values after them can."""
    options: dict[str, list[str]] = {}
    name = ""
    for part in page.parts[4:]:
        if part in page.clickables:
            options.setdefault(name, []).append(part)
        elif part.startswith("Price: "):
            break
        else:
            name = part
    return {name: values for name, values in options.items() if values}
