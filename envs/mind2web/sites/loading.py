"""Reads the files of sites."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from simia_gym.common.files import Lines, read_yaml
from simia_gym.common.json_encoding import hash_of
from simia_gym.common.validation import validated
from simia_gym.envs.mind2web.sites.links import mistakes
from simia_gym.envs.mind2web.sites.spec import Site
from simia_gym.errors import DomainError


def load_site(path: Path) -> Site:
    """Read the file of a site.

    Raises:
        DomainError: With every mistake, its line and what to do, in ``problems``.
    """
    return site_of(read_yaml(path), Lines(path))


def site_of(value: Any, lines: Lines) -> Site:
    """A site of the decoded content of its file; `lines` finds the places of mistakes."""
    if not isinstance(value, Mapping):
        raise DomainError("is not a mapping of keys", where=str(lines.path), fix="Write `name: ...` lines.")
    site = validated(Site, value, where=lines.where)
    found = [DomainError(what, where=lines.where(place), fix=fix) for place, what, fix in mistakes(site)]
    if site.name != lines.path.stem:
        fix = "Call both alike."
        found.append(DomainError(f"the file of {site.name!r} has another name", where=lines.where(("name",)), fix=fix))
    if found:
        raise DomainError.of(found)
    return site


@cache
def sites() -> Mapping[str, Site]:
    """The sites of this folder by name, in the order of their names."""
    found = sorted(Path(__file__).parent.glob("*.yaml"))
    return {site.name: site for site in map(load_site, found)}


_own: dict[str, Site] = {}


def find_site(name: str) -> Site:
    """A site of this folder, or one that was added.

    Raises:
        LookupError: There is none.
    """
    found = sites().get(name) or _own.get(name)
    if found is None:
        raise LookupError(f"there is no site {name!r}; load its file with data=")
    return found


def sites_called(title: str) -> list[Site]:
    """The sites of this folder, and those that were added, with this title."""
    return [site for site in (*sites().values(), *_own.values()) if site.title == title]


def add_site(path: Path) -> Site:
    """Reads the file of an own site and makes it known to this process, under a name that tells its content.

    Raises:
        DomainError: The file has mistakes.
    """
    read = load_site(path)
    name = f"{read.name}_{hash_of(path.read_bytes())[:8]}"
    return _own.setdefault(name, read.model_copy(update={"name": name}))
