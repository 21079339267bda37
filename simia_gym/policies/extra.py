"""Policies that other packages bring, through the entry-point group ``simia_gym.policies``.

An entry point names a function that takes `PolicyOptions` and gives what makes the policy of one episode. It is loaded
when its policy is asked for and not before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol

from simia_gym.errors import InputError
from simia_gym.policies.base import Policy, PolicyOptions

GROUP = "simia_gym.policies"


class PolicySource(Protocol):
    """What makes the policy of one episode; all that it makes may share a model.

    Attributes:
        content_hash: Hash of the policy's version, so that a record is not continued with another one; ``None`` if
            there is only one version.
    """

    @property
    def content_hash(self) -> str | None:
        """Hash of the policy's version."""
        ...

    def __call__(self) -> Policy:
        """Make a new policy."""
        ...


@cache
def extra_policies() -> dict[str, tuple[EntryPoint, ...]]:
    """The names of further policies with the packages that bring them; more than one package is a conflict."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        offers = found.get(point.name, ())
        if point.value not in [item.value for item in offers]:
            found[point.name] = (*offers, point)
    return found


def load_extra_policy(name: str, options: PolicyOptions) -> PolicySource:
    """Load a policy that another package brings.

    Args:
        name: One of `extra_policies`.
        options: Its settings.

    Returns:
        What makes the policy of one episode.

    Raises:
        InputError: It cannot be loaded, or not with these settings; names the package.
    """
    where = f"policy {name!r}"
    points = extra_policies()[name]
    if len(points) > 1:
        raise InputError(
            f"it is offered by {' and '.join(map(_package, points))}", where=where, fix="Uninstall one of them."
        )
    package = _package(points[0])
    try:
        make: Callable[[PolicyOptions], PolicySource] = points[0].load()
    except InputError:
        raise
    except Exception as error:
        what = f"{package} cannot load it from {points[0].value}: {type(error).__name__}: {error}"
        raise InputError(what, where=where, fix=f"Mend, update or uninstall {package}.") from error
    return make(options)


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value.partition(":")[0]
