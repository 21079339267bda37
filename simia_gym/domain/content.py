"""Content hash of a domain: of its folder, and of the packages outside of the engine that its files use."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from pathlib import Path

_OF_RUNS = (".jsonl", ".blobs")
_KIT = re.compile(r"simia_gym(?:\.| import )(service|envs(?:\.| import )\w+)")
_NAMED = re.compile(r"\b([A-Za-z_][\w.]*):[A-Za-z_]")


def content_hash(folder: Path, skip: Collection[str]) -> bytes:
    """Hash the files that a domain consists of; the same on every machine, whatever its line endings.

    These are all files of the folder, and of each package that they import or name: ``simia_gym.service``, a folder in
    ``simia_gym.envs``, the package of a module that ``domain.yaml`` names. Not covered are the rest of ``simia_gym``,
    Python's own modules, hidden files, README.md, the folder ``runs``, and files in JSON Lines (tasks and records).

    Args:
        folder: The domain's folder.
        skip: Paths in the folder that are left out.
    """
    digest = hashlib.sha256()
    roots = {"": folder.resolve()}
    waiting = [""]
    named = set(_NAMED.findall((folder / "domain.yaml").read_text(encoding="utf-8")))
    own = (name for name in named if not name.startswith("simia_gym.") and not name.endswith(".py"))
    packages = {name.rpartition(".")[0] or name for name in own}
    while waiting:
        package = waiting.pop()
        for name, path in sorted(_files(roots[package])):
            if package or name not in skip:
                data = path.read_bytes()
                data = data if b"\0" in data else data.replace(b"\r\n", b"\n")
                digest.update(f"{package}/{name}\0".encode() + hashlib.sha256(data).digest())
                if path.suffix in (".py", ".yaml"):
                    kits = _KIT.findall(data.decode("utf-8", "replace"))
                    packages.update(f"simia_gym.{kit.replace(' import ', '.')}" for kit in kits)
        for new in sorted(packages - roots.keys()):
            place = _place_of(new)
            if place is not None and place not in roots.values():
                waiting.append(new)
                roots[new] = place
        packages.clear()
    return digest.digest()


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    if folder.is_file():
        yield folder.name, folder
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__")) and name != "runs"]
        for name in files:
            path = Path(root, name)
            if not name.startswith(".") and name != "README.md" and path.suffix not in _OF_RUNS and path.is_file():
                yield path.relative_to(folder).as_posix(), path


def _place_of(package: str) -> Path | None:
    """The folder of a package, or the file of a module outside of packages; ``None`` if there is none."""
    try:
        spec = None if package.partition(".")[0] in sys.stdlib_module_names else find_spec(package)
    except (ImportError, ValueError):
        return None
    if spec is None or (not spec.has_location and not spec.submodule_search_locations):
        return None
    places = [*(spec.submodule_search_locations or ()), str(spec.origin)]
    return Path(places[0]).resolve()
