"""The rows that a call can read, as computed tables: a model that plays the office sees these and no others."""

from __future__ import annotations

from typing import Any

from simia_gym.envs.officebench.paths import normalised
from simia_gym.state import Draft, State
from simia_gym.types import JsonObject, Row, ToolCall

FILES: JsonObject = {"view": "simia_gym.envs.officebench.slices:files", "table": "files"}
MAILS: JsonObject = {"view": "simia_gym.envs.officebench.slices:mails", "table": "mails"}
EVENTS: JsonObject = {"view": "simia_gym.envs.officebench.slices:events", "table": "events"}
_USERS = ("user", "username", "sender", "recipient")


def known_user(state: State | Draft, name: str) -> str | None:
    """The user whom a name or a mail address means, case ignored; ``None`` if there is no such user."""
    wanted = name.strip().partition("@")[0].casefold()
    return next((key for key, _ in state.rows("people") if key.casefold() == wanted), None)


def _users(state: State, call: ToolCall) -> set[str | None]:
    named = (call.arguments.get(name) for name in _USERS)
    return {known_user(state, name) for name in named if isinstance(name, str)} - {None}


def files(state: State, call: ToolCall) -> dict[str, Row]:
    """The files whose paths the call names."""
    named = (value for name, value in call.arguments.items() if name.endswith("file_path") and isinstance(value, str))
    found = {path: state.get("files", path) for path in map(normalised, named)}
    return {path: row for path, row in found.items() if row is not None}


def mails(state: State, call: ToolCall) -> dict[str, Row]:
    """The mailboxes of the users whom the call names."""
    return _of_users("mails", state, call)


def events(state: State, call: ToolCall) -> dict[str, Row]:
    """The calendars of the users whom the call names."""
    return _of_users("events", state, call)


def _of_users(table: str, state: State, call: ToolCall) -> dict[str, Any]:
    users = _users(state, call)
    return {key: row for key, row in state.rows(table) if row["user"] in users}
