"""Finds environments by name and registers them with Gymnasium.

The folders of domains are listed without reading files or importing a domain's code.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from simia_gym.common.secrets import secrets_in
from simia_gym.errors import InputError, did_you_mean

CUSTOM = "simia/custom-v0"
"""Id of the environment whose domain is given by its folder."""


@cache
def domain_folders() -> dict[str, Path]:
    """Environment id to domain folder, sorted by id.

    The folders are in the sub-package ``envs``, which is located but not imported.
    """
    spec = find_spec("simia_gym.envs")
    roots = list(spec.submodule_search_locations or ()) if spec is not None else []
    found = {
        f"simia/{folder.name}-v0": folder
        for root in roots
        for folder in Path(root).iterdir()
        if (folder / "domain.yaml").is_file()
    }
    return dict(sorted(found.items()))


def env_ids() -> list[str]:
    """The ids of all installed environments, without the custom one."""
    return list(domain_folders())


def domain_path(env: str) -> Path:
    """The folder of an environment's domain.

    Raises:
        InputError: There is no such environment; the message lists the existing ones.
    """
    folder = domain_folders().get(env)
    if folder is None:
        known = ", ".join([*env_ids(), CUSTOM])
        fix = f"{did_you_mean(env, env_ids())}Known: {known}."
        raise InputError(f"there is no environment {env!r}", fix=fix)
    return folder


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
    hint = did_you_mean(name, [*ids, CUSTOM] if name.startswith("simia/") or name.endswith("-v0") else short)
    fix = f"{hint}Known: {', '.join([*ids, CUSTOM])}; or the folder of a domain."
    raise InputError(f"there is no environment {name!r}", where="ENV", fix=fix)


def without_keys(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of an environment without API keys, and without addresses that hold one."""
    kept = {name: value for name, value in settings.items() if name not in ("api_key", "api_keys")}
    if not _is_plain(kept.get("base_url", "")):
        del kept["base_url"]
    by_role = kept.get("base_urls")
    if isinstance(by_role, Mapping):
        kept["base_urls"] = {role: address for role, address in by_role.items() if _is_plain(address)}
    return kept


def _is_plain(address: Any) -> bool:
    """Whether an address has neither user nor password nor query."""
    try:
        return address is None or (isinstance(address, str) and not secrets_in(address))
    except ValueError:
        return False


class KeylessSpec(EnvSpec):
    """A specification that keeps no key of how an environment was made, also in Gymnasium's own vectors."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; keyword arguments without keys."""
        super().__setattr__(name, without_keys(value) if name == "kwargs" else value)


def register_all() -> None:
    """Register all environments with Gymnasium; may be called again."""
    for env in [*env_ids(), CUSTOM]:
        if env not in gymnasium.registry:
            gymnasium.register(
                id=env,
                entry_point="simia_gym.env:SimiaEnv",
                vector_entry_point="simia_gym.vector:SimiaVectorEnv",
                kwargs={"env_id": env},
            )
            found = gymnasium.registry[env]
            gymnasium.registry[env] = KeylessSpec(
                env, found.entry_point, kwargs=found.kwargs, vector_entry_point=found.vector_entry_point
            )
