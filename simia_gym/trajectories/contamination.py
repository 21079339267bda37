"""Finds trajectories that hold a task of a benchmark.

A task and a trajectory are compared by the word sequences of what people say. Tasks are often written from templates,
so that only the sequences count that stand in one task alone: those with its names, ids and amounts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson

from simia_gym.common.files import read_jsonl, read_text
from simia_gym.common.json_encoding import texts_in
from simia_gym.errors import InputError
from simia_gym.trajectories.findings import text_of
from simia_gym.types import Message, Task

_WORD = re.compile(r"[#\w][\w'@.-]*")
_LONG = 8
_LEAST = 3
SHARE = 0.5
"""A trajectory that holds this share of a task's own word sequences holds the task."""


class Benchmark:
    """The tasks that no trajectory may hold."""

    def __init__(self) -> None:
        self._items: dict[str, set[str]] = {}
        self._seen: Counter[str] = Counter()
        self._of: dict[str, str] | None = None
        self._sizes: Counter[str] = Counter()

    def __len__(self) -> int:
        """The number of tasks."""
        return len(self._items)

    def add(self, name: str, texts: Iterable[str]) -> None:
        """Add a task: its name, and what is said in it."""
        grams = {gram for text in texts for gram in _grams(text)}
        if not grams:
            return
        self._seen.update(grams)
        self._items[name] = grams
        self._of = None

    def find(self, messages: Sequence[Message]) -> tuple[str, float] | None:
        """The task that a trajectory holds, and the share of the task's own word sequences; else ``None``."""
        if self._of is None:
            self._of = {gram: name for name, grams in self._items.items() for gram in grams if self._seen[gram] == 1}
            self._sizes = Counter(self._of.values())
        said = {gram for message in messages if message["role"] == "user" for gram in _grams(text_of(message))}
        found = Counter(self._of[gram] for gram in said if gram in self._of)
        shares = [(count / self._sizes[name], name) for name, count in found.items()]
        share, name = max(shares, default=(0.0, ""))
        return (name, share) if share >= SHARE else None


def _grams(text: str) -> Iterable[str]:
    words = _WORD.findall(text.lower())
    if len(words) < _LEAST:
        return ()
    size = min(_LONG, len(words))
    return (" ".join(words[at : at + size]) for at in range(len(words) - size + 1))


def add_tasks(benchmark: Benchmark, tasks: Iterable[Task], name: str = "") -> None:
    """Add tasks: their instructions, and what their users say.

    Args:
        benchmark: What they are added to.
        tasks: The tasks.
        name: Stands before their ids, with a slash.
    """
    for task in tasks:
        said = [] if task.instruction is None else [task.instruction]
        benchmark.add(f"{name}/{task.id}" if name else task.id, [*said, *texts_in(task.user or {})])


def add_file(benchmark: Benchmark, path: Path) -> None:
    """Add a file of a benchmark: JSON Lines or JSON of tasks, all of whose texts count, or one task a line of text.

    Raises:
        InputError: The file cannot be read, or holds no text.
    """
    before = len(benchmark)
    for number, item in enumerate(_items_of(path), 1):
        benchmark.add(f"{path.name}:{number}", texts_in(item) if not isinstance(item, str) else [item])
    if len(benchmark) == before:
        raise InputError("it holds no task with a text", where=str(path), fix="Give JSON Lines, JSON, or text.")


def _items_of(path: Path) -> Iterable[Any]:
    if path.suffix == ".jsonl":
        return (value for _, value in read_jsonl(path))
    text = read_text(path)
    if path.suffix == ".json":
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise InputError(f"it is no JSON: {error}", where=str(path), fix="Mend it.") from None
        return value if isinstance(value, list) else [*value.values()] if isinstance(value, dict) else [value]
    return (line for line in text.splitlines() if line.strip())
