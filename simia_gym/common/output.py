"""Output of commands: text for people, and JSON for scripts as the last line of standard output."""

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
    """The output of a command.

    With ``json``, the result is one JSON value on standard output, and all other text goes to standard error.
    """

    def __init__(self, json: bool) -> None:
        self.json = json
        self.console = Console(stderr=json, highlight=False, emoji=False)

    def say(self, text: str) -> None:
        """Write a text for people; it is not wrapped, so that paths stay in one piece."""
        self.console.print(text, markup=False, soft_wrap=True)

    def result(self, value: Any) -> None:
        """Write the result as one line of JSON if `json` is set."""
        if self.json:
            self.console.file.flush()
            text = encode(value).decode()
            if not (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf"):
                text = json.dumps(decode(text), separators=(",", ":"))  # ASCII only, which every encoding can write
            sys.stdout.write(text + "\n")
            sys.stdout.flush()


def complain(text: str) -> None:
    """Write an error line to standard error."""
    tell(f"error: {text}")


def tell(text: str) -> None:
    """Write an informational line to standard error."""
    sys.stderr.write(f"simia: {one_line(text)}\n")
    sys.stderr.flush()


def to_continue(record: Path, words: Sequence[str] | None = None) -> str:
    """The command that resumes a record; ``words`` are the arguments of the interrupted run, by default ours."""
    kept = [word for word in (sys.argv[1:] if words is None else words) if word != "--resume"]
    if "--out" not in kept and not any(word.startswith("--out=") for word in kept):
        kept += ["--out", str(record)]
    return shlex.join(["simia", *kept, "--resume"])
