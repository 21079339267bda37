"""Checks before a training: installed libraries and number of CPU cores."""

from __future__ import annotations

import os
from importlib.util import find_spec

from simia_gym.errors import InputError


def require(extra: str, *modules: str) -> None:
    """Check that the libraries of an extra are installed, without importing them.

    Raises:
        InputError: A library is missing; says what to install.
    """
    for module in modules:
        if find_spec(module) is None:
            fix = f'Install what training needs: pip install "simia-gym[{extra}]"'
            raise InputError(f"{module} is not installed", where="training", fix=fix)


def cores() -> int:
    """Number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
