"""Who plays the customer."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from simia_gym.common.dotted_names import load_object
from simia_gym.contracts import User
from simia_gym.errors import InputError

USERS = {
    "scripted": "simia_gym.users.scripted:ScriptedUser",
    "brief": "simia_gym.users.brief:BriefUser",
    "llm": "simia_gym.users.llm:LLMUser",
}
"""Kinds of users. All but ``llm`` are code and made from the domain's cue patterns; that one also needs a model."""

MODELLED = ("llm",)


def make_user(kind: str, cues: dict[str, Any]) -> User:
    """Make a user of code.

    Args:
        kind: A name in `USERS`, but none of `MODELLED`.
        cues: The domain's cue patterns.

    Raises:
        InputError: There is no such kind of user, or a model must play it.
    """
    if kind in MODELLED:
        raise InputError(f"the user {kind!r} needs a model", where="user", fix=f"Make a {USERS[kind]} with one.")
    if kind not in USERS:
        raise InputError(f"there is no user {kind!r}", where="user", fix=f"Known: {', '.join(USERS)}.")
    return cast(User, _class_of(USERS[kind])(cues))


@cache
def _class_of(spec: str) -> type[Any]:
    return cast("type[Any]", load_object(spec))
