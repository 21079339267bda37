"""Writes a rollout's results as an SVG picture."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.text import Text

from simia_gym.errors import InputError

_WIDTH = 92
_FONTS = re.compile(r"\s*@font-face \{.*?\}(?=\s)", re.DOTALL)
_FIX = "Give another --svg."


def check_picture(path: Path, record: Path) -> None:
    """Check before a long run that the picture can be written.

    Args:
        path: The picture's file.
        record: The rollout's record.

    Raises:
        InputError: The file cannot be written, its name does not end in ``.svg``, or it exists and is not a picture.
    """
    if path.suffix.lower() != ".svg":
        raise InputError("the picture is written as SVG", where=f"--svg {path}", fix="Give a name that ends in .svg.")
    try:
        if path.resolve() == record.resolve():
            raise InputError("is the record of this rollout", where=str(path), fix=_FIX)
        existed = path.exists()
        if path.is_file() and not _is_picture(path):
            raise InputError("the file exists already and is no picture", where=str(path), fix=_FIX)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab"):
            pass
        if not existed:
            path.unlink()
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", where=str(path), fix=_FIX) from error


def _is_picture(path: Path) -> bool:
    with path.open("rb") as file:
        beginning = file.read(512).lstrip()
    return not beginning or beginning.startswith((b"<svg", b"<?xml"))


def write_picture(path: Path, command: str, *parts: RenderableType) -> None:
    """Write terminal output as SVG.

    Raises:
        InputError: The file cannot be written.
    """
    console = Console(record=True, file=io.StringIO(), width=_WIDTH, force_terminal=True, color_system="truecolor")
    console.print(Group(Text(f"$ {command}", style="bold green"), *parts))
    try:
        # Remove rich's links to web fonts: the viewer uses its own monospace font.
        path.write_text(_FONTS.sub("", console.export_svg(title="simia")), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", where=str(path), fix=_FIX) from error
