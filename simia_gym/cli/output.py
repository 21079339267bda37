"""Where words go: what people read to one stream, what scripts read to the last line of standard output."""

from __future__ import annotations

import sys
from typing import Any

import orjson
from rich.console import Console


class Output:
    """The two channels of a command.

    Args:
        json: A script is listening: one JSON value goes to standard output, everything else to standard error.

    Attributes:
        json: As given.
        console: For tables, progress and sentences.
    """

    def __init__(self, json: bool) -> None:
        self.json = json
        self.console = Console(stderr=json, highlight=False)

    def say(self, text: str) -> None:
        """Write a sentence for people; never wrapped, so that paths stay whole."""
        self.console.print(text, markup=False, soft_wrap=True)

    def result(self, value: Any) -> None:
        """Write the value for scripts, where one is listening."""
        if self.json:
            self.console.file.flush()
            sys.stdout.write(orjson.dumps(value).decode() + "\n")
            sys.stdout.flush()


def complain(text: str) -> None:
    """Write one line about bad input to standard error."""
    line = " ".join(text.split())
    sys.stderr.write(f"simia: error: {line}\n")
    sys.stderr.flush()


def percent(rate: float | None) -> str:
    """A share for people: ``97.5%``, or a dash where there is none."""
    return "–" if rate is None else f"{100 * rate:.1f}%"


def number(value: float | None, digits: int = 2) -> str:
    """A number for people, or a dash."""
    return "–" if value is None else f"{value:.{digits}f}"
