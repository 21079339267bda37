"""What a policy is shown: the newest page, which names the actions before it."""

from __future__ import annotations

from simia_gym.views.history import History

_PAGE = "'''\n"


def newest(history: History) -> str:
    """The newest page; below it, what was said since to actions that could not be taken."""
    said = [history.opening, *(done.observation for done in history.done)]
    place = max((n for n, text in enumerate(said) if text.startswith(_PAGE)), default=len(said) - 1)
    page, last = said[place], said[-1]
    return page if place == len(said) - 1 else f"{page}\n\n{last}"
