"""Pools that distribute episodes to other processes, registered as entry points in the group ``simia_gym.pools``.

An entry point names a subclass of `Pool` whose constructor takes an `Elsewhere` in place of the policy factory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points

from simia_gym.errors import InputError
from simia_gym.policies import PolicyOptions
from simia_gym.rollout.pool import Pool

_GROUP = "simia_gym.pools"


@dataclass(frozen=True, kw_only=True)
class Elsewhere:
    """What worker processes need besides the environment's settings; it can be pickled and holds no secrets.

    Attributes:
        policy: Name of the policy, as for `Suite.load_policy`.
        options: Settings of the policy's model.
        address: Address of the cluster; ``None`` for the configured cluster, or else a local one.
        workers: Number of worker processes; ``None`` for one per core.
        content_hash: Content hash of the policy's model files on each node; see `simia_gym.policies.load`.
    """

    policy: str
    options: PolicyOptions
    address: str | None = None
    workers: int | None = None
    content_hash: str | None = None


def load_pool(name: str) -> Callable[..., Pool]:
    """Find a class of pools by name, such as ``ray``.

    Raises:
        InputError: The pool is not installed; the error says what to install.
    """
    fix = f'Install it: pip install "simia-gym[{name}]".'
    points = {point.value: point for point in entry_points(group=_GROUP, name=name)}
    if len(points) != 1:
        what = f"the pool {name!r} is offered by {' and '.join(points)}" if points else f"there is no pool {name!r}"
        raise InputError(what, where=f"--{name}", fix="Uninstall one of them." if points else fix)
    (point,) = points.values()
    try:
        found: Callable[..., Pool] = point.load()
    except ModuleNotFoundError as error:
        raise InputError(f"{error.name} is not installed", where=f"--{name}", fix=fix) from error
    return found
