"""Ranks of candidates: from a file, or by the words that a request and an element share."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterable, Mapping, Sequence
from json import JSONDecodeError, loads
from pathlib import Path
from typing import Any

from simia_gym.errors import InputError

Ranks = Mapping[str, Mapping[str, int]]
"""The rank (0 is best) by step and candidate."""
RECALLS = (5, 10, 50)
_WORD = re.compile(r"[a-z0-9]+")


class _Plain(pickle.Unpickler):
    """Reads containers and numbers, and nothing that would run code."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it holds {module}.{name}")


def read_ranks(path: str | Path) -> Ranks:
    """The ranks in a JSON file or a pickle: `{"scores": ..., "ranks": {step: {candidate: rank}}}`.

    Raises:
        InputError: The file cannot be used, or holds more than plain containers and numbers.
    """
    file = Path(path)
    try:
        if file.suffix == ".json":
            content = loads(file.read_bytes())
        else:
            with file.open("rb") as stream:
                content = _Plain(stream).load()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}; give a file of ranks") from None
    except (JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file} is no JSON: {error}") from None
    except Exception as error:  # a broken pickle raises nearly anything
        raise InputError(
            f"{file} is no pickle of plain containers and numbers: {error}; write it as JSON instead"
        ) from None
    ranks = content.get("ranks") if isinstance(content, dict) else None
    if not isinstance(ranks, dict):
        raise InputError(f"{file} should hold {{'scores': ..., 'ranks': {{step: {{candidate: rank}}}}}}")
    for step, row in ranks.items():
        if not isinstance(row, dict) or not all(type(rank) is int and rank >= 0 for rank in row.values()):
            raise InputError(f"{file}: step {step}: ranks should be whole numbers from 0, by candidate")
    return {str(step): {str(name): rank for name, rank in row.items()} for step, row in ranks.items()}


def by_ranks(ranks: Ranks, step: str, candidates: Iterable[str]) -> list[str]:
    """Candidates, best first, by the ranks of a file.

    Raises:
        InputError: The file lacks the step or one of its candidates.
    """
    row = ranks.get(step)
    names = list(candidates)
    missing = [name for name in names if row is None or name not in row]
    if row is None or missing:
        lacks = f"candidate {missing[0]} of step {step}" if row is not None else f"step {step}"
        raise InputError(f"the ranks lack {lacks}; give the ranks of this data, or none")
    return sorted(names, key=row.__getitem__)


def by_words(request: str, texts: Mapping[str, str]) -> list[str]:
    """Candidates, best first, by the share of their words that the request has.

    It is not told which are right. Candidates with equal scores stand in the order of `texts`, which should be the
    order of the page: lists in the data name the right ones first.
    """
    wanted = set(_WORD.findall(request.lower()))

    def score(name: str) -> float:
        words = set(_WORD.findall(texts[name].lower()))
        return len(words & wanted) / (len(words) + 3)

    return sorted(texts, key=score, reverse=True)


def recalls(steps: Iterable[tuple[Sequence[str], set[str]]]) -> dict[int, float]:
    """For 5, 10 and 50: the share of steps with a right candidate among so many; of ranked candidates, right ones."""
    rows = list(steps)
    return {k: sum(bool(right & set(best[:k])) for best, right in rows) / max(len(rows), 1) for k in RECALLS}
