"""Pools that spread episodes beyond this process, found by name through the entry-point group ``simia_gym.pools``.

An entry point names a class like `Pool`: made with the environment, the plan, what makes a policy, and `Elsewhere`,
which says what it takes to make the same in another process.
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
    """What other processes need besides the environment's settings; it can be pickled and holds no secret.

    Attributes:
        policy: Names the policy, as for `simia_gym.rollout.player.make_player`.
        options: Settings of its model.
        address: Of the cluster; ``None`` for the one that is configured, or else one of this machine alone.
        workers: Worker processes; ``None`` for one per core.
        content_hash: Of the policy's model, where its files lie on each node; see `simia_gym.policies.extra`.
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
    """Find a class of pools.

    Args:
        name: Its name, such as ``ray``.

    Raises:
        InputError: It is not installed; says what to install.
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
