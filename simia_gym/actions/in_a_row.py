"""How often in a row an agent does the same, or what is invalid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_REFUSED = frozenset(("unknown_tool", "invalid_arguments"))
"""Error codes of calls that no tool was run for."""


class InARow:
    """Counts equal and invalid actions in a row."""

    def __init__(self) -> None:
        self._text, self._equal, self._invalid, self._seen = "", 0, 0, 0

    def count(self, text: str, events: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
        """Count an action that was carried out, and return how many equal and how many invalid ones came last."""
        self._equal = self._equal + 1 if text == self._text else 1
        new = events[self._seen :]
        invalid = any(event["type"] == "invalid" or event.get("error_code") in _REFUSED for event in new)
        self._invalid = self._invalid + 1 if invalid else 0
        self._text, self._seen = text, len(events)
        return self._equal, self._invalid
