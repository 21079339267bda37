"""Libraries that only training needs, and what to install where one is missing."""

from __future__ import annotations

from importlib.util import find_spec

from simia_gym.errors import InputError


def require(extra: str, *modules: str) -> None:
    """Make sure that libraries are installed, without importing them.

    Args:
        extra: The extra of this package that brings them: ``rl`` or ``trl``.
        modules: Their top-level modules.

    Raises:
        InputError: One is missing; says what to install.
    """
    for module in modules:
        if find_spec(module) is None:
            fix = f'Install what training needs: pip install "simia-gym[{extra}]"'
            raise InputError(f"{module} is not installed", where="training", fix=fix)
