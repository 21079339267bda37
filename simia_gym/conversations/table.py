"""The formats by name, and which of them a file has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from itertools import islice
from pathlib import Path

from simia_gym.conversations.adp import Adp
from simia_gym.conversations.atif import Atif
from simia_gym.conversations.conversation import Conversation, Unreadable
from simia_gym.conversations.format import Format
from simia_gym.conversations.hermes import Hermes
from simia_gym.conversations.openai_chat import OpenAIChat
from simia_gym.conversations.parquet import written_as
from simia_gym.conversations.recorded import Recorded
from simia_gym.conversations.rows import read_rows
from simia_gym.conversations.sharegpt import ShareGPT
from simia_gym.errors import InputError, did_you_mean

GROUP = "simia_gym.formats"
_LOOKED_AT = 20


@cache
def formats() -> dict[str, Format]:
    """All formats by name: this package's, and those of the entry-point group ``simia_gym.formats``."""
    own: tuple[Format, ...] = (Recorded(), OpenAIChat(), ShareGPT(), Hermes(), Atif(), Adp())
    found = {made.name: made for made in own}
    for point in entry_points(group=GROUP):
        if point.name not in found:
            with suppress(Exception):  # a broken package breaks its own format only, see `get_format`
                found[point.name] = point.load()()
    return found


def get_format(name: str, where: str = "format") -> Format:
    """The format of a name.

    Raises:
        InputError: There is no such format.
    """
    known = formats()
    if name not in known:
        for point in entry_points(group=GROUP, name=name):
            try:
                point.load()()
            except Exception as error:
                what = f"the format {name!r} cannot be loaded: {type(error).__name__}: {error}"
                raise InputError(what, where=where, fix=f"Mend {point.value}, or the package that it is in.") from error
        fix = f"{did_you_mean(name, known)}There are {', '.join(known)}."
        raise InputError(f"there is no format {name!r}", where=where, fix=fix)
    return known[name]


def detect_format(path: Path | str) -> Format:
    """The format of a file: the one that it says, as Parquet does, or else by what stands in its first rows.

    Raises:
        InputError: None or several fit, or the file cannot be read.
    """
    path = Path(path)
    said = written_as(path)
    if said in formats():
        return formats()[said]
    certain: set[str] = set()
    possible: set[str] = set()
    with_json = False
    for _, row in islice(read_rows(path), _LOOKED_AT):
        if not isinstance(row, Unreadable):
            with_json = True
            fitting = {name: each.fits(row) for name, each in formats().items()}
            certain |= {name for name, fits in fitting.items() if fits}
            possible |= {name for name, fits in fitting.items() if fits is None}
    found = certain or possible
    if len(found) == 1:
        return formats()[found.pop()]
    if not found:
        what = "fits no format of conversations" if with_json else "holds no JSON"
        fix = f"Say which it is: {', '.join(formats())}."
    else:
        what = f"fits several formats of conversations: {', '.join(sorted(found))}"
        fix = "Say which of them it is."
    raise InputError(what, where=str(path), fix=fix)


def read_conversations(path: Path | str, format: str | None = None) -> Iterator[Conversation | Unreadable]:
    """Read the conversations of a file.

    Args:
        path: The file.
        format: The name of its format; by default the one that fits what stands in it.

    Yields:
        Each conversation, or where and why there is none.

    Raises:
        InputError: The file cannot be read, or there is no such format, or not one format fits.
    """
    path = Path(path)
    chosen = detect_format(path) if format is None else get_format(format)
    yield from chosen.read(path)


def write_conversations(path: Path | str, conversations: Iterable[Conversation], format: str) -> int:
    """Write a file of conversations; return how many it holds.

    Raises:
        InputError: There is no such format, it is only read, or it cannot hold one of them.
        StorageError: The file cannot be written; an earlier version stays.
    """
    return get_format(format).write(Path(path), conversations)
