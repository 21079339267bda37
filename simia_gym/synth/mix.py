"""One training file out of several syntheses, with weights, so that a policy can learn several domains together.

No trajectory is taken twice. Which ones are taken depends on the seed and on what stands in them, not on where they
lie: a folder that has grown gives most of what it gave before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from simia_gym.common.files import check_regular
from simia_gym.common.formatting import counted
from simia_gym.common.json_encoding import decode_fast, encode, hash_of
from simia_gym.common.writing import write_parts
from simia_gym.errors import InputError
from simia_gym.synth.postprocess import KEPT
from simia_gym.types import JsonObject

_WEIGHTED = re.compile(r"(?P<name>.+)=(?P<weight>\d+(\.\d+)?)")


@dataclass(frozen=True)
class Part:
    """Trajectories that are mixed with others.

    Attributes:
        name: As it was typed, without the weight.
        path: The file of its trajectories.
        weight: Its share of the mix, relative to those of the others.
    """

    name: str
    path: Path
    weight: Fraction


@dataclass(frozen=True)
class Mixed:
    """What a mix holds.

    Attributes:
        taken: Number of trajectories of each part, by name.
        there: Number of different trajectories that each part has.
        twice: Number of lines that were left out because the same trajectory stands on another line.
    """

    taken: dict[str, int]
    there: dict[str, int]
    twice: int


@dataclass(frozen=True)
class _Line:
    """Where a trajectory stands; ``key`` is a hash of its messages."""

    key: str
    part: Part
    number: int
    start: int
    length: int


def read_part(typed: str) -> Part:
    """The part that ``FOLDER`` or ``FOLDER=WEIGHT`` names; a file of trajectories may take the place of a folder.

    Raises:
        InputError: There is no such folder or file, it has no trajectories, or the weight is 0.
    """
    found = None if Path(typed).exists() else _WEIGHTED.fullmatch(typed)
    name, weight = (typed, Fraction(1)) if found is None else (found["name"], Fraction(found["weight"]))
    path = Path(name)
    if path.is_dir():
        path = path / KEPT
        if not path.is_file():
            fix = "Give the --out of a `simia synth trajectories` that has ended."
            raise InputError(f"there is no {KEPT} in it", where=name, fix=fix)
    check_regular(path)
    if not path.exists():
        fix = "Give FOLDER or FOLDER=WEIGHT, where WEIGHT is a number such as 2 or 0.5."
        raise InputError("there is no such folder", where=name, fix=fix)
    if not weight:
        raise InputError("its weight is 0", where=typed, fix="Leave it out, or give it a weight above 0.")
    return Part(name, path, weight)


def mix(parts: Sequence[Part], out: Path, *, size: int | None = None, seed: int = 0) -> Mixed:
    """Write trajectories of several parts into one file, in a random order.

    Each line stays as it is, with its own system message and tools; ``source`` says where it stood, unless it says so
    already.

    Args:
        parts: Where they are taken from.
        out: The file.
        size: Number of trajectories; ``None`` for as many as there are with these weights.
        seed: Decides which are taken, and their order.

    Raises:
        InputError: A part is given twice, a line is no trajectory of training, or a part has too few for the size,
            or is the file to write.
        StorageError: The file cannot be written.
    """
    paths = [part.path.resolve() for part in parts]
    again = next((part for place, part in enumerate(parts) if paths[place] in paths[:place]), None)
    if again is not None:
        raise InputError("it is given twice", where=again.name, fix="Give it once, with a higher weight.")
    if out.resolve() in paths:
        raise InputError("its trajectories are to be mixed", where=str(out), fix="Give another file.")
    lines: dict[str, list[_Line]] = {part.name: [] for part in parts}
    known: set[str] = set()
    twice = 0
    for part in parts:
        for line in _lines(part):
            if line.key in known:
                twice += 1
                continue
            known.add(line.key)
            lines[part.name].append(line)
    there = {name: len(found) for name, found in lines.items()}
    total = sum(part.weight for part in parts)
    most = min(int(there[part.name] * total / part.weight) for part in parts)
    wanted = _shares(parts, most if size is None else size)
    short = [
        f"{name} has {there[name]} of {number}" if number else f"{name} would give none"
        for name, number in wanted.items()
        if there[name] < number or not number
    ]
    if short:
        fix = f"With these weights there are {most}; make more, or give others. None is taken twice."
        raise InputError(f"too few trajectories: {', '.join(short)}", where="--size", fix=fix)
    taken = [line for part in parts for line in sorted(lines[part.name], key=_drawn("take", seed))[: wanted[part.name]]]
    write_parts(out, _rows(sorted(taken, key=_drawn("order", seed))))
    return Mixed(wanted, there, twice)


def _drawn(what: str, seed: int) -> Any:
    """A key that sorts lines at random."""
    return lambda line: hash_of(f"{what} {seed} {line.key}".encode())


def _shares(parts: Sequence[Part], size: int) -> dict[str, int]:
    """How many of a number each part gives: its share, and one more for those that lack most to it."""
    total = sum(part.weight for part in parts)
    exact = {part.name: size * part.weight / total for part in parts}
    shares = {name: int(share) for name, share in exact.items()}
    by_rest = sorted(parts, key=lambda part: shares[part.name] - exact[part.name])
    for part in by_rest[: size - sum(shares.values())]:
        shares[part.name] += 1
    return shares


def _lines(part: Part) -> Iterator[_Line]:
    with part.path.open("rb") as file:
        start = 0
        for number, text in enumerate(file, 1):
            if text.strip():
                row = _row(text, f"{part.path}:{number}")
                key = hash_of(encode([row.get("tools"), row["messages"]]))
                yield _Line(key, part, number, start, len(text))
            start += len(text)


def _row(text: bytes, where: str) -> JsonObject:
    """A trajectory of training.

    Raises:
        InputError: It is none.
    """
    try:
        row = decode_fast(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not valid JSON: {error}", where=where, fix="Run the synthesis again.") from error
    messages = row.get("messages") if isinstance(row, dict) else None
    if not isinstance(messages, list) or not messages:
        fix = "Give what `simia synth` keeps, or what `simia export --format openai` writes."
        raise InputError("is no trajectory: it has no messages", where=where, fix=fix)
    if row.get("split") in ("dev", "test"):
        raise InputError(f"is of a {row['split']} task", where=where, fix="Train on train tasks.")
    found: JsonObject = row
    return found


def _rows(lines: Sequence[_Line]) -> Iterator[bytes]:
    files = {part.name: part.path.open("rb") for part in {line.part.name: line.part for line in lines}.values()}
    try:
        for line in lines:
            file = files[line.part.name]
            file.seek(line.start)
            row = _row(file.read(line.length), f"{line.part.path}:{line.number}")
            if not row.get("source"):
                name = line.part.name if line.part.path == Path(line.part.name) else f"{line.part.name}/{KEPT}"
                row["source"] = f"{name}:{line.number}"
            yield encode(row) + b"\n"
    finally:
        for file in files.values():
            file.close()


def described(mixed: Mixed) -> str:
    """A mix in one line."""
    parts = ", ".join(f"{number} of {mixed.there[name]} in {name}" for name, number in mixed.taken.items())
    twice = f"; {mixed.twice} stand there more than once and count once" if mixed.twice else ""
    return f"{counted(sum(mixed.taken.values()), 'trajectory', 'trajectories')}: {parts}{twice}"
