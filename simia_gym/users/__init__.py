"""User simulators: they play the customer that talks to the policy."""

from __future__ import annotations

from typing import Any, cast

from simia_gym.common.dotted_names import load_function
from simia_gym.contracts import User
from simia_gym.errors import InputError

USERS = {
    "scripted": "simia_gym.users.scripted:ScriptedUser",
    "brief": "simia_gym.users.brief:BriefUser",
    "llm": "simia_gym.users.llm:LLMUser",
}
"""Kinds of user simulators. All but ``llm`` are code and need only the domain's cue patterns; ``llm`` needs a model."""


def make_user(kind: str, cues: dict[str, Any]) -> User:
    """Create a user simulator that is code.

    Args:
        kind: A name in `USERS` other than ``llm``.
        cues: The domain's cue patterns.

    Raises:
        InputError: There is no such kind, or it needs a model.
    """
    if kind not in USERS:
        raise InputError(f"there is no user {kind!r}", where="user", fix=f"Known: {', '.join(USERS)}.")
    if kind == "llm":
        raise InputError("the user 'llm' needs a model", where="user", fix="Make a simia_gym.users.llm:LLMUser.")
    return cast(User, load_function(USERS[kind])(cues))
