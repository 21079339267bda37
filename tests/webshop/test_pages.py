from __future__ import annotations

import json
from typing import Any

import pytest

from simia_gym.envs.webshop import screen
from simia_gym.envs.webshop.world import WebShopWorld
from simia_gym.state import State
from simia_gym.types import JsonObject, ToolCall

SEARCH, ITEM = ToolCall("search", {"keywords": "red lamp"}), "b01"
HEAD = "Instruction: [SEP] find me a red lamp [SEP] "


def shop() -> State:
    """Twelve lamps; the first has everything that a page can show, the second nothing."""
    plain: JsonObject = {
        "category": "garden",
        "query": "lamp",
        "product_category": "Home › Lamps",
        "description": "",
        "bullets": [],
        "price_tag": "$100.0",
        "price": 100.0,
        "options": {},
        "attributes": [],
        "rating": "N.A.",
        "reviews": [],
    }
    rows = {f"B{n:02d}": {**plain, "asin": f"B{n:02d}", "title": f"Lamp {n}"} for n in range(1, 13)}
    rows["B01"] |= {
        "title": " Red Lamp ",
        "description": " Glows. Lamp lamp lamp. ",
        "bullets": ["Red lamp. ", "Warm."],
        "price_tag": "$9.99 to $12.5",
        "price": 11.0,
        "options": {"color": ["red", "black | white"], "size": ["small", "red"]},
        "rating": "4.5",
        "reviews": [{"title": "Good", "score": 5, "body": "Yes."}, {"title": "So so", "score": 3, "body": ""}],
    }
    session: JsonObject = {
        "instruction": "find me a red lamp",
        "page": "start",
        "keywords": None,
        "results": None,
        "number": 1,
        "asin": None,
        "options": {},
        "bought": False,
    }
    return State.from_tables({"products": rows, "session": {"main": session}})


def walk(*steps: ToolCall | str, options: JsonObject | None = None) -> tuple[str, JsonObject, str | None]:
    """Take steps from the start page, a text being a click; give the last page's text, actions and error code."""
    world, state = WebShopWorld(options), shop()
    text, code = screen.render(state), None
    info: Any = world.info(state)
    for step in steps:
        transition = world.call(state, ToolCall("click", {"value": step}) if isinstance(step, str) else step)
        text, code, info = transition.observation, transition.error_code, transition.info
        state = state if transition.state is None else transition.state
    page, _, line = text.partition("\n\nAvailable Actions:\n")
    assert json.loads(line) == info
    return page, info, code


FIRST_PAGE = (
    HEAD + "Back to Search [SEP] Page 1 (Total results: 12) [SEP] Next > [SEP] B01 [SEP] Red Lamp [SEP] "
    "$9.99 to $12.5" + "".join(f" [SEP] B{n:02d} [SEP] Lamp {n} [SEP] $100.0" for n in range(2, 11))
)
LAST_PAGE = HEAD + (
    "Back to Search [SEP] Page 2 (Total results: 12) [SEP] < Prev [SEP] Next > [SEP] B11 [SEP] Lamp 11 [SEP] $100.0"
    " [SEP] B12 [SEP] Lamp 12 [SEP] $100.0"
)
ITEM_PAGE = HEAD + (
    "Back to Search [SEP] < Prev [SEP] color [SEP] red [SEP] black | white [SEP] size [SEP] small [SEP] red [SEP] "
    "Red Lamp [SEP] Price: $9.99 to $12.5 [SEP] Rating: 4.5 [SEP] "
    "Description [SEP] Features [SEP] Reviews [SEP] Buy Now"
)
SUB_PAGE = HEAD + "Back to Search [SEP] < Prev"
SUB_ACTIONS = ["back to search", "< prev"]
BUTTONS = ["back to search", "< prev", "description", "features", "reviews", "buy now"]
ITEM_ACTIONS = [*BUTTONS, "red", "black | white", "small"]


@pytest.mark.parametrize(
    ("steps", "page", "clickables"),
    [
        ([], f"WebShop [SEP] {HEAD}Search", ["search"]),
        ([SEARCH], FIRST_PAGE, ["back to search", "next >", *(f"b{n:02d}" for n in range(1, 11))]),
        ([SEARCH, "next >"], LAST_PAGE, ["back to search", "< prev", "next >", "b11", "b12"]),
        (
            [SEARCH, "next >", "Next >"],
            HEAD + "Back to Search [SEP] Page 3 (Total results: 12) [SEP] < Prev [SEP] Next >",
            ["back to search", "< prev", "next >"],
        ),
        (
            [ToolCall("search", {"keywords": "unheard of"})],
            HEAD + "Back to Search [SEP] Page 1 (Total results: 0) [SEP] Next >",
            ["back to search", "next >"],
        ),
        ([SEARCH, ITEM], ITEM_PAGE, ITEM_ACTIONS),
        ([SEARCH, ITEM, "small"], ITEM_PAGE, ITEM_ACTIONS),
        (
            [SEARCH, "B02"],
            HEAD + "Back to Search [SEP] < Prev [SEP] Lamp 2 [SEP] Price: $100.0 [SEP] Rating: N.A. [SEP] Description "
            "[SEP] Features [SEP] Reviews [SEP] Buy Now",
            BUTTONS,
        ),
        ([SEARCH, ITEM, "Description"], SUB_PAGE + " [SEP] Glows. Lamp lamp lamp.", SUB_ACTIONS),
        ([SEARCH, ITEM, "features"], SUB_PAGE + " [SEP] Red lamp. [SEP] Warm.", SUB_ACTIONS),
        ([SEARCH, ITEM, "reviews"], SUB_PAGE + ' [SEP] "Good" [SEP] 5 [SEP] Yes. [SEP] "So so" [SEP] 3', SUB_ACTIONS),
        ([SEARCH, "b02", "description"], SUB_PAGE, SUB_ACTIONS),
        ([SEARCH, ITEM, "reviews", "< prev"], ITEM_PAGE, ITEM_ACTIONS),
        ([SEARCH, "next >", "b11", "< prev"], LAST_PAGE, None),
        ([SEARCH, "next >", "< prev"], FIRST_PAGE, None),
        ([SEARCH, ITEM, "back to search"], f"WebShop [SEP] {HEAD}Search", ["search"]),
        (
            [SEARCH, ITEM, "black | white", "buy now"],
            "Thank you for shopping with us! [SEP] Your code: [SEP] None [SEP] Purchased [SEP] asin [SEP] B01 [SEP] "
            'options [SEP] {"color": "black | white"}',
            [],
        ),
        (
            [SEARCH, ITEM, "red", "small", "features", "< prev", "BUY NOW"],
            "Thank you for shopping with us! [SEP] Your code: [SEP] None [SEP] Purchased [SEP] asin [SEP] B01 [SEP] "
            'options [SEP] {"size": "small"}',
            [],
        ),
    ],
)
def test_pages(steps: list[ToolCall | str], page: str, clickables: list[str] | None) -> None:
    text, info, code = walk(*steps)
    assert text == page
    assert code is None
    assert info["has_search_bar"] is text.startswith("WebShop")
    assert clickables is None or info["clickables"] == clickables


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        (["search"], "not_clickable"),
        (["buy now"], "not_clickable"),
        ([ToolCall("search", {"keywords": "  "})], "empty_keywords"),
        ([SEARCH, "buy now"], "not_clickable"),
        ([SEARCH, "b11"], "not_clickable"),
        ([SEARCH, ToolCall("search", {"keywords": "tea"})], "no_search_bar"),
        ([SEARCH, ITEM, "blue"], "not_clickable"),
        ([SEARCH, ITEM, "color"], "not_clickable"),
        ([SEARCH, ITEM, "features", "buy now"], "not_clickable"),
        ([SEARCH, ITEM, "buy now", "buy now"], "not_clickable"),
        ([SEARCH, ITEM, "buy now", ToolCall("search", {"keywords": "tea"})], "no_search_bar"),
        ([ToolCall("buy", {})], "unknown_tool"),
        ([ToolCall("click", {})], "invalid_arguments"),
        ([ToolCall("click", {"value": 3})], "invalid_arguments"),
        ([ToolCall("search", {"keywords": "x", "page": 2})], "invalid_arguments"),
    ],
)
def test_what_cannot_be_done_shows_the_same_page(steps: list[ToolCall | str], code: str) -> None:
    before = walk(*steps[:-1])
    after = walk(*steps)
    assert after[:2] == before[:2]
    assert after[2] == code


@pytest.mark.parametrize(
    ("steps", "options"),
    [
        ([ITEM, "small", "< prev", ITEM], "{}"),  # the list forgets what was chosen
        ([ITEM, "red"], '{"size": "red"}'),  # of two options with this value, the later one
    ],
)
def test_what_was_chosen_is_bought(steps: list[ToolCall | str], options: str) -> None:
    assert walk(SEARCH, *steps, "buy now")[0].endswith(f"options [SEP] {options}")


def test_search_anywhere_is_an_option() -> None:
    options: JsonObject = {"search_anywhere": True}
    page, _, code = walk(SEARCH, ITEM, SEARCH, options=options)
    assert (page, code) == (FIRST_PAGE, None)
    assert walk(SEARCH, ITEM, "buy now", SEARCH, options=options)[2] == "no_search_bar"


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match="search_anywhere is 'yes'"):
        WebShopWorld({"search_anywhere": "yes"})
