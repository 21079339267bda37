"""Finds a policy by name and returns a factory for it."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import cast

from simia_gym.common.dotted_names import load_object
from simia_gym.errors import InputError, did_you_mean
from simia_gym.policies.base import Policy, PolicyOptions
from simia_gym.policies.extra import extra_policies, load_extra_policy
from simia_gym.policies.idle import ClaimerPolicy, NullPolicy, RefuserPolicy
from simia_gym.policies.random_policy import RandomPolicy

_BUILT_IN: Mapping[str, Callable[[], Policy]] = {
    "null": NullPolicy,
    "claimer": ClaimerPolicy,
    "random": RandomPolicy,
    "refuser": RefuserPolicy,
}


def policy_names(domain_policies: Mapping[str, str] | None = None) -> list[str]:
    """The names that `load_policy` knows: built-in policies and the domain's, without those of other packages.

    Args:
        domain_policies: The domain's policies, by name.

    Returns:
        The names, sorted.
    """
    return sorted({*_BUILT_IN, "llm", *(domain_policies or {})})


def load_policy(
    spec: str,
    domain_policies: Mapping[str, str] | None = None,
    options: PolicyOptions | None = None,
    *,
    folder: Path | None = None,
) -> Callable[[], Policy]:
    """Find a policy.

    Args:
        spec: A name (``null``, ``claimer``, ``refuser``, ``random``, ``llm``, one of the domain's, or one of another
            package, such as ``hf``); or the user's own ``module:Class`` or ``file.py:Class``, relative to the current
            directory.
        domain_policies: The domain's policies: name to ``package.module:Class``.
        options: Settings for ``llm`` and for policies of other packages.
        folder: The domain's folder, for ``file.py:Class`` among its policies.

    Returns:
        A factory; every call creates a policy.

    Raises:
        InputError: There is no such policy, or it cannot be used; gives the reason and the known names.
    """
    own = dict(domain_policies or {})
    if spec in own:
        return checked_class(load_object(own[spec], folder=folder, where=f"policy {spec!r}"), own[spec])
    if spec in _BUILT_IN:
        return _BUILT_IN[spec]
    if spec == "llm":
        from simia_gym.policies.llm import LLMPolicy, resolve_options

        return partial(LLMPolicy, resolve_options(options or PolicyOptions()))
    if spec in extra_policies():
        return load_extra_policy(spec, options or PolicyOptions())
    known = ", ".join(sorted({*policy_names(own), *extra_policies()}))
    if ":" not in spec:
        hint = did_you_mean(spec, known.split(", "))
        fix = f"{hint}Known names: {known}; or give module:Class of your own."
        raise InputError(f"unknown policy {spec!r}", fix=fix)
    _make_current_directory_importable()
    try:
        found = load_object(spec, folder=Path.cwd(), where="policy")
    except InputError as error:
        fix = f"{error.fix} Known names: {known}.".strip()
        raise InputError(error.what, where=error.where, fix=fix) from error
    return checked_class(found, spec)


def checked_class(found: object, spec: str) -> Callable[[], Policy]:
    """Check that an object is a policy class whose constructor needs no arguments."""
    fix = "Write a class with a method act(self, messages) -> str."
    if not inspect.isclass(found):
        raise InputError(f"{spec} is not a class but a {type(found).__name__}", where="policy", fix=fix)
    act = getattr(found, "act", None)
    if not callable(act):
        raise InputError(f"{spec} has no method 'act'", where="policy", fix=fix)
    try:
        inspect.signature(found).bind()
    except TypeError as error:
        raise InputError(
            f"{spec} cannot be made without arguments ({error})", where="policy", fix="Give its parameters defaults."
        ) from error
    except ValueError:
        pass
    return cast("Callable[[], Policy]", found)


def _make_current_directory_importable() -> None:
    """Add the current directory to ``sys.path``, at its end, so that it shadows no installed package."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
