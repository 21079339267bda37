"""Themes draw the same page in different markup: the same is named, asked for and refused."""

from __future__ import annotations

from functools import partial

import pytest

from simia_gym.envs.mind2web.browser.acting import Outcome, Refusal, Typing, click, select, write_in
from simia_gym.envs.mind2web.browser.declared import outside
from simia_gym.envs.mind2web.browser.names import names, role
from simia_gym.envs.mind2web.browser.page import Page
from simia_gym.envs.mind2web.browser.requests import Request
from simia_gym.envs.mind2web.browser.themes import THEMES, Field, Form, Heading, Rows, Step, Steps, Theme, Words, draw
from simia_gym.envs.mind2web.browser.tree import text, walk, write

DAYS = (("mo", "Monday"), ("tu", "Tuesday"))
BLOCKS = (
    Heading("Book a visit"),
    Words("Visits cannot be moved."),
    Steps((Step("Home", "/"), Step("Next week", "/slots?week=2&by=a+b"))),
    Rows(("Doctor", "Room"), ((("Ann Lee", "3"), (Step("See Ann Lee", "/doctor?id=7"),)), (("Bo Berg", "4"), ()))),
    Form(
        "/book",
        (
            Field("person", "Full name", required=True, limits=(("maxlength", "40"),)),
            Field("born", "Date of birth", "date"),
            Field("day", "Day", "choice", DAYS, value="tu"),
            Field("wish", "Language", "choice", DAYS, required=True),
            Field("note", "Note", "area"),
            Field("mail", "Send a reminder", "flag", value="yes"),
            Field("doctor", "", "hidden", value="7"),
        ),
        "Book",
        "post",
    ),
)

each = pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)


def opened(theme: Theme) -> tuple[Page, dict[tuple[str, str], int]]:
    """The page, and the numbers of its elements by role and name."""
    page = Page(partial(draw, BLOCKS, theme), "/start")
    called = names(page)
    found = {(role(page.nodes[number]), name): number for number, name in called.items()}
    assert "" not in called.values()
    return page, found


def choose(page: Page, found: dict[tuple[str, str], int], typed: Typing, field: str, option: str) -> Typing:
    outcome: Outcome
    if ("combobox", field) in found:
        outcome = select(page, typed.typed, found["combobox", field], option)
    else:
        (legend,) = (
            node for node in page.nodes.values() if node.element.tag == "legend" and text(node.element) == field
        )
        radios = (
            number
            for number, name in names(page).items()
            if name == option and page.nodes[number].parent == legend.parent
        )
        outcome = click(page, typed.typed, next(radios))
    assert isinstance(outcome, Typing)
    return outcome


@each
def test_pages_lie_within_the_declared_part(theme: Theme) -> None:
    assert outside(draw(BLOCKS, theme)) == []


def test_themes_differ_in_markup_and_not_in_what_they_say() -> None:
    assert len({write(draw(BLOCKS, theme)) for theme in THEMES}) == len(THEMES) >= 4
    for theme in THEMES:
        said = text(draw(BLOCKS, theme))
        assert all(words in said for words in ("Book a visit", "Ann Lee", "Bo Berg", "Doctor", "Monday"))


@each
def test_markup_follows_the_theme(theme: Theme) -> None:
    nodes = list(walk(draw(BLOCKS, theme)))
    tags = [node.tag for node in nodes]
    assert ("table" in tags, "article" in tags) == (theme.rows == "table", theme.rows == "cards")
    assert ("a" in tags) == (theme.steps == "link")
    assert ("select" in tags) == (theme.choices == "list")
    assert any(node.get("placeholder") == "Full name" for node in nodes) == (theme.labels == "placeholder")
    assert any(node.get("aria-label") == "Full name" for node in nodes) == (theme.labels == "aria-label")


@each
@pytest.mark.parametrize(
    ("words", "path", "query"),
    [
        ("Next week", "/slots", (("week", "2"), ("by", "a b"))),
        ("See Ann Lee", "/doctor", (("id", "7"),)),
    ],
)
def test_steps_lead_to_the_same_page(theme: Theme, words: str, path: str, query: tuple[tuple[str, str], ...]) -> None:
    page, found = opened(theme)
    assert click(page, {}, found[theme.steps, words]) == Request("GET", path, query)


@each
def test_a_filled_form_is_the_same_request(theme: Theme) -> None:
    page, found = opened(theme)
    typed = write_in(page, {}, found["textbox", "Full name"], "Zoë Fox")
    assert isinstance(typed, Typing)
    refused = click(page, typed.typed, found["button", "Book"])
    assert isinstance(refused, Refusal)
    assert "Language" in refused.reason
    typed = choose(page, found, typed, "Language", "Monday")
    sent = {"person": "Zoë Fox", "born": "", "day": "tu", "wish": "mo", "note": "", "mail": "yes", "doctor": "7"}
    assert click(page, typed.typed, found["button", "Book"]) == Request("POST", "/book", None, tuple(sent.items()))
