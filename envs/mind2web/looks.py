"""The open page of a session as the document that a browser would show, for a page of a record."""

from __future__ import annotations

from html import escape

from simia_gym.domain.domain import Domain
from simia_gym.envs.mind2web.browser.tree import document
from simia_gym.envs.mind2web.screen import open_page, session_of
from simia_gym.state import State


def looks(domain: Domain, state: State) -> list[tuple[str, str]]:
    """The page, below what was typed and what the browser has refused; nothing of a recording, which has no tree."""
    if "session" not in state.tables or not state.has("session", "main"):
        return []
    session = session_of(state)
    opened = open_page(state, session)
    typed = "".join(
        f"<li>{escape(opened.called.get(int(number), ''))}: {escape(str(value))}</li>"
        for number, value in session["typed"].items()
    )
    notes = f"<ul>{typed}</ul>" if typed else ""
    if session["notice"]:
        notes += f"<p><b>{escape(session['notice'])}</b></p>"
    return [(f"the open page, {session['path']}", notes + document(session["site"], opened.page.body))]
