"""How long episodes and replies took, from the sidecar file beside a record."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from simia_gym.common.json_encoding import decode

TIMES = ".times.jsonl"
"""How the names of sidecar files end."""


@dataclass(frozen=True, slots=True)
class Times:
    """The times of an episode.

    Attributes:
        seconds: How long it took; ``None`` if nobody has written it down.
        calls: How long each reply was waited for, by its event.
    """

    seconds: float | None = None
    calls: Mapping[int, float] = field(default_factory=dict)


_NONE = Times()


class TimesOf:
    """Finds the times of episodes; the sidecar file of a record is read once, when it is first needed."""

    def __init__(self) -> None:
        self._known: dict[Path, dict[str, Times]] = {}

    def __call__(self, path: Path, key: str) -> Times:
        """The times of an episode by the path of its record and its key."""
        if path not in self._known:
            self._known[path] = _read(path.with_name(f"{path.name.removesuffix('.jsonl')}{TIMES}"))
        return self._known[path].get(key, _NONE)


def _read(path: Path) -> dict[str, Times]:
    """The times by the keys of the episodes; of lines that cannot be read there are none."""
    found: dict[str, Times] = {}
    if path.is_file():
        with path.open("rb") as file:
            for raw in file:
                with suppress(ValueError, TypeError, KeyError, AttributeError):
                    line = decode(raw)
                    calls = {int(event): float(waited) for event, waited in line.get("calls", {}).items()}
                    found[line["key"]] = Times(float(line["seconds"]), calls)
    return found


def in_seconds(waited: float | None) -> str:
    """A duration as text; empty if there is none."""
    return "" if waited is None else f"{waited:.2f} s" if waited < 10 else f"{waited:,.0f} s"
