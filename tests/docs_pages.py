"""The README and the pages of docs/: their code blocks, and the commands in them.

A comment above a block says who runs it. Without one `tests/test_docs.py` does. A block after ``<!-- tested: rl -->``
needs the libraries of training and is run, at small numbers, by `tests/rl/test_docs_training.py`; one after
``<!-- tested: dry-run -->`` needs graphics cards or other machines, and its commands are run there with ``--dry-run``
if they have that; one after ``<!-- tested: openenv -->`` is run by `tests/serving/test_openenv.py`.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from simia_gym.cli.app import app
from simia_gym.errors import InputError

CHECKOUT = Path(__file__).resolve().parent.parent
PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"(?:<!-- (?P<note>[^>]*) -->\n+)?"
    r"(?P<fence>````?)(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<code>.*?)^(?P=fence)$",
    re.DOTALL | re.MULTILINE,
)
RL = "tested: rl"
DRY_RUN = "tested: dry-run"
OPENENV = "tested: openenv"
RECIPES = "simia_gym.rl.recipes."


@dataclass(frozen=True)
class Block:
    """A block of code; its note is the comment above it, its title a file and maybe a place in it."""

    language: str
    code: str
    note: str
    title: str

    @property
    def needs_training(self) -> bool:
        """Whether the tests of training run it, and no others."""
        return self.note in (RL, DRY_RUN)

    @property
    def needs_openenv(self) -> bool:
        """Whether the tests of OpenEnv run it, and no others."""
        return self.note == OPENENV


def page_id(page: Path) -> str:
    """Its path in the checkout."""
    return page.relative_to(CHECKOUT).as_posix()


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [Block(m["language"], m["code"], (m["note"] or "").strip(), m["title"] or "") for m in BLOCK.finditer(text)]


def write_into(folder: Path, block: Block) -> None:
    """Write a block as its title says: ``FILE``, at its end, or ``FILE, below: LINE``, ``above:``, ``instead of:``."""
    name, _, place = block.title.partition(", ")
    how, _, line = place.partition(": ")
    path, code = folder / name, block.code
    if not place:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n\n{code}" if name.endswith(".py") else code)
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    (at,) = (number for number, text in enumerate(lines) if text.strip() == line)
    lines[at] = {"below": lines[at] + code, "above": code + lines[at], "instead of": code}[how]
    path.write_text("".join(lines), encoding="utf-8")


def commands(code: str) -> list[list[str]]:
    """The commands of a shell block as words; those of a pipe or a list, and the names of files, each for itself."""
    found: list[list[str]] = []
    line = end = ""
    for part in code.replace("\\\n", " ").splitlines():
        if end:  # the text that a command is given
            end = "" if part == end else end
            continue
        line += part
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        try:
            tokens = [*lexer, ";"]
        except ValueError:  # a quotation that goes on in the next line
            line += "\n"
            continue
        line = ""
        end = tokens[tokens.index("<<") + 1] if "<<" in tokens else ""
        words: list[str] = []
        for token in tokens:
            if token.strip("|&;<>"):
                words.append(token)
                continue
            if words:
                found.append(words)
            words = []
    assert not line, f"a quotation has no end: {line}"
    return found


def read_simia(words: Sequence[str]) -> Any:
    """Read the words after ``simia`` as it does, and run nothing; what cannot be read raises."""
    context: Any = typer.main.get_command(app).make_context("simia", list(words))
    while hasattr(context.command, "resolve_command"):
        rest = [*context._protected_args, *context.args]
        name, command, rest = context.command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)
    return context


def read_command(words: Sequence[str]) -> None:
    """Raise if a command of ours does not exist, with all of its options; those of others are left alone."""
    if words[0] == "simia":
        read_simia(words[1:])
    elif list(words[:2]) == ["python", "-m"] and words[2].startswith(("simia_gym", "benchmarks")):
        assert importlib.util.find_spec(words[2]) is not None, f"there is no module {words[2]}"
        if words[2].startswith(RECIPES):
            scripts: Any = importlib.import_module(f"{RECIPES}trl_common")
            with suppress(InputError):  # the libraries are missing, which is looked at after the words are read
                scripts.options("", words[3:])
