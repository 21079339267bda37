"""A visit by a person: the rows as their requests leave them, and in the end a verdict as an agent's visit gets it."""

from __future__ import annotations

import random
from dataclasses import replace
from threading import Lock
from typing import Any

from simia_gym.domain.domain import Domain
from simia_gym.envs.mind2web import screen
from simia_gym.envs.mind2web.browser.requests import Request
from simia_gym.envs.mind2web.browser.themes import THEMES, draw
from simia_gym.envs.mind2web.browser.tree import document
from simia_gym.envs.mind2web.sites.loading import find_site
from simia_gym.envs.mind2web.sites.pages import Visit, blocks, row_of
from simia_gym.envs.mind2web.sites.rows import Shelf, account_rows, catalogue_rows
from simia_gym.envs.mind2web.sites.server import answer
from simia_gym.envs.mind2web.sites.spec import Site
from simia_gym.errors import InputError, did_you_mean
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.state import State
from simia_gym.types import Task, Verdict

SEED = 0
"""Without a task, the rows of the account follow from it."""


class Visitor:
    """A site and the rows that a person changes on it.

    Requests may come in any order and from any page: unlike an agent, a person has a way back, and tabs.

    Args:
        site: The site.
        start: The state before the visit, with the row of its session.
        theme: The name of the theme in which pages are drawn; by default that of the session.

    Attributes:
        state: The state now.
    """

    def __init__(self, site: Site, start: State, theme: str | None = None) -> None:
        self.site, self.start, self.state = site, start, start
        self._session = screen.session_of(start)
        name = self._session["theme"] if theme is None else theme
        known = {one.name: one for one in THEMES}
        if name not in known:
            fix = f"{did_you_mean(name, known)}Use one of: {', '.join(known)}."
            raise InputError(f"there is no theme {name!r}", where="theme", fix=fix)
        self._theme = known[name]
        self._lock = Lock()

    @property
    def request(self) -> str:
        """The sentence of the task; empty without a task."""
        return str(self._session["request"])

    @property
    def asks(self) -> bool:
        """Whether the task asks for an answer."""
        return bool(self._session["asks"])

    def page(self, request: Request) -> tuple[int, str]:
        """The status and the document of an address."""
        visit, shelf = Visit(request.path, request.query, self._session["seed"]), self._shelf()
        name = self.site.paths.get(request.path)
        page = None if name is None else self.site.pages[name]
        there = page is not None and (page.of is None or row_of(page, visit, shelf) is not None)
        title = f"{page.menu or page.heading} - {self.site.title}" if page is not None and page.of is None else ""
        return 200 if there else 404, document(title or self.site.title, draw(blocks(visit, shelf), self._theme))

    def send(self, request: Request) -> str:
        """Does what a form asks for.

        Returns:
            The address of the page that comes then.
        """
        with self._lock:
            given = answer(request, self._shelf(), self._session["seed"])
            if given.changes:
                draft = self.state.draft()
                for key, row in given.changes.items():
                    if row is None:
                        draft.remove("account", key)
                    else:
                        draft.put("account", key, row)
                self.state = draft.commit()[0]
        return Request("GET", given.path, given.query).url

    def _shelf(self) -> Shelf:
        return Shelf(self.site, self.state.table("catalogue"), self.state.table("account"))

    async def verdict(self, domain: Domain, task: Task, said: str | None) -> Verdict:
        """Judges the visit as that of an agent that has ended it.

        Args:
            domain: The domain of the task.
            task: The task.
            said: The answer; None where the visit was left without an end.
        """
        events: list[dict[str, Any]] = []
        if said is not None:
            call = {"name": "done", "arguments": {"answer": said} if said else {}}
            events.append(
                {
                    "i": 0,
                    "type": "transition",
                    "turn": 1,
                    "speaker": "env",
                    "call": call,
                    "say": None,
                    "observation": "",
                    "outcome": "ok",
                    "error_code": None,
                    "ops": (),
                    "end": "terminal_tool",
                    "meta": {},
                }
            )
        finished = FinishedEpisode(
            task=task,
            events=events,
            initial=self.start,
            final=self.state,
            ended="terminal_tool" if said is not None else "left",
            turns=len(events),
            tools=domain.tool_entries,
            uncounted=domain.uncounted,
        )
        # Scores of steps compare letters, and a person presses none.
        return replace(await domain.make_reward().score(finished), parts={})


def freely(site: Site, theme: str | None = None) -> Visitor:
    """A visit without a task, on a site with the rows of some account."""
    catalogue = catalogue_rows(site)
    account = account_rows(site, random.Random(SEED), catalogue)
    session = screen.new_session(site, "", THEMES[0].name, SEED)
    tables = {"catalogue": catalogue, "account": account, "session": {"main": session}}
    return Visitor(site, State.from_tables(tables), theme)


def on_task(domain: Domain, task: Task, site: str | None, theme: str | None = None) -> Visitor:
    """A visit with a task.

    Args:
        domain: The domain of the task.
        task: The task.
        site: The name of the site that is to be served; None for whichever the task is about.
        theme: As for `Visitor`.

    Raises:
        InputError: The task is one of another site.
    """
    start = domain.begun(task)
    session = start.get("session", "main")
    there = None if session is None else str(session["site"])
    if there is None or site not in (None, there):
        fix = "Name a task that is played on a site." if there is None else f"Serve {there}, or name another task."
        raise InputError(f"{task.id} is no task of {site}", where="task", fix=fix)
    return Visitor(find_site(there), start, theme)
