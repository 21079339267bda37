"""Answers a call as a plain Python method would that is given whatever arguments come, without any check before it.

The public benchmark calls its tools like that and shows Python's own words for what goes wrong; agents in recorded
rollouts have seen them. The texts are those of Python 3.10 to 3.12, written here so that they do not depend on the
Python that runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.errors import ToolError

_CALLER = "Environment.make_tool_call()"


def binding_problem(owner: str, name: str, parameters: Sequence[str], arguments: Mapping[str, Any]) -> str | None:
    """What Python says of a call whose arguments do not fit, or ``None`` if they fit.

    Args:
        owner: Name of the class that the tool is a method of, as it stands in the message.
        name: The tool's name.
        parameters: Its parameters, all required.
        arguments: The arguments given.
    """
    if "requestor" in arguments:
        return f"tau2.environment.environment.{_CALLER} got multiple values for keyword argument 'requestor'"
    for given in arguments:
        if given in ("self", "tool_name"):
            return f"{_CALLER} got multiple values for argument {given!r}"
    for given in arguments:
        if given not in parameters:
            return f"{owner}.{name}() got an unexpected keyword argument {given!r}"
    missing = [repr(parameter) for parameter in parameters if parameter not in arguments]
    if not missing:
        return None
    noun = "argument" if len(missing) == 1 else "arguments"
    listed = " and ".join(missing) if len(missing) < 3 else f"{', '.join(missing[:-1])}, and {missing[-1]}"
    return f"{owner}.{name}() missing {len(missing)} required positional {noun}: {listed}"


def check_hashable(key: object) -> None:
    """Fail as looking up a key in a dictionary would.

    Raises:
        ToolError: A list or an object was given where a key belongs.
    """
    if isinstance(key, list | dict):
        raise ToolError(f"unhashable type: {type(key).__name__!r}", "invalid_arguments")


def lower(text: object) -> str:
    """The text in lower case.

    Raises:
        ToolError: It is no text; the message is Python's.
    """
    if not isinstance(text, str):
        raise ToolError(f"{type(text).__name__!r} object has no attribute 'lower'", "invalid_arguments")
    return text.lower()
