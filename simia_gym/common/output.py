"""Output of commands: text for people, and JSON for scripts as the last line of standard output."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from simia_gym.common.formatting import one_line, visible
from simia_gym.common.json_encoding import decode, encode
from simia_gym.common.secrets import without_secrets, without_secrets_in_urls


class SafeConsole(Console):
    """A console that shows the control characters of texts instead of writing them; its own styles are none."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as `Console` does."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


class Output:
    """The output of a command.

    With ``json``, the result is one JSON value on standard output, and all other text goes to standard error.
    """

    def __init__(self, json: bool) -> None:
        self.json = json
        self.console = SafeConsole(stderr=json, highlight=False, emoji=False)

    def say(self, text: str) -> None:
        """Write a text for people; it is not wrapped, so that paths stay in one piece."""
        self.console.print(without_secrets(text), markup=False, soft_wrap=True)

    def result(self, value: Any) -> None:
        """Write the result as one line of JSON if `json` is set."""
        if self.json:
            self.console.file.flush()
            text = visible(without_secrets(encode(value).decode()))
            if not (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf"):
                text = json.dumps(decode(text), separators=(",", ":"))  # ASCII only, which every encoding can write
            sys.stdout.write(text + "\n")
            sys.stdout.flush()


def complain(text: str) -> None:
    """Write an error line to standard error."""
    tell(f"error: {text}")


def tell(text: str) -> None:
    """Write an informational line to standard error."""
    sys.stderr.write(f"simia: {visible(one_line(without_secrets(text)))}\n")
    sys.stderr.flush()


def to_continue(record: Path) -> str:
    """The command that resumes a record of this run, without the secrets in its URLs."""
    kept = [word for word in sys.argv[1:] if word != "--resume"]
    if "--out" not in kept and not any(word.startswith("--out=") for word in kept):
        kept += ["--out", str(record)]
    return shown_command([*kept, "--resume"])


def shown_command(words: Sequence[str]) -> str:
    """A command of ours as people type it, without the secrets in its URLs."""
    return shlex.join(["simia", *map(without_secrets_in_urls, words)])
