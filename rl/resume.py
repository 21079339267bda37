"""The settings of a training in its folder: written when it starts, compared when it is resumed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simia_gym.common.writing import write_whole
from simia_gym.errors import InputError
from simia_gym.types import JsonObject

SETTINGS = "settings.json"


def write_settings(folder: Path, settings: JsonObject) -> None:
    """Write the settings to a run's folder."""
    write_whole(folder / SETTINGS, json.dumps(settings, indent=1) + "\n")


def read_settings(folder: Path) -> JsonObject | None:
    """The settings that a run was started with; ``None`` if none was started there, or they cannot be read."""
    try:
        found = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def check_settings(
    folder: Path, settings: JsonObject, fixed: Callable[[JsonObject], JsonObject] = lambda settings: settings
) -> None:
    """Check that a resumed run has the settings that it was started with.

    Args:
        folder: The run's folder.
        settings: The settings of this start.
        fixed: The part of the settings that must not differ, by name.

    Raises:
        InputError: No run was started here, or a setting differs; names the setting.
    """
    path, saved = folder / SETTINGS, read_settings(folder)
    if saved is None:
        fix = "Leave --resume out to begin one."
        raise InputError(f"no training has begun in {folder}", where="--resume", fix=fix)
    before = fixed(saved)
    now = fixed(json.loads(json.dumps(settings)))
    for name in sorted({*before, *now}):
        if found := _difference(name, before.get(name), now.get(name)):
            what = f"{found[0]} was {_short(found[1])} and now is {_short(found[2])}"
            fix = f"Give the options of the run (see {path}), or another --out."
            raise InputError(what, where="--resume", fix=fix)


def _difference(name: str, before: Any, now: Any) -> tuple[str, Any, Any] | None:
    """The first leaf that differs between two settings, with its dotted name."""
    if isinstance(before, list) and isinstance(now, list):
        before, now = dict(enumerate(before)), dict(enumerate(now))
    if not isinstance(before, dict) or not isinstance(now, dict):
        return None if before == now else (name, before, now)
    for key in [*before, *(key for key in now if key not in before)]:
        if found := _difference(f"{name}.{key}", before.get(key), now.get(key)):
            return found
    return None


def _short(value: Any, most: int = 120) -> str:
    text = json.dumps(value)
    return text if len(text) <= most else f"{text[:most]}…"
