"""Finds a policy by name and returns a factory for it.

Other packages offer policies as entry points of the group ``simia_gym.policies``. An entry point names a function that
takes `PolicyOptions` and returns the factory. The factory may have ``content_hash``, a hash of the policy's version,
which prevents resuming a record with another version, and ``trained_prompt``, the system message of its training.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, cast

from simia_gym.common.dotted_names import load_object
from simia_gym.common.files import Lines
from simia_gym.errors import InputError, did_you_mean
from simia_gym.policies.base import Policy, PolicyOptions
from simia_gym.policies.built_in import ClaimerPolicy, NullPolicy, RandomPolicy, RefuserPolicy
from simia_gym.policies.spoiled import SpoiledPolicy, check_way, read_spoiling

if TYPE_CHECKING:
    from simia_gym.llm.budget import Budget
    from simia_gym.llm.cassette import Cassette

_GROUP = "simia_gym.policies"
HUMAN = "human"
"""The policy that asks a person, one episode after the other."""
_BUILT_IN: Mapping[str, Callable[[], Policy]] = {
    "null": NullPolicy,
    "claimer": ClaimerPolicy,
    "random": RandomPolicy,
    "refuser": RefuserPolicy,
}


def policy_names(domain_policies: Mapping[str, str] | None = None) -> list[str]:
    """The names of the policies that play by themselves, built-in or the domain's, sorted; none of other packages."""
    return sorted({*_BUILT_IN, "llm", *(domain_policies or {})})


@cache
def extra_policies() -> frozenset[str]:
    """The names of the policies of other packages."""
    return frozenset(point.name for point in entry_points(group=_GROUP))


def load_policy(
    spec: str,
    domain_policies: Mapping[str, str] | None = None,
    options: PolicyOptions | None = None,
    *,
    folder: Path | None = None,
    budget: Budget | None = None,
    cassette: Cassette | None = None,
) -> Callable[[], Policy]:
    """Find a policy; `Suite.load_policy` finds one for an environment.

    Args:
        spec: A name (``null``, ``claimer``, ``refuser``, ``random``, ``human``, ``llm``, one of the domain's, or one of
            another package, such as ``hf``); or the user's own ``module:Class`` or ``file.py:Class``, relative to the
            current directory. ``NAME:RATE``, such as ``expert:0.2``, spoils that share of its actions, and
            ``NAME:RATE:WAY``, such as ``expert:0.2:wrong-argument``, in one way; see `SpoiledPolicy`.
        domain_policies: The domain's policies: name to ``package.module:Class``.
        options: Settings for ``llm`` and for policies of other packages.
        folder: The domain's folder, for ``file.py:Class`` among its policies.
        budget: Limits of ``llm``.
        cassette: Records or replays the replies of ``llm``.

    Returns:
        A factory; every call creates a policy.

    Raises:
        InputError: There is no such policy, or it cannot be used; gives the reason and the known names.
    """
    own, options = dict(domain_policies or {}), options or PolicyOptions()
    spoiling = read_spoiling(spec)
    if spoiling.rate is not None:
        make = load_policy(spoiling.name, own, options, folder=folder, budget=budget, cassette=cassette)
        check_way(spoiling, make)
        return partial(SpoiledPolicy, make, spoiling.rate, spoiling.way)
    if spec in own:
        where = _place(spec, folder)
        return checked_class(load_object(own[spec], folder=folder, where=where), own[spec], where)
    if spec in _BUILT_IN:
        return _BUILT_IN[spec]
    if spec == HUMAN:
        from simia_gym.policies.human import HumanPolicy

        return HumanPolicy
    if spec == "llm":
        from simia_gym.policies.llm import LLMPolicies

        make = LLMPolicies(options, budget, cassette)
        make()  # refuses settings of which no model can be made
        return make
    if spec in extra_policies():
        return _load_extra(spec, options)
    known = ", ".join(sorted({*policy_names(own), HUMAN, *extra_policies()}))
    if ":" not in spec:
        hint = did_you_mean(spec, known.split(", "))
        fix = f"{hint}Known names: {known}; or give module:Class of your own."
        raise InputError(f"unknown policy {spec!r}", fix=fix)
    see_current_folder()
    try:
        found = load_object(spec, folder=Path.cwd(), where="policy")
    except InputError as error:
        fix = f"{error.fix} Known names: {known}.".strip()
        raise InputError(error.what, where=error.where, fix=fix) from error
    return checked_class(found, spec)


def see_current_folder() -> None:
    """Let modules of the current folder be imported; they shadow no installed package."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)


def _place(name: str, folder: Path | None) -> str:
    """Where a domain names one of its policies."""
    return f"policy {name!r}" if folder is None else Lines(folder / "domain.yaml").where(["policies", name])


def _load_extra(name: str, options: PolicyOptions) -> Callable[[], Policy]:
    """Load a policy of another package; several packages that offer the same name are an error."""
    where = f"policy {name!r}"
    first, *others = {point.value: point for point in entry_points(group=_GROUP, name=name)}.values()
    if others:
        offers = " and ".join(point.value for point in (first, *others))
        raise InputError(f"it is offered by {offers}", where=where, fix="Uninstall one of them.")
    package = first.dist.name if first.dist is not None else first.module
    try:
        make: Callable[[PolicyOptions], Callable[[], Policy]] = first.load()
    except InputError:
        raise
    except Exception as error:
        what = f"{package} cannot load it from {first.value}: {type(error).__name__}: {error}"
        raise InputError(what, where=where, fix=f"Mend, update or uninstall {package}.") from error
    return make(options)


def checked_class(found: object, spec: str, where: str = "policy") -> Callable[[], Policy]:
    """Check that an object is a policy class whose constructor needs no arguments."""
    fix = "Write a class with a method act(self, messages) -> str."
    if not inspect.isclass(found):
        raise InputError(f"{spec} is no class (it is of type {type(found).__name__})", where=where, fix=fix)
    if not callable(getattr(found, "act", None)):
        raise InputError(f"{spec} has no method 'act'", where=where, fix=fix)
    try:
        inspect.signature(found).bind()
    except TypeError as error:
        what = f"{spec} cannot be made without arguments ({error})"
        raise InputError(what, where=where, fix="Give its parameters defaults.") from error
    except ValueError:  # a class written in C may have no signature
        pass
    return cast("Callable[[], Policy]", found)


def policy_hash(
    spec: str, domain_policies: Mapping[str, str] | None = None, *, folder: Path | None = None
) -> str | None:
    """Hash the source of a policy: the files of its class, of the base classes and of the module in ``module:Class``.

    Imported modules are not covered.

    Args:
        spec: A name or ``module:Class``, as for `load_policy`.
        domain_policies: The domain's policies: name to ``package.module:Class``.
        folder: The domain's folder.

    Returns:
        16 hex digits; ``None`` for a built-in policy, or one without source files.
    """
    spec = read_spoiling(spec).name
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
        own = name.endswith((".py", ".yaml"))
        file = str(place / name) if own else getattr(sys.modules.get(name), "__file__", None)
        if name.partition(".")[0] in sys.stdlib_module_names or file is None:
            continue
        path = Path(file).resolve()
        if path.is_file():
            yield path
