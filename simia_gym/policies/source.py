"""The version of a policy: a hash of the source files of its class."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from simia_gym.common.dotted_names import load_object


def policy_hash(
    spec: str, domain_policies: Mapping[str, str] | None = None, *, folder: Path | None = None
) -> str | None:
    """Hash the source of a policy that `load_policy` can load.

    The hash covers the files of the class, of its base classes and of the module in ``module:Class``; imported modules
    are not covered.

    Args:
        spec: A name or ``module:Class``, as for `load_policy`.
        domain_policies: The domain's policies: name to ``package.module:Class``.
        folder: The domain's folder.

    Returns:
        16 hex digits; ``None`` for a built-in policy, or one without source files.
    """
    named = (domain_policies or {}).get(spec)
    dotted = named or spec
    if ":" not in dotted:
        return None
    place = Path.cwd() if named is None else folder or Path.cwd()
    found = load_object(dotted, folder=place, where="policy")
    digest = hashlib.sha256()
    paths = list(dict.fromkeys(_files(dotted.rpartition(":")[0], place, found)))
    for path in paths:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16] if paths else None


def _files(source: str, place: Path, found: object) -> Iterator[Path]:
    modules = [source, *(item.__module__ for item in inspect.getmro(found))] if inspect.isclass(found) else [source]
    for name in modules:
        file = str(place / name) if name.endswith(".py") else getattr(sys.modules.get(name), "__file__", None)
        if name.partition(".")[0] in sys.stdlib_module_names or file is None:
            continue
        path = Path(file).resolve()
        if path.is_file():
            yield path
