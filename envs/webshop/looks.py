"""The open page of a visit as a document, for a page of a record."""

from __future__ import annotations

from html import escape

from simia_gym.domain.domain import Domain
from simia_gym.envs.webshop.pages import SEP
from simia_gym.envs.webshop.screen import info, render
from simia_gym.state import State


def looks(domain: Domain, state: State) -> list[tuple[str, str]]:
    """The page with its buttons."""
    text, _, _ = render(state).partition("\n\nAvailable Actions:")
    can = info(state)
    buttons = {str(name).casefold() for name in can["clickables"]}
    parts = [part.strip() for part in text.split(SEP) if part.strip()]
    search = "<input placeholder='search' readonly>" if can["has_search_bar"] else ""
    return [("the open page", search + "".join(_part(part, part.casefold() in buttons) for part in parts))]


def _part(text: str, button: bool) -> str:
    return f"<button type=button>{escape(text)}</button> " if button else f"<p>{escape(text)}</p>"
