"""Requests: sentences with the names of values in braces, which are written with values and read again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_SLOT = re.compile(r"\{(\w+)\}")


class Requests:
    """Reads requests.

    Args:
        say: The sentences of each way of working.
    """

    def __init__(self, say: Mapping[str, Sequence[str]]) -> None:
        self._patterns = [(way, _pattern(text)) for way, sentences in say.items() for text in sentences]

    def read(self, text: str) -> tuple[str, dict[str, str]]:
        """The way of working and the values of a request.

        Raises:
            ValueError: There is no such sentence.
        """
        for way, pattern in self._patterns:
            if found := pattern.fullmatch(text):
                return way, found.groupdict()
        raise ValueError(f"no kind of task has the sentence {text[:80]!r}")


def _pattern(text: str) -> re.Pattern[str]:
    """A sentence as a pattern: a value that it names again is the same."""
    parts, named = [], set()
    for index, part in enumerate(_SLOT.split(text)):
        if index % 2 == 0:
            parts.append(re.escape(part))
        else:
            parts.append(f"(?P={part})" if part in named else f"(?P<{part}>.+?)")
            named.add(part)
    return re.compile("".join(parts), re.DOTALL)
