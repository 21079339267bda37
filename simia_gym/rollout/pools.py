"""Pools that distribute episodes to other processes, registered as entry points in the group ``simia_gym.pools``.

An entry point names a subclass of `Pool` whose constructor takes an `Elsewhere` in place of the policy factory, as
`MakePool` declares.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Protocol

from simia_gym.assembly.suite import Suite
from simia_gym.errors import InputError
from simia_gym.policies import PolicyOptions
from simia_gym.rollout.jobs import Plan
from simia_gym.rollout.pool import OnDone, Pool

GROUP = "simia_gym.pools"
EXTRAS = {"ray": 'pip install "simia-gym[ray]"'}


@dataclass(frozen=True, kw_only=True)
class Elsewhere:
    """What worker processes need besides the environment's settings; it can be pickled and holds no secrets.

    Attributes:
        policy: Name of the policy, as for `simia_gym.rollout.player.make_player`.
        options: Settings of the policy's model.
        address: Address of the cluster; ``None`` for the configured cluster, or else a local one.
        workers: Number of worker processes; ``None`` for one per core.
        content_hash: Content hash of the policy's model files on each node; see `simia_gym.policies.extra`.
    """

    policy: str
    options: PolicyOptions
    address: str | None = None
    workers: int | None = None
    content_hash: str | None = None


class MakePool(Protocol):
    """A class of pools."""

    def __call__(
        self,
        suite: Suite,
        plan: Plan,
        elsewhere: Elsewhere,
        *,
        concurrency: int = 8,
        timeout: float | None = None,
        on_done: OnDone | None = None,
    ) -> Pool:
        """Make a pool; see `Pool`."""
        ...


def load_pool(name: str) -> MakePool:
    """Find a class of pools by name.

    Args:
        name: The name, such as ``ray``.

    Raises:
        InputError: The pool is not installed; the error says what to install.
    """
    fix = f"Install it: {EXTRAS[name]}." if name in EXTRAS else "Install the package that brings it."
    points = [point for point in entry_points(group=GROUP) if point.name == name]
    if not points:
        raise InputError(f"there is no pool {name!r} here", where=f"--{name}", fix=fix)
    try:
        found: MakePool = points[0].load()
    except ModuleNotFoundError as error:
        raise InputError(f"{error.name} is not installed", where=f"--{name}", fix=fix) from error
    return found
