"""How the expert reads what customers say: which wish, and the values of slots."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from simia_gym.service.case import Case
from simia_gym.service.service import Service


class Listener:
    """Reads the customer's texts; remembers those of the present wish for functions that read with facts.

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
        self._texts = [] if found else self._texts
        return min(found)[1] if found else None

    def slots(self, names: Iterable[str], text: str) -> dict[str, Any]:
        """The values of slots that the text tells."""
        self._texts.append(text)
        found = {name: self._value(name, text) for name in names}
        return {name: value for name, value in found.items() if value is not None}

    def find(self, names: Iterable[str], case: Case, known: dict[str, Any]) -> None:
        """Read the slots that only a function can read, because it needs facts.

        Raises:
            Need: The function looks at something unknown.
        """
        for name in names:
            find = self._service.slots[name].find
            if find is not None and name not in known:
                value = self._service.function(find)("\n".join(self._texts), case)
                if value is not None:
                    known[name] = value

    def _value(self, name: str, text: str) -> Any:
        slot = self._service.slots[name]
        for value, words in slot.choice.items():
            if any(re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE) for word in words):
                return value
        match = None if slot.read is None else slot.read.search(text)
        if match is None:
            return None
        return match["value"] if "value" in match.groupdict() else match[0]
