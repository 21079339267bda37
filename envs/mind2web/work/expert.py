"""The expert: reads the newest page alone and says which next actions are right; it remembers nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Literal

from simia_gym.envs.mind2web.sites.links import NEXT, PREVIOUS
from simia_gym.envs.mind2web.sites.loading import find_site, sites_called
from simia_gym.envs.mind2web.work.position import Move, Position, path_words
from simia_gym.envs.mind2web.work.reading import read_page, read_prompt
from simia_gym.envs.mind2web.work.sentences import Asked, Sentences, known
from simia_gym.envs.mind2web.work.ways import Way, way_of
from simia_gym.policies import PolicyStart
from simia_gym.types import Calls, Message, ToolCall

Standing = Literal["done", "open", "turn", "look", "unknown"]
"""How a wish stands, as far as the page tells.

``turn``: a further page of rows may show it. ``look``: its button was pressed, and one should look at the page that
shows it.
"""
_REMEMBERED = 8_192


def right(observation: str) -> frozenset[Move]:
    """The right next actions on a page.

    Args:
        observation: The text of the page, with its task, the last actions and the choices.

    Raises:
        ValueError: The text is no page of a known site, or its task is none of the site.
    """
    return frozenset(moves(observation))


@lru_cache(_REMEMBERED)
def moves(observation: str) -> tuple[Move, ...]:
    """The same, what the expert does first."""
    prompt = read_prompt(observation)
    asked, ways = _asked(prompt.title, prompt.task)
    seen = read_page(prompt, asked.site)
    found = _Reader(Position(seen, asked.site), asked, ways).moves()
    return tuple(dict.fromkeys(found))


@lru_cache(_REMEMBERED)
def _asked(title: str, task: str) -> tuple[Asked, tuple[Way, ...]]:
    """What a task asks for, and the ways of its wishes."""
    for site in sites_called(title):
        try:
            asked = _sentences(site.name).read(task)
        except ValueError:
            continue
        return asked, tuple(way_of(site, wish, asked.slots) for wish in asked.kind.wishes)
    raise ValueError(f"no site {title!r} has a kind of task with the sentence {task[:80]!r}")


@cache
def _sentences(site: str) -> Sentences:
    return Sentences(find_site(site))


class SiteExpert:
    """Does what the task asks for. It uses only its newest message."""

    mistakes = ("wrong-argument", "stops-early", "first-option")

    def __init__(self) -> None:
        self._start: PolicyStart | None = None

    def start(self, start: PolicyStart) -> None:
        """Begin an episode."""
        self._start = start

    def act(self, messages: Sequence[Message]) -> str:
        """Return the next action."""
        assert self._start is not None
        try:
            found = moves(str(messages[-1]["content"]))
        except ValueError:  # a page that no site has, as a model may show it
            found = ()
        call = call_of((found or (Move("done"),))[0])
        return self._start.grammar.render(Calls((call,)))


def call_of(move: Move) -> ToolCall:
    """The call of a tool that an action is."""
    if move.tool == "done":
        return ToolCall("done", {"answer": move.value} if move.value else {})
    given = {"choice": move.choice} if move.choice else {}
    return ToolCall(move.tool, given | ({"value": move.value} if move.tool in ("select", "type") else {}))


class _Reader:
    """Decides on one page."""

    def __init__(self, at: Position, asked: Asked, ways: Sequence[Way]) -> None:
        self.at, self.asked, self.ways = at, asked, ways

    def moves(self) -> list[Move]:
        if self.asked.kind.read is not None:
            return self._follow(self.ways[-1])
        if len(self.ways) == 1:
            return self._one(self.ways[0])
        return self._several()

    def _one(self, way: Way) -> list[Move]:
        stands = self._standing(way)
        if stands == "done":
            return [Move("done")]
        if stands == "turn":
            return self.at.turn()
        if stands == "look" and not self.at.on(way):
            return self._look(way)
        return self._follow(way)

    def _several(self) -> list[Move]:
        stands = [self._standing(way) for way in self.ways]
        left = [way for way, how in zip(self.ways, stands, strict=True) if how != "done"]
        if not left:
            return [Move("done")]
        if deep := [way for way in left if self.at.on(way)]:
            return [move for way in deep for move in self._follow(way)]
        open_ = [way for way, how in zip(self.ways, stands, strict=True) if how == "open"]
        begun = [way for way in left if self.at.on(way) == 0 and self.at.matches(way.legs[0]) > 0]
        if begun or open_:
            return [move for way in begun or self._here_first(open_) for move in self._follow(way)]
        if "turn" in stands:
            return self.at.turn()
        pressed = [way for way, how in zip(self.ways, stands, strict=True) if how == "look"]
        if len(left) < len(self.ways):
            # Who has come back from where a wish is shown, to where its way begins, has seen that it is not done.
            if begins := [way for way in left if self.at.on(way) == 0 and way not in pressed]:
                return self._follow(begins[0])
            first = next((way for way in left if not self._has_looked(way)), None)
            if first is None:
                return [Move("done")]
            done = [Move("done")] if len(pressed) == len(left) else []
            return [*done, *self._look(first)]
        starts = [way for way in left if self.at.on(way) == 0]
        if len(starts) > 1:
            # Which of them comes next is seen only by what was pressed.
            starts = [way for way in starts if way not in pressed] or starts[self._presses(starts[0]) :]
        return self._follow(starts[0]) if len(starts) == 1 else self._look((pressed or left)[0])

    def _here_first(self, ways: Sequence[Way]) -> list[Way]:
        return sorted(ways, key=lambda way: self.at.on(way) is None)

    def _follow(self, way: Way) -> list[Move]:
        """The next part of a way."""
        place = self.at.on(way)
        first = way.legs[0].page
        if place is None:
            return self.at.go(first)
        leg = way.legs[place]
        if leg.fill is not None:
            found = self.at.fill(leg)
            return self.at.go(leg.page if leg.page in self.at.site.menu else first) if found is None else found
        if leg.pick is not None:
            rows = self.at.rows(leg.pick)
            picked = [move for row in rows for move in self.at.press(leg.press or "", row.steps)]
            return picked or self.at.turn() or self.at.go(first)
        return self._answered() or self.at.go(first) if leg.press is None else self.at.press(leg.press)

    def _answered(self) -> list[Move]:
        """Ends with what the page answers; turns the page where the row is not there."""
        read = self.asked.kind.read
        assert read is not None
        if isinstance(read, str):
            return [Move("done", value=self.at.facts[read])]
        cells = read.row
        if cells != "first":
            cells = {name: known(text, self.asked.slots) or "" for name, text in cells.items()}
        rows = self.at.rows(cells)
        return [Move("done", value=rows[0].cells[read.column])] if rows else self.at.turn()

    def _look(self, way: Way) -> list[Move]:
        assert way.wish.shown is not None
        return self.at.go(way.wish.shown.page)

    def _standing(self, way: Way) -> Standing:
        shown = way.wish.shown
        assert shown is not None
        pressed = self._presses(way) > 0
        if self.at.page != shown.page:
            return "look" if pressed else "open" if self.at.whole else "unknown"
        if shown.facts is not None:
            return "done" if all(self.at.facts.get(name) == text for name, text in way.shown.items()) else "open"
        if self.at.rows(way.shown):
            return "done" if shown.row is not None else "open"
        first = way.legs[0]
        if first.page == self.at.page and first.pick is not None and self.at.rows(first.pick):
            return "open"
        if self.at.turn():
            return "open" if self.at.whole and not pressed else "turn"
        if shown.row is not None:
            return "open"
        return "done" if not self.at.press(PREVIOUS) or self._has_leafed(way) else "look"

    def _presses(self, way: Way) -> int:
        """How often the button that fulfils a wish was pressed, as far as that is shown."""
        form = way.effect(self.at.site)
        words = "" if form is None else form.button
        return sum(not deed.fills and deed.name == words for deed in self.at.seen.past)

    def _has_leafed(self, way: Way) -> bool:
        """Whether one has leafed from the first page of rows to this one."""
        deeds = list(self.at.seen.past)
        while deeds and deeds[-1].name == NEXT:
            deeds.pop()
        return not deeds or deeds[-1].name != PREVIOUS

    def _has_looked(self, way: Way) -> bool:
        """Whether one came to this page from the one that shows a wish, and so has seen that it is done."""
        assert way.wish.shown is not None
        deeds = list(self.at.seen.past)
        while deeds and deeds[-1].name in (NEXT, PREVIOUS):
            deeds.pop()
        deeds = deeds[:-1]
        while deeds and deeds[-1].name == NEXT:
            deeds.pop()
        words = path_words(self.at.site, way.wish.shown.page)
        return bool(deeds) and not deeds[-1].fills and deeds[-1].name == words
