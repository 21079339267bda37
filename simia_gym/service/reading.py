"""How the expert reads what customers say: which wish, and the values of slots."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from simia_gym.service.case import Case
from simia_gym.service.service import Service


class Listener:
    """Reads the customer's texts about one wish; remembers them for functions that read with facts.

    Args:
        service: The service.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._texts: list[str] = []

    def wish(self, text: str) -> str | None:
        """The wish that the text makes first; none if it makes none."""
        found = [
            (match.start(), name)
            for name, wish in self._service.declared.wishes.items()
            if (match := wish.hear.search(text)) is not None
        ]
        return min(found)[1] if found else None

    def slots(self, names: Iterable[str], text: str) -> dict[str, Any]:
        """The values of slots that the text tells."""
        self._texts.append(text)
        found = {name: self._value(name, text) for name in names}
        return {name: value for name, value in found.items() if value is not None}

    def find(self, name: str, case: Case) -> Any:
        """Read a slot that needs facts, from the latest text that tells it.

        Raises:
            Need: A function looks at something unknown.
        """
        slot = self._service.slots[name]
        for text in reversed(self._texts):
            value = None
            if slot.find is not None:
                value = self._service.function(slot.find)(text, case)
            elif slot.options is not None:
                options = self._service.function(slot.options)(case)
                found = named_in(text, {value: option.say for value, option in options.items()})
                value = found if slot.many else next(iter(found), None)
            if value:
                return value
        return None

    def _value(self, name: str, text: str) -> Any:
        slot = self._service.slots[name]
        for value, words in slot.choice.items():
            if any(re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE) for word in words):
                return value
        match = None if slot.read is None else slot.read.search(text)
        if match is None:
            return None
        return match["value"] if "value" in match.groupdict() else match[0]


def named_in(text: str, words: Mapping[Any, Iterable[str]]) -> list[Any]:
    """The values of which a text has one of the words, in the text's order; what stands in a longer word is none."""
    found: dict[int, Any] = {}
    longest_first = sorted(((word, one) for one in words for word in words[one]), key=lambda pair: -len(pair[0]))
    for word, value in longest_first:
        for match in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE):
            found[match.start()] = value
            text = f"{text[: match.start()]}{'.' * len(match[0])}{text[match.end() :]}"
    return list(dict.fromkeys(found[at] for at in sorted(found)))
