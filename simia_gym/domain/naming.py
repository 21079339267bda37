"""Resolves the environment argument of a command to an environment id and a domain folder."""

from __future__ import annotations

import re
from pathlib import Path

from simia_gym.domain.registration import CUSTOM, env_ids
from simia_gym.errors import InputError, did_you_mean


def resolve_env(name: str, domain: str | None = None) -> tuple[str, str | None]:
    """Find the id of an environment, and the folder if the id is ``simia/custom-v0``.

    Args:
        name: An id, its short form (``x`` for ``simia/x-v0``), or the folder of a domain.
        domain: The value of ``--domain``.

    Raises:
        InputError: There is no such environment.
    """
    ids = env_ids()
    if name == CUSTOM and not domain:
        raise InputError(f"{CUSTOM} needs the folder of your domain", where="ENV", fix="Add --domain DIR.")
    if domain and name != CUSTOM and (name in ids or f"simia/{name}-v0" in ids):
        raise InputError(f"it is for {CUSTOM}, not {name}", where="--domain", fix=f"Write {CUSTOM} for ENV.")
    if name == CUSTOM or name in ids:
        return name, domain
    own = domain is None and (Path(name) / "domain.yaml").is_file()
    if f"simia/{name}-v0" in ids:
        if own:
            fix = f"Write simia/{name}-v0 for the one and ./{name} for the other."
            raise InputError(f"{name!r} is an environment and a folder here, too", where="ENV", fix=fix)
        return f"simia/{name}-v0", domain
    if own:
        return CUSTOM, name
    short = [one.removeprefix("simia/").removesuffix("-v0") for one in ids]
    hint = did_you_mean(name, [*ids, CUSTOM] if name.startswith("simia/") else short)
    fix = f"{hint}Known: {', '.join([*ids, CUSTOM])}; or the folder of a domain."
    raise InputError(f"there is no environment {name!r}", where="ENV", fix=fix)


def slug(text: str) -> str:
    """The text as a word that is safe in a file name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "x"
