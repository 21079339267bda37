"""Makes a grammar by its name."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from simia_gym.actions.base import Grammar
from simia_gym.actions.tools_grammar import ToolsGrammar
from simia_gym.common.dotted_names import load_object
from simia_gym.errors import InputError

_BUILT_IN = {ToolsGrammar.name: ToolsGrammar}
_METHODS = ("parse", "instructions", "render", "sample")


def get_grammar(name: str, *, folder: Path | None = None, where: str = "grammar") -> Grammar:
    """Make a grammar.

    Args:
        name: ``tools``, or a class as ``module:Class`` or ``file.py:Class``.
        folder: The folder of ``file.py``.
        where: Source of the name, for error messages.

    Returns:
        The grammar.

    Raises:
        InputError: There is no such class, or it is not a grammar.
    """
    if ":" not in name and name not in _BUILT_IN:
        fix = f"Use {', '.join(_BUILT_IN)}, or name a class as module:Class or file.py:Class."
        raise InputError(f"there is no grammar {name!r}", where=where, fix=fix)
    made = _BUILT_IN[name] if name in _BUILT_IN else load_object(name, folder=folder, where=where)
    if not isinstance(made, type) or not all(callable(getattr(made, method, None)) for method in _METHODS):
        fix = f"Give it the methods {', '.join(_METHODS)}; see simia_gym.actions.Grammar."
        raise InputError(f"{name!r} is no grammar class", where=where, fix=fix)
    return cast(Grammar, made())
