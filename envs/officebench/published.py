"""The office with the oddities of the benchmark's published apps: ``compat="officebench"``.

An oddity changes a call before a tool runs it, answers it itself, or changes rows first. The domain's page lists them.
"""

from __future__ import annotations

import ast
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from simia_gym.common.json_encoding import hash_of
from simia_gym.domain.world import World, error_text, error_transition
from simia_gym.envs.officebench.apps.base import existing
from simia_gym.envs.officebench.apps.calendar import DESCRIPTION, LOCATION, event_key, of_user, time_of
from simia_gym.envs.officebench.apps.email import END
from simia_gym.envs.officebench.cells import cell_for
from simia_gym.envs.officebench.formats.folder import address_of
from simia_gym.envs.officebench.formats.mail import CALENDAR
from simia_gym.envs.officebench.paths import ROOT, normalised
from simia_gym.envs.officebench.slices import known_user
from simia_gym.errors import ToolError
from simia_gym.state import Draft, State
from simia_gym.types import Feedback, Task, ToolCall, Transition

NAME = "officebench"
_QUOTES = str.maketrans("", "", "'\"")
_ERROR = "Error: "
_UNFIT = re.compile(r"[/\0]")


class Published(World):
    """See the module; it stands before the apps whose oddities it has."""

    def opening(self, db: Draft, task: Task) -> Any:
        """Note for the evaluators that they are the published ones, too."""
        db.edit("desk", "main")["compat"] = NAME
        return super().opening(db, task)

    def refuse(self, state: State, call: ToolCall, feedback: Feedback = "terse") -> Transition | None:
        """Refuse as the apps do; no error says that it is one."""
        refusal = super().refuse(state, call, feedback)
        return refusal and _unmarked(refusal)

    async def execute(self, state: State, call: ToolCall, feedback: Feedback = "terse") -> Transition:
        """Run a call with the oddities of its action."""
        db, oddity = Draft(state), _ODDITIES.get(call.name)
        try:
            changed = call if oddity is None else oddity(db, call.arguments)
        except ToolError as error:
            return error_transition(error_text(error.message, error.why, feedback).removeprefix(_ERROR), error.code)
        before, ops = db.commit()
        if isinstance(changed, str):
            return Transition(changed, ops, info=self.info(before), state=before)
        done = await super().execute(before, replace(call, arguments=dict(changed.arguments)), feedback)
        if done.outcome != "ok":
            return _unmarked(done)
        more = "..." if call.name == "email_read_email" else ""
        return replace(done, observation=done.observation + more, ops=(*ops, *(done.ops or ())))


def _unmarked(error: Transition) -> Transition:
    return replace(error, observation=error.observation.removeprefix(_ERROR))


def _person(db: Draft, name: str) -> str:
    """The user of a name; whoever is named becomes one."""
    name = name.strip().partition("@")[0]
    user = known_user(db, name)
    if user is None and name and not _UNFIT.search(name):
        user = name
        db.put("people", user, {"address": address_of(user)})
    return user or name


def _set_cell(db: Draft, given: Mapping[str, Any]) -> ToolCall | str:
    """A text is read as a literal of Python: 1 and True empty the cell, None leaves it, and lists fail."""
    path = given["file_path"]
    value = _literal(str(given["text"]))
    if isinstance(value, str | int | float) and value not in (True, ""):
        return ToolCall("excel_set_cell", {**given, "text": value})
    whole, _ = existing(db, path, "xlsx", "Failed to write to the file.")
    failed = f"Failed to write text to {path}"
    if value is not None and not isinstance(value, str | int | float):
        raise ToolError(failed, "bad_text", f"The text is read as a {type(value).__name__}.")
    cell = cell_for(given["row_idx"], given["column_idx"], failed)
    if value is not None:
        db.edit("files", whole)["cells"].pop(cell, None)
    return f"Successfully write text to {path}"


def _literal(text: str) -> Any:
    """What a text is to a command line that reads literals; words within lists are texts."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    try:
        return ast.literal_eval(tree)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return [] if isinstance(tree, ast.List | ast.Tuple | ast.Dict | ast.Set) else text


def _create_word(db: Draft, given: Mapping[str, Any]) -> ToolCall:
    """A new document replaces one of the same path."""
    path = normalised(given["file_path"])
    if (row := db.get("files", path)) is not None and row["kind"] == "docx":
        db.remove("files", path)
    return ToolCall("word_create_new_file", dict(given))


def _write_word(db: Draft, given: Mapping[str, Any]) -> ToolCall:
    """Quotes are lost."""
    return ToolCall("word_write_to_file", {**given, "contents": given["contents"].translate(_QUOTES)})


def _send_mail(db: Draft, given: Mapping[str, Any]) -> ToolCall:
    """Quotes are lost, whoever is named gets a mailbox, and a mail overwrites one with the same subject."""
    subject = given["subject"].translate(_QUOTES)
    if _UNFIT.search(subject):
        raise ToolError(f"Failed to send email to {given['recipient']}.", "bad_subject", "The subject holds a slash.")
    people = {role: _person(db, given[role]) for role in ("sender", "recipient")}
    for user in dict.fromkeys(people.values()):
        if db.has("mails", key := f"{user}: {subject.strip()}{END}"):
            db.remove("mails", key)
    content = given["content"].translate(_QUOTES)
    return ToolCall("email_send_email", {**people, "subject": subject, "content": content})


def _mailbox(db: Draft, given: Mapping[str, Any]) -> ToolCall:
    """Whoever is named gets a mailbox."""
    name = "email_read_email" if "email_id" in given else "email_list_emails"
    return ToolCall(name, {**given, "username": _person(db, given["username"])})


def _create_event(db: Draft, given: Mapping[str, Any]) -> str:
    """Whoever is named gets a calendar; an event may end before it begins, and stand there twice."""
    failed = f"Failed to create a new event to {given['user']}'s calendar."
    begin, end = given["time_start"], given["time_end"]
    time_of(begin, failed)
    time_of(end, failed)
    user = _person(db, given["user"])
    row = {"user": user, "summary": given["summary"], "start": begin, "end": end}
    key = name = event_key(row)
    number = 1
    while db.has("events", key):
        number += 1
        key = f"{name} ({number})"
    db.put("events", key, {**row, "description": DESCRIPTION, "location": LOCATION})
    return f"Successfully create a new event to {user}'s calendar."


def _delete_event(db: Draft, given: Mapping[str, Any]) -> str:
    """It never works."""
    text = f"Failed to delete an event named {given['summary']} from {given['user']}'s calendar."
    raise ToolError(text, "no_event", "The published app never deletes an event.")


def _list_events(db: Draft, given: Mapping[str, Any]) -> ToolCall:
    """Who has no calendar gets an empty one."""
    user = _person(db, given["username"])
    path = f"{ROOT}/calendar/{user}.ics"
    if not db.has("originals", path) and not any(of_user(db, user)):
        db.put("originals", path, {"hash": hash_of(CALENDAR)})
        if not db.has("contents", hash_of(CALENDAR)):
            db.put("contents", hash_of(CALENDAR), {"data": b64encode(CALENDAR).decode()})
    return ToolCall("calendar_list_events", {**given, "username": user})


def _finish(db: Draft, given: Mapping[str, Any]) -> ToolCall:
    """Quotes are lost, and no answer is the answer None."""
    return ToolCall("system_finish_task", {"answer": str(given.get("answer", "None")).translate(_QUOTES)})


_ODDITIES: Mapping[str, Callable[[Draft, Mapping[str, Any]], ToolCall | str]] = {
    "excel_set_cell": _set_cell,
    "word_create_new_file": _create_word,
    "word_write_to_file": _write_word,
    "email_send_email": _send_mail,
    "email_list_emails": _mailbox,
    "email_read_email": _mailbox,
    "calendar_create_event": _create_event,
    "calendar_delete_event": _delete_event,
    "calendar_list_events": _list_events,
    "system_finish_task": _finish,
}
