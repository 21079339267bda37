"""The sentences of all kinds of a site, and how a reader finds kind and values in one of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from simia_gym.envs._work.requests import Requests
from simia_gym.envs.mind2web.sites.rows import pool_of
from simia_gym.envs.mind2web.sites.spec import KindSpec, Site
from simia_gym.envs.mind2web.sites.texts import filled, parts

_DOT = "__"


class Asked(NamedTuple):
    """What a sentence asks for.

    Attributes:
        site: The site that it is about.
        name: The name of the kind of task.
        kind: The kind.
        slots: The texts that the sentence has for the slots of the kind, such as ``book.title``.
    """

    site: Site
    name: str
    kind: KindSpec
    slots: Mapping[str, str]


class Sentences:
    """Reads the sentences of a site.

    Args:
        site: The site.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        found = [(name, text) for name, kind in site.kinds.items() for text in kind.say]
        # The sentence with more words of its own first: what it says more is no part of a value of another one.
        found.sort(key=lambda one: -sum(map(len, parts(one[1])[::2])))
        self._names = {str(place): name for place, (name, _) in enumerate(found)}
        self._requests = Requests({str(place): (_marked(text),) for place, (_, text) in enumerate(found)})

    def read(self, sentence: str) -> Asked:
        """What a sentence asks for.

        Raises:
            ValueError: No kind has such a sentence.
        """
        place, values = self._requests.read(sentence)
        site, name = self._site, self._names[place]
        slots = {slot.replace(_DOT, "."): text for slot, text in values.items()}
        return Asked(site, name, site.kinds[name], slots | _derived(site, site.kinds[name], slots))


def _derived(site: Site, kind: KindSpec, slots: Mapping[str, str]) -> dict[str, str]:
    """What follows from the words of a sentence: the columns that a name is made of, and the name of such columns."""
    found: dict[str, str] = {}
    for place in {slot.rpartition(".")[0] for slot in slots if "." in slot}:
        table = site.tables[_table(site, kind, place)]
        for column, spec in table.columns.items():
            made = tuple(part for part in parts(spec.mix or "")[1::2] if part in table.columns)
            if spec.mix is None or made != parts(spec.mix)[1::2]:
                continue
            whole = slots.get(f"{place}.{column}")
            if whole is not None:
                words = {part: pool_of(site, table.columns[part]) for part in made if table.columns[part].pool}
                told = _told(spec.mix, whole, words)
                found |= {f"{place}.{part}": text for part, text in told.items()}
            elif all(f"{place}.{part}" in slots for part in made):
                found[f"{place}.{column}"] = filled(spec.mix, lambda part: slots[f"{place}.{part}"])  # noqa: B023
    return found


def _table(site: Site, kind: KindSpec, place: str) -> str:
    """The table of a row that is drawn, as ``permit``, or of one that such a row refers to, as ``visit.slot``."""
    first, *others = place.split(".")
    table = kind.draw[first].of or ""
    for column in others:
        table = site.tables[table].columns[column].of or ""
    return table


def _told(mix: str, whole: str, words: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The parts of a text that was made of words of pools."""
    pieces = [
        re.escape(piece) if place % 2 == 0 else f"({'|'.join(map(re.escape, words.get(piece, ()))) or '.+'})"
        for place, piece in enumerate(parts(mix))
    ]
    found = re.fullmatch("".join(pieces), whole)
    return {} if found is None else dict(zip(parts(mix)[1::2], found.groups(), strict=True))


def _marked(text: str) -> str:
    """The sentence with slots that are Python names."""
    return re.sub(r"\{([a-z0-9_.]+)\}", lambda slot: slot[0].replace(".", _DOT), text)


def known(template: str, slots: Mapping[str, str]) -> str | None:
    """A text with what a sentence says in its slots; None where it does not say all of them."""
    try:
        return filled(template, slots.__getitem__)
    except KeyError:
        return None


@lru_cache(maxsize=4_096)
def pattern(template: str) -> re.Pattern[str]:
    """A text with slots as a pattern whose groups are what stands in them, in their order."""
    pieces = parts(template)
    return re.compile("".join("(.*)" if place % 2 else re.escape(piece) for place, piece in enumerate(pieces)))


def matched(template: str, text: str) -> dict[str, str] | None:
    """What stands in the slots of a text, by their names; None where it is another text."""
    pieces = parts(template)
    if len(pieces) == 1:
        return {} if text == template else None
    found = pattern(template).fullmatch(text) if text.startswith(pieces[0]) else None
    return None if found is None else dict(zip(pieces[1::2], found.groups(), strict=True))
