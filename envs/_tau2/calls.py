"""Errors of calls whose arguments are passed to a Python method without a check, as the public benchmark does it.

The benchmark shows Python's own error messages to the agent, so recorded rollouts contain them. The texts are those of
Python 3.10 to 3.12, written here so that they do not depend on the running Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.errors import ToolError

_CALLER = "Environment.make_tool_call()"


def calling_problem(
    owner: str, name: str, parameters: Sequence[str] | None, arguments: Mapping[str, Any]
) -> tuple[str, str] | None:
    """The error of a call whose tool does not exist or whose arguments do not fit; ``None`` for a valid call.

    Args:
        owner: Name of the tool's class, for the message.
        name: The tool's name.
        parameters: Its parameters, all required; ``None`` if there is no such tool.
        arguments: The arguments given.

    Returns:
        The message and its code.
    """
    problem = _passing_problem(arguments)
    if problem is None:
        if parameters is None:
            return f"Tool '{name}' not found.", "unknown_tool"
        problem = _binding_problem(f"{owner}.{name}()", parameters, arguments)
    return None if problem is None else (problem, "invalid_arguments")


def _passing_problem(arguments: Mapping[str, Any]) -> str | None:
    """The error for an argument whose name the benchmark itself uses in its call of the tool."""
    if "requestor" in arguments:
        return f"tau2.environment.environment.{_CALLER} got multiple values for keyword argument 'requestor'"
    for given in arguments:
        if given in ("self", "tool_name"):
            return f"{_CALLER} got multiple values for argument {given!r}"
    return None


def _binding_problem(function: str, parameters: Sequence[str], arguments: Mapping[str, Any]) -> str | None:
    for given in arguments:
        if given not in parameters:
            return f"{function} got an unexpected keyword argument {given!r}"
    missing = [repr(parameter) for parameter in parameters if parameter not in arguments]
    if not missing:
        return None
    noun = "argument" if len(missing) == 1 else "arguments"
    listed = " and ".join(missing) if len(missing) < 3 else f"{', '.join(missing[:-1])}, and {missing[-1]}"
    return f"{function} missing {len(missing)} required positional {noun}: {listed}"


def check_hashable(key: object) -> None:
    """Raise what a look-up of this key in a dictionary would raise.

    Raises:
        ToolError: A list or an object was given where a key belongs.
    """
    if isinstance(key, list | dict):
        raise ToolError(f"unhashable type: {type(key).__name__!r}", "invalid_arguments")


def absent(key: object, message: str, why: str) -> ToolError:
    """The error of a call that names a row that is not there.

    Raises:
        ToolError: A list or an object was given where a key belongs.
    """
    check_hashable(key)
    return ToolError(message, "not_found", why)
