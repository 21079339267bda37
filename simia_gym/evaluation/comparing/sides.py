"""Reads how a side is to be played: ``world``, ``llm,model=big,strategy=reference``, ``prompt=compact``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from simia_gym.assembly.settings import EnvConfig, SimulatorName
from simia_gym.common.json_encoding import decode
from simia_gym.errors import InputError, did_you_mean

_FIXED = ("env", "domain", "data", "split", "generated", "without_dev", "roles", "routes", "options")


@dataclass(frozen=True)
class SideSpec:
    """How a side is played, or where its record is.

    Attributes:
        text: As it was written.
        record: A record, or a folder of records, that is there already; ``None`` if the side is played.
        settings: Settings of the environment that replace the common ones.
        roles: Settings of models by role that are added to the common ones.
    """

    text: str
    record: Path | None
    settings: dict[str, Any]
    roles: dict[str, dict[str, Any]]


def read_side(text: str, where: str) -> SideSpec:
    """Read a side.

    Args:
        text: A record or a folder of records; or a simulator, or ``KEY=VALUE``, or several of them with commas between.
        where: Name of the option.

    Raises:
        InputError: It is none of these, or names a setting that there is not.
    """
    path = Path(text)
    if text.endswith(".jsonl") or path.is_dir():
        return SideSpec(text, path, {}, {})
    settings: dict[str, Any] = {}
    roles: dict[str, dict[str, Any]] = {}
    fields = EnvConfig.fields()
    for word in text.split(","):
        name, given, value = word.partition("=")
        if not given:
            if word not in get_args(SimulatorName):
                known = ", ".join(get_args(SimulatorName))
                fix = f"Give a record, a simulator ({known}), or KEY=VALUE."
                raise InputError(f"{word!r} is no side", where=where, fix=fix)
            settings["simulator"] = word
            continue
        role, dot, key = name.removeprefix("role.").partition(".")
        if name.startswith("role.") and dot:
            roles.setdefault(role, {})[key] = _value(value)
        elif name in fields and name not in _FIXED:
            settings[name] = _value(value) if name not in ("model", "user", "prompt", "history") else value
        else:
            known_names = [one for one in fields if one not in _FIXED]
            fix = f"{did_you_mean(name, known_names)}Known: {', '.join(known_names)}, role.ROLE.KEY."
            raise InputError(f"{name!r} is no setting of a side", where=where, fix=fix)
    return SideSpec(text, None, settings, roles)


def _value(text: str) -> Any:
    """A number, true, false or null as such; all else as a text."""
    try:
        return decode(text)
    except ValueError:
        return text
