# ruff: noqa: D417 (a tool's docstring tells the policy about its arguments; the draft is none of them)
"""A recorded step as an episode: each turn answers one query of the tournament.

The state holds the queue of candidates and what was chosen last; the page stays in its file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from simia_gym.contracts import EPISODE
from simia_gym.domain.tools import tool
from simia_gym.domain.world import World
from simia_gym.envs.mind2web.recorded.opened import opened, page_of, pruned
from simia_gym.envs.mind2web.recorded.page import prompt
from simia_gym.envs.mind2web.recorded.tournament import NO_CHOICE, Choice, Tournament
from simia_gym.envs.mind2web.screen import session_of
from simia_gym.errors import ToolError
from simia_gym.state import Draft, State
from simia_gym.types import JsonObject, Row, Task, ToolCall

PUBLISHED = "mind2web"
BEST = 50
"""So many of the best ranked candidates are asked about by default, and kept in a state, for recall."""
SCHEMA: JsonObject = {
    "tables": {
        "session": {
            "description": "The recorded step, its tournament, and what was chosen last.",
            "goal": False,
            "row": {
                "type": "object",
                "required": ["data", "step", "best", "top_k", "tournament", "asked", "over", "given_up"],
                "additionalProperties": False,
                "properties": {
                    "data": {"type": "string"},
                    "step": {"type": "string"},
                    "best": {"type": "array", "items": {"type": "string"}},
                    "top_k": {"type": "integer"},
                    "tournament": {"type": "object"},
                    "asked": {"type": "integer"},
                    "over": {"type": "boolean"},
                    "given_up": {"type": "boolean"},
                },
            },
        }
    }
}
ENDS: JsonObject = {"path": "/session/main/over", "value": True, "reason": "answered"}
_RENDER = "simia_gym.envs.mind2web.recorded.world:render"
_MOST = 100
_OVER = "This step is over."


class RecordedWorld(World):
    """The tournament over the candidates of a recorded step.

    Options:
        compat: ``mind2web`` asks and scores as published; null also asks about a lone candidate, refuses letters that
            no choice has, and gives steps that nobody can solve no reward.
        top_k: So many of the best ranked candidates are asked about.
    """

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(options)
        compat, top_k = self.options.get("compat"), self.options.get("top_k", BEST)
        if compat not in (None, PUBLISHED):
            raise ValueError(f"compat is {compat!r}; use {PUBLISHED!r} or null")
        if type(top_k) is not int or not 1 <= top_k <= _MOST:
            raise ValueError(f"top_k is {top_k!r}; use a number from 1 to {_MOST}")
        self._published, self._top_k = compat == PUBLISHED, top_k

    @tool(effect="write", reads=("session/main",), writes=("session/main",), render=_RENDER, route="world")
    def click(self, db: Draft, choice: str, op: Literal["CLICK", ""] = "CLICK") -> None:
        """Choose an element that is clicked next.

        Args:
            choice: The letter of the element.
            op: Leave it out. It is empty for a reply that names an element and no action.
        """
        self._answer(db, Choice(choice, op, ""))

    @tool(effect="write", reads=("session/main",), writes=("session/main",), render=_RENDER, route="world")
    def select(self, db: Draft, choice: str, value: str) -> None:
        """Choose a list, and what is selected in it.

        Args:
            choice: The letter of the element.
            value: The text of the option.
        """
        self._answer(db, Choice(choice, "SELECT", value))

    @tool(effect="write", reads=("session/main",), writes=("session/main",), render=_RENDER, route="world")
    def type(self, db: Draft, choice: str, value: str) -> None:
        """Choose a box, and what is typed into it.

        Args:
            choice: The letter of the element.
            value: The text.
        """
        self._answer(db, Choice(choice, "TYPE", value))

    @tool(effect="write", reads=("session/main",), writes=("session/main",), render=_RENDER, route="world")
    def more(self, db: Draft) -> None:
        """Choose none of the listed elements."""
        self._answer(db, NO_CHOICE)

    @tool(effect="write", reads=("session/main",), writes=("session/main",), terminal=True, route="world")
    def done(self, db: Draft, answer: str = "") -> str:
        """Give the step up: nothing is chosen.

        Args:
            answer: Recorded steps ask no question; leave it out.
        """
        db.put("session", "main", {**session_of(db.state), "over": True, "given_up": True})
        return _OVER

    def opening(self, db: Draft, task: Task) -> str:
        """Shuffle the best candidates and ask the first query."""
        data, key = task.options["data"], task.options["step"]
        recordings = opened(data)
        best = recordings.ranked(key)
        _, step = recordings.steps[key]
        seed = f"{db.state.at(f'/{EPISODE}/main/seed')}/{key}"
        asked = best[: self._top_k]
        match = Tournament(asked, page_order=page_of(step).ordered(asked), seed=seed, published=self._published)
        row: JsonObject = {"data": data, "step": key, "best": best[: max(BEST, self._top_k)], "top_k": self._top_k}
        row |= {"tournament": match.to_row(), "asked": 0, "over": False, "given_up": False}
        db.put("session", "main", row)
        return _text(row)

    def info(self, state: State) -> Mapping[str, Any]:
        """Give the words of the choices by their letters."""
        return {"choices": dict(zip("BCDEF", _shown(session_of(state))[1], strict=False))}

    def _answer(self, db: Draft, choice: Choice) -> None:
        row = session_of(db.state)
        match = Tournament.of_row(row["tournament"])
        query = match.query or ()
        letters = "BCDEF"[: len(query)]
        if not self._published and choice != NO_CHOICE and choice.letter not in [*letters]:
            why = f"The letters are: {', '.join(letters)}; none of the above is more()."
            raise ToolError(f"There is no choice {choice.letter}.", "no_choice", why)
        if query:
            match.answer(choice)
        changed = {"tournament": match.to_row(), "asked": row["asked"] + 1, "over": match.query is None}
        db.put("session", "main", {**row, **changed})


def render(state: State, cause: ToolCall | None = None) -> str:
    """The query that is asked now; the page comes from its file."""
    return _text(session_of(state))


def _text(row: Row) -> str:
    if row["over"]:
        return _OVER
    task, step = opened(row["data"]).steps[row["step"]]
    return prompt(*_shown(row), request=task.request, done=task.reprs[: step.index])


def _shown(row: Row) -> tuple[str, Sequence[str]]:
    """The page around the candidates of the query, and these in words; nothing where there is nothing to choose."""
    query = row["tournament"]["query"]
    return pruned(opened(row["data"]).steps[row["step"]][1], tuple(query)) if query else ("", ())
