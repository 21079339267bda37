"""Where words go: what people read to one stream, what scripts read to the last line of standard output."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from simia_gym.common.formatting import one_line
from simia_gym.common.json_encoding import decode, encode


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
            text = encode(value).decode()
            if not (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf"):
                text = json.dumps(decode(text), separators=(",", ":"))  # only ASCII letters, so that none gets lost
            sys.stdout.write(text + "\n")
            sys.stdout.flush()


def complain(text: str) -> None:
    """Write one line about bad input to standard error."""
    tell(f"error: {text}")


def tell(text: str) -> None:
    """Write one line that is no mistake of anybody's to standard error."""
    sys.stderr.write(f"simia: {one_line(text)}\n")
    sys.stderr.flush()


def to_continue(record: Path, words: Sequence[str] | None = None) -> str:
    """The command that goes on with a record.

    Args:
        record: The record.
        words: What was typed after the program's name.
    """
    kept = [word for word in (sys.argv[1:] if words is None else words) if word != "--resume"]
    if "--out" not in kept and not any(word.startswith("--out=") for word in kept):
        kept += ["--out", str(record)]
    return shlex.join(["simia", *kept, "--resume"])
