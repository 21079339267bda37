"""Where a reader stands: the open page, what it tells of its row and its address, and whether it lies on a way."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from simia_gym.envs.mind2web.sites.links import NEXT, PREVIOUS
from simia_gym.envs.mind2web.sites.pages import NOTHING
from simia_gym.envs.mind2web.sites.spec import FieldSpec, PageSpec, Site
from simia_gym.envs.mind2web.sites.texts import short_date
from simia_gym.envs.mind2web.work.seen import Deed, Press, Seen, SeenField, SeenRow
from simia_gym.envs.mind2web.work.sentences import matched
from simia_gym.envs.mind2web.work.ways import Leg, Way

PAST = 5
"""So many past actions are shown."""


_COUNT = re.compile(rf"(?:{re.escape(NOTHING)}|\d+ found(?:, page \d+ of \d+)?\.)$")


class Move(NamedTuple):
    """A next action: the tool, the letter of an element, and a value."""

    tool: Literal["click", "select", "type", "more", "done"]
    choice: str = ""
    value: str = ""


class Position:
    """A page that is read with a site in mind.

    Args:
        seen: The page.
        site: The site.
    """

    def __init__(self, seen: Seen, site: Site) -> None:
        self.seen, self.site = seen, site
        self.page, self.facts, self.held = _page(site, seen)

    @property
    def spec(self) -> PageSpec:
        """The page in the file of the site."""
        return self.site.pages[self.page]

    @cached_property
    def whole(self) -> bool:
        """Whether all that was done is shown."""
        return len(self.seen.past) < PAST

    def press(self, words: str, among: Sequence[Press] | None = None) -> list[Move]:
        """Presses a link or a button; nothing where there is none."""
        found = next((one for one in (self.seen.steps if among is None else among) if one.words == words), None)
        return [] if found is None else [_at("click", found.letter)]

    def turn(self) -> list[Move]:
        """Goes to the next page of rows; nothing where there is none."""
        return self.press(NEXT)

    def go(self, page: str) -> list[Move]:
        """Goes to a page by the menu, and from there by the steps that need no row."""
        for step in path(self.site, page):
            if step[0] == self.page and step[1] is not None:
                return self.press(step[1])
        return self.press(path_words(self.site, path(self.site, page)[-1][0]), self.seen.menu)

    def rows(self, cells: Mapping[str, str] | Literal["first"]) -> list[SeenRow]:
        """The rows that have these cells; or the first one."""
        rows = [row for block in self.seen.rows[bool(self.spec.facts) :] for row in block]
        if cells == "first":
            return rows[:1] if not self.press(PREVIOUS) else []
        return [row for row in rows if all(row.cells.get(name) == text for name, text in cells.items())]

    def field(self, spec: FieldSpec) -> SeenField | None:
        """A field of the form."""
        return next((field for field in self.seen.fields if field.label == spec.label), None)

    def on(self, way: Way) -> int | None:
        """The leg of a way on which the page lies; None where it is another page, or one about something else."""
        for place in range(len(way.legs) - 1, -1, -1):
            if way.legs[place].page == self.page:
                fits = self._fits(way.legs[place])
                if place == 0 or (self._came(way, place) if fits is None else fits):
                    return place
        return None

    def matches(self, leg: Leg) -> int:
        """How many fields of a form hold what is wanted; -1 where one holds something else."""
        count = 0
        for name, text in (leg.fill or {}).items():
            assert self.spec.form is not None
            spec = self.spec.form.fields[name]
            field = self.field(spec)
            if field is not None and field.value:
                if field.value != wanted(spec, text):
                    return -1
                count += 1
        return count

    def fill(self, leg: Leg) -> list[Move] | None:
        """The fields that are still to be filled, or the button; None where a field holds what nobody wants."""
        form = self.spec.form
        assert form is not None
        assert leg.fill is not None
        todo: list[Move] = []
        for name, spec in form.fields.items():
            field = self.field(spec)
            if field is None:
                continue
            if name in leg.fill:
                value = wanted(spec, leg.fill[name])
                if field.value != value:
                    todo.append(_set(field, value))
            elif self._stray(leg, name, spec, field):
                return None
        return todo or self.press(form.button)

    def _stray(self, leg: Leg, name: str, spec: FieldSpec, field: SeenField) -> bool:
        """Whether a field holds something else than at first."""
        first = None if spec.value else leg.pairs.get(name, "")
        if first is not None:
            return field.value != wanted(spec, first)
        for deed in reversed(self.seen.past):
            if not deed.fills:
                return False
            if deed.name == spec.label or any(
                deed.name == option.words for option in field.options if deed.role == "radio"
            ):
                return True
        return False

    def _fits(self, leg: Leg) -> bool | None:
        """Whether the page is about what is wanted, by what it tells; None where it does not tell."""
        asked = self.site.asked.get(self.page, {}) if self.spec.rows is not None else {}
        told = {**{name: text for name, text in leg.pairs.items() if text and name not in asked}, **leg.rows}
        if any(told.get(name, text) != text for name, text in self.held.items()):
            return False
        if self.spec.rows is not None and not self._is_asked(
            {asked[name].label: leg.pairs.get(name) or "" for name in asked}
        ):
            return False
        return True if leg.sure and told.keys() <= self.held.keys() else None

    def _is_asked(self, values: Mapping[str, str]) -> bool:
        """Whether the rows of the page are those for these values of fields, by their labels."""
        line = next((words for words in self.seen.words if _COUNT.search(words)), "")
        for label, value in values.items():
            said = f"{label}: {value}. "
            if value and said not in line:
                return False
            line = line.replace(said, "", 1) if value else line
        return _COUNT.fullmatch(line) is not None

    def _came(self, way: Way, place: int) -> bool:
        """Whether the past actions are those of the way to a leg, as far as they are shown."""
        deeds = list(reversed(self.seen.past))
        for number in range(place, -1, -1):
            leg = way.legs[number]
            if number < place:
                if not deeds:
                    return not self.whole
                pressed = deeds.pop(0)
                if pressed.fills or pressed.name != leg.press:
                    return False
                while deeds and leg.pick is not None and deeds[0].name in (NEXT, PREVIOUS):
                    deeds.pop(0)
            filled: list[Deed] = []
            while deeds and deeds[0].fills:
                filled.append(deeds.pop(0))
            if number < place and not self._has_filled(leg, filled):
                return not deeds and not self.whole
        return True

    def _has_filled(self, leg: Leg, filled: Sequence[Deed]) -> bool:
        """Whether deeds, the newest first, leave a form as it is wanted."""
        for name, text in (leg.fill or {}).items():
            form = self.site.pages[leg.page].form
            assert form is not None
            spec = form.fields[name]
            value = wanted(spec, text)
            values = [deed.value or deed.name for deed in filled if deed.name in (spec.label, value)]
            first = value if spec.value else wanted(spec, leg.pairs.get(name) or "")
            if (values[0] if values else first) != value:
                return False
        return True


def wanted(spec: FieldSpec, text: str) -> str:
    """What a field holds if a text is wanted in it: of a date the short form, of a box ``yes`` or nothing."""
    if spec.kind == "date":
        return short_date(text) or text
    if spec.kind == "flag":
        return "yes" if text == "yes" else ""
    return text


def _at(tool: Literal["click", "select", "type"], letter: str, value: str = "") -> Move:
    return Move(tool, letter, value) if letter else Move("more")


def _set(field: SeenField, value: str) -> Move:
    if field.kind == "radio":
        return _at("click", next((option.letter for option in field.options if option.words == value), ""))
    if field.kind == "flag":
        return _at("click", field.letter)
    return _at("select" if field.kind == "list" else "type", field.letter, value)


def path_words(site: Site, page: str) -> str:
    """The words of the step that leads to a page, from the menu or from a page of its path."""
    way = path(site, page)
    return site.pages[page].menu or site.pages[page].heading if len(way) == 1 else way[1][1] or ""


def _page(site: Site, seen: Seen) -> tuple[str, Mapping[str, str], dict[str, str]]:
    """The name of the open page, its facts, and what its texts tell, by slots; no name for a page that is not there."""
    for name, page in site.pages.items():
        found = matched(page.heading, seen.heading)
        if found is not None:
            facts = seen.rows[0][0].cells if page.facts and seen.rows else {}
            for label, template in page.facts.items():
                found |= matched(template, facts.get(label, "")) or {}
            return name, facts, found
    return "", {}, {}


def path(site: Site, page: str) -> tuple[tuple[str, str | None], ...]:
    """How one comes to a page: backwards from it to one of the menu, with the words of the steps that lead on."""
    found: list[tuple[str, str | None]] = [(page, None)]
    while found[-1][0] not in site.menu:
        target = found[-1][0]
        before = next(
            (
                (name, step.words)
                for name, other in site.pages.items()
                for step in other.steps
                if step.to == target and not step.pairs and name not in [one for one, _ in found]
            ),
            None,
        )
        if before is None:
            raise ValueError(f"{site.name}: no way without a row leads to the page {page!r}")
        found.append(before)
    return tuple(found)
