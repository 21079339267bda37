"""How the expert reads what customers say: which wish, and the values of slots."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from simia_gym.service.case import Case
from simia_gym.service.service import Service


class Listener:
    """Reads the customer's texts about one wish; remembers them for functions that read with facts.

    Attributes:
        asked: The slot that the customer was just asked for, if it was one alone.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._texts: list[str] = []
        self.asked = ""

    def wish(self, text: str) -> str | None:
        """The wish that the text makes first, of several the one that is declared first; none if it makes none."""
        found = {
            name: match.start()
            for name, wish in self._service.declared.wishes.items()
            if (match := wish.hear.search(text)) is not None
        }
        return min(found, key=found.__getitem__, default=None)

    def hear(self, text: str) -> None:
        """Remember a text."""
        self._texts.append(text)

    def slots(self, names: Iterable[str], text: str) -> dict[str, Any]:
        """The values of slots that the text tells, whatever the facts are."""
        found = {name: self._value(name, text) for name in names}
        return {name: value for name, value in found.items() if value is not None}

    def find(self, name: str, case: Case) -> Any:
        """Read a slot with the help of facts, from the latest text that tells it.

        Raises:
            Need: A function looks at something unknown.
        """
        told = (self.told(name, text, case) for text in reversed(self._texts))
        return next((value for value in told if value is not None), None)

    def told(self, name: str, text: str, case: Case) -> Any:
        """The value of a slot that one text tells; ``None`` if it tells none.

        Raises:
            Need: A function looks at something unknown.
        """
        value = self._value(name, text)
        slot = self._service.declared.slots[name]
        if value is not None or not slot.needs_facts:
            return value
        if slot.find is not None:
            return self._service.function(slot.find)(text, case)
        found = named_in(text, {value: option.say for value, option in self._service.options(name, case).items()})
        return (found or None) if slot.many else next(iter(found), None)

    def _value(self, name: str, text: str) -> Any:
        slot = self._service.declared.slots[name]
        words = {value: (*option.say, *option.forms, *option.heard) for value, option in slot.choice.items()}
        for value in named_in(text, words):
            return value
        match = None if slot.read is None else slot.read.search(text)
        if match is None and name == self.asked and slot.answer is not None:
            match = slot.answer.search(text)
        if match is None:
            return None
        groups = match.groupdict(default="")
        return groups.get("value", groups) if groups else match[0]


def named_in(text: str, words: Mapping[Any, Iterable[str]]) -> list[Any]:
    """The values of which a text has one of the words, in the text's order; what stands in a longer word is none."""
    found: dict[int, Any] = {}
    longest_first = sorted(((word, one) for one in words for word in words[one]), key=lambda pair: -len(pair[0]))
    for word, value in longest_first:
        for match in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE):
            found[match.start()] = value
            text = f"{text[: match.start()]}{'.' * len(match[0])}{text[match.end() :]}"
    return list(dict.fromkeys(found[at] for at in sorted(found)))
