"""Policies of other packages, from the entry-point group ``simia_gym.policies``.

An entry point names a function that takes `PolicyOptions` and returns a `PolicySource`. It is loaded only when its
policy is used.
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
    """A factory that creates a policy for each episode; the policies may share a model.

    Attributes:
        content_hash: Hash of the policy's version, which prevents resuming a record with another version; ``None`` if
            the policy has only one version.
    """

    @property
    def content_hash(self) -> str | None:
        """Hash of the policy's version."""
        ...

    def __call__(self) -> Policy:
        """Create a policy for one episode."""
        ...


@cache
def extra_policies() -> dict[str, tuple[EntryPoint, ...]]:
    """The names of policies of other packages, each with its entry points; more than one entry point is a conflict."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        offers = found.get(point.name, ())
        if point.value not in [item.value for item in offers]:
            found[point.name] = (*offers, point)
    return found


def load_extra_policy(name: str, options: PolicyOptions) -> PolicySource:
    """Load a policy of another package.

    Args:
        name: A name in `extra_policies`.
        options: The policy's settings.

    Returns:
        The factory of policies.

    Raises:
        InputError: The policy cannot be loaded with these settings, or several packages offer it; names the packages.
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
