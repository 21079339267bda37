"""OfficeBench's nine evaluators over the rows of the final state, each with a reason and evidence.

A file is named as the benchmark does, relative to the office's folder: ``data/a.xlsx``, ``calendar/Bob.ics``,
``data/answer.txt``, which holds the answer. Nothing of a task file is run: a comparator is read as a list of the values
that it allows.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, Field

from simia_gym.envs.officebench.cells import table_text
from simia_gym.envs.officebench.formats.folder import calendar_of
from simia_gym.envs.officebench.paths import ANSWER, ROOT, normalised
from simia_gym.envs.officebench.slices import known_user
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.finding import Finding
from simia_gym.rewards.programs.program import Args
from simia_gym.rewards.rubric import RubricReward
from simia_gym.state import State

_COMPARATOR = re.compile(r"lambda (\w+): \1 in (\[.*\])", re.DOTALL)


class PublishedReward(RubricReward):
    """All evaluators of a task must hold; the rules of the own tasks do not."""

    @classmethod
    def for_domain(cls, items: Sequence[Any], options: Mapping[str, Any], **settings: Any) -> PublishedReward:
        """Create the reward without the domain's rubric."""
        return cls((), options, **settings)


class Place(Args):
    """A file, or a user's mails or events."""

    file: str | None = Field(default=None, description="A path in the office.")
    username: str | None = Field(default=None, description="Whose mails.")


class ContainArgs(Place):
    """Arguments of `contain` and `not_contain`."""

    keywords: tuple[str, ...] = Field(description="Texts; case is ignored, and for numbers commas.")


class FileArgs(Args):
    """Arguments of `file_exist` and `file_not_exist`."""

    file: str = Field(description="A path in the office.")


class CellMatch(BaseModel):
    """One cell, and what it must hold."""

    row: int
    col: int
    value: str = ""
    allowed: tuple[str, ...] = ()


class CellArgs(FileArgs):
    """Arguments of `excel_cell_value` and `excel_cell_comparator`."""

    matches: tuple[CellMatch, ...] = Field(description="The cells.")


class DiffArgs(Args):
    """Arguments of `diff_contain_text`."""

    file: str = Field(description="The file that must have changed.")
    keywords: tuple[str, ...] = Field(description="Texts that the difference must contain.")


class MatchArgs(Args):
    """Arguments of `exact_match`."""

    file: str = Field(description="The file.")
    expected: dict[str, Any] = Field(description="The row that it must equal.")


class UserArgs(Args):
    """Arguments of `calendar_no_overlap`."""

    username: str = Field(description="Whose calendar.")


def contain(finished: FinishedEpisode, args: ContainArgs) -> Finding:
    """A file, a mailbox or a calendar contains every keyword."""
    place = args.username or args.file or ""
    text = content(finished.final, args)
    if text is None:
        return Finding.of(False, f"there is no {place}")
    if _published(finished.final):
        return _contain_published(text, args.keywords, place)
    lowered, plain = text.lower(), text.lower().replace(",", "")
    missing = [word for word in args.keywords if word.lower() not in (plain if _is_number(word) else lowered)]
    return Finding.of(not missing, f"{place} contains all keywords" if not missing else f"{place} lacks {missing[0]!r}")


def _contain_published(text: str, keywords: Sequence[str], place: str) -> Finding:
    """As published: behind a number, commas are missing for all further keywords."""
    text = text.lower()
    for word in keywords:
        text = text.replace(",", "") if _is_number(word) else text
        if word.lower() not in text:
            return Finding.of(False, f"{place} lacks {word!r}")
    return Finding.of(True, f"{place} contains all keywords")


def _published(state: State) -> bool:
    return state.at("/desk/main").get("compat") is not None


def not_contain(finished: FinishedEpisode, args: ContainArgs) -> Finding:
    """A file, a mailbox or a calendar does not contain every keyword; an empty or missing one satisfies it."""
    found = contain(finished, args)
    return Finding.of(not found.met, found.reason)


def file_exist(finished: FinishedEpisode, args: FileArgs) -> Finding:
    """There is such a file."""
    there = _exists(finished.final, args.file)
    return Finding.of(there, f"there is {'a' if there else 'no'} file {args.file}")


def file_not_exist(finished: FinishedEpisode, args: FileArgs) -> Finding:
    """There is no such file."""
    there = _exists(finished.final, args.file)
    return Finding.of(not there, f"there is {'a' if there else 'no'} file {args.file}")


def excel_cell_value(finished: FinishedEpisode, args: CellArgs) -> Finding:
    """Cells of a table begin with the given values, as the table is shown."""
    cells = _cells(finished.final, args.file)
    if cells is None:
        return Finding.of(False, f"there is no table {args.file}")
    for match in args.matches:
        have = cells.get((match.row, match.col))
        if have is None or not have.startswith(match.value):
            return Finding.of(False, f"cell ({match.row}, {match.col}) of {args.file} is {have!r}, not {match.value!r}")
    return Finding.of(True, f"{len(args.matches)} cells of {args.file} are right")


def excel_cell_comparator(finished: FinishedEpisode, args: CellArgs) -> Finding:
    """Cells of a table hold one of the values that are allowed there."""
    cells = _cells(finished.final, args.file) or {}
    for match in args.matches:
        have = cells.get((match.row, match.col))
        if have not in match.allowed or (_published(finished.final) and not re.fullmatch(r"\w+", have or "")):
            return Finding.of(
                False, f"cell ({match.row}, {match.col}) of {args.file} is {have!r}, which is not allowed"
            )
    return Finding.of(bool(cells), f"{len(args.matches)} cells of {args.file} are allowed")


def diff_contain_text(finished: FinishedEpisode, args: DiffArgs) -> Finding:
    """What changed in a table, as it is shown, contains every keyword."""
    path = normalised(args.file)
    before, after = (_shown_table(state, path) for state in (finished.initial, finished.final))
    if after is None or before == after:
        return Finding.of(False, f"{args.file} has not changed")
    changed = "\n".join(difflib.unified_diff((before or "").split("\n"), after.split("\n"), n=0))
    missing = [word for word in args.keywords if word not in changed]
    reason = f"the change of {args.file} lacks {missing[0]!r}" if missing else f"{args.file} has changed as it should"
    return Finding.of(not missing, reason)


def exact_match(finished: FinishedEpisode, args: MatchArgs) -> Finding:
    """A file holds exactly what the reference holds, values with their types."""
    row = finished.final.get("files", normalised(args.file))
    if row is None:
        return Finding.of(False, f"there is no file {args.file}")
    part = "cells" if "cells" in args.expected else "paragraphs"
    have, want = row.get(part), args.expected[part]
    if have == want:
        return Finding.of(True, f"{args.file} equals the reference")
    if part == "cells" and isinstance(have, Mapping):
        name = next(name for name in (*want, *have) if have.get(name) != want.get(name))
        return Finding.of(False, f"cell {name} of {args.file} is {have.get(name)!r}, not {want.get(name)!r}")
    return Finding.of(False, f"{args.file} differs from the reference")


def calendar_no_overlap(finished: FinishedEpisode, args: UserArgs) -> Finding:
    """No two events of a user's calendar, one after another by their begin, overlap."""
    user = known_user(finished.final, args.username)
    rows = sorted(
        (row["start"], row["end"], row["summary"]) for _, row in finished.final.rows("events") if row["user"] == user
    )
    for (_, end, one), (start, _, other) in pairwise(rows):
        if end > start:
            return Finding.of(False, f"{one!r} and {other!r} of {args.username} overlap")
    there = bool(rows) or (user is not None and _exists(finished.final, f"calendar/{user}.ics"))
    return Finding.of(there, f"the {len(rows)} events of {args.username} do not overlap")


def allowed_values(comparator: str) -> tuple[str, ...]:
    """The values that a comparator of a task file allows, such as ``lambda x: x in ['1', '2']``.

    Raises:
        ValueError: It is written in another way.
    """
    found = _COMPARATOR.fullmatch(comparator.strip())
    values = ast.literal_eval(found[2]) if found else None
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        raise ValueError(f"the comparator {comparator[:60]!r} is no list of allowed texts")
    return tuple(values)


def content(state: State, place: Place) -> str | None:
    """The text of a file, a mailbox or a calendar; ``None`` if there is none."""
    if place.username is not None:
        user = known_user(state, place.username)
        rows = [row for _, row in state.rows("mails") if row["user"] == user]
        heads = ("id", "from", "to", "subject", "content")
        return "\n".join(row[name] for row in rows for name in heads)
    path = normalised(place.file or "")
    if path == ANSWER and (answer := state.at("/desk/main/answer")) is not None:
        return str(answer)
    if path.startswith(f"{ROOT}/calendar/"):
        return calendar_text(state, path.rpartition("/")[2].removesuffix(".ics"))
    row = state.get("files", path)
    if row is None:
        return None
    return table_text(row["cells"]) if "cells" in row else "\n".join(row["paragraphs"])


def calendar_text(state: State, name: str) -> str | None:
    """A user's events as lines of a calendar file, unfolded; ``None`` if there are none."""
    user = known_user(state, name)
    lines = []
    for _, row in state.rows("events"):
        if row["user"] == user:
            start, end = (row[key].translate(_PLAIN).replace(" ", "T") for key in ("start", "end"))
            lines += [f"SUMMARY:{row['summary']}", f"DTSTART:{start}", f"DTEND:{end}"]
            lines += [f"DESCRIPTION:{row['description']}", f"LOCATION:{row['location']}"]
    return "\n".join(lines) if lines else None


_PLAIN = str.maketrans("", "", "-:")


def _exists(state: State, file: str) -> bool:
    path = normalised(file)
    if path.startswith(f"{ROOT}/emails/"):
        user, _, mail = path.removeprefix(f"{ROOT}/emails/").partition("/")
        return state.has("mails", f"{known_user(state, user)}: {mail}")
    if calendar_of(path) is not None and state.has("originals", path):
        return True  # a calendar may hold nothing
    below = any(one.startswith(f"{path}/") for one, _ in state.rows("files"))
    return below or state.has("folders", path) or content(state, Place(file=file)) is not None


def _cells(state: State, file: str) -> dict[tuple[int, int], str] | None:
    """The cells of a table as they are shown, empty ones within it included."""
    text = _shown_table(state, normalised(file))
    if text is None:
        return None
    found = re.findall(r"\((\d+), (\d+)\): (.*?)\t", text, re.DOTALL)
    return {(int(row), int(column)): value for row, column, value in found}


def _shown_table(state: State, path: str) -> str | None:
    row = state.get("files", path)
    return None if row is None or "cells" not in row else table_text(row["cells"])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
