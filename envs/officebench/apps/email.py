# ruff: noqa: D417 (a tool's docstring tells the policy about its arguments; the draft is none of them)
"""Mails: a copy lies in the mailbox of the recipient and in that of the sender."""

from __future__ import annotations

import re
from collections.abc import Iterator

from simia_gym.domain.tools import tool
from simia_gym.domain.world import World
from simia_gym.envs.officebench.apps.base import user_of
from simia_gym.envs.officebench.apps.calendar import LINE
from simia_gym.envs.officebench.slices import MAILS
from simia_gym.envs.officebench.texts import lines_of, problem_of
from simia_gym.errors import ToolError
from simia_gym.state import Draft, State
from simia_gym.types import Row

_ADDRESS = re.compile(r"[^\s@<>,;\"']+(?:@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)?")
_UNFIT = re.compile(r"[/\\\0]")
_LONGEST, _BEGINNING = 250, 20
END = ".eml"


class Email(World):
    """See the module."""

    @tool(effect="write", reads=("desk/main", "people", MAILS), writes=("mails/*",), always_changes=True)
    def email_send_email(self, db: Draft, sender: str, recipient: str, subject: str, content: str) -> str:
        """Send a mail to one user.

        Args:
            sender: The user who sends it.
            recipient: The user who gets it.
            subject: Its subject, one line.
            content: Its text.
        """
        failed = f"Failed to send email to {recipient}."
        for role, name in (("sender", sender), ("recipient", recipient)):
            if not _ADDRESS.fullmatch(name.strip()):
                raise ToolError(failed, "bad_address", f"The {role} {name!r} is no name or address of one user.")
        by, to = user_of(db, sender, failed), user_of(db, recipient, failed)
        problem = problem_of(subject, lines=False, most=_LONGEST) or ("" if subject.strip() else "is empty")
        if problem:
            raise ToolError(failed, "bad_subject", f"The subject {problem}.")
        if problem := problem_of(content):
            raise ToolError(failed, "bad_content", f"The content {problem}.")
        content = "\n".join(lines_of(content))
        for box in dict.fromkeys((to, by)):
            mail = free_id(db, box, subject)
            row = {"user": box, "id": mail, "from": by, "to": to, "subject": subject, "content": content}
            db.put("mails", f"{box}: {mail}", row)
        return f"Successfully sent email to {to}."

    @tool(reads=("desk/main", "people", MAILS))
    def email_list_emails(self, db: Draft, username: str) -> str:
        """List the mails in a user's mailbox, with the beginning of each.

        Args:
            username: Whose mailbox.
        """
        name = user_of(db, username, f"No emails found for {username}.")
        rows = [row for _, row in in_box(db, name)]
        if not rows:
            return f"No emails found for {name}."
        parts = (
            f"Email ID: {row['id']}\n{_head(row)}Content: {row['content'][:_BEGINNING]}...\n{LINE}" for row in rows
        )
        return f"Successfully list emails for {name}:\n" + "\n".join(parts)

    @tool(reads=("desk/main", "people", MAILS))
    def email_read_email(self, db: Draft, username: str, email_id: str) -> str:
        """Read a mail.

        Args:
            username: Whose mailbox.
            email_id: The mail's id, as the mailbox lists it.
        """
        failed = f"Failed to read email {email_id} for {username}."
        name = user_of(db, username, failed)
        wanted = email_id if email_id.endswith(END) else f"{email_id}{END}"
        row = db.get("mails", f"{name}: {wanted}")
        if row is None:
            raise ToolError(failed, "no_mail", f"{name}'s mailbox has no mail {wanted!r}; list its mails.")
        return f"Successfully read email {wanted} for {name}:\n{_head(row)}Content: {row['content']}"


def in_box(db: Draft | State, name: str) -> Iterator[tuple[str, Row]]:
    """The mails in a mailbox, with their keys."""
    return ((key, row) for key, row in db.rows("mails") if row["user"] == name)


def free_id(db: Draft, box: str, subject: str) -> str:
    """An id for a mail: its subject, with a number if a mail in the box has that id."""
    stem, number = _UNFIT.sub("_", subject).strip(), 1
    while db.has("mails", f"{box}: {_numbered(stem, number)}"):
        number += 1
    return _numbered(stem, number)


def _numbered(stem: str, number: int) -> str:
    return f"{stem}{END}" if number == 1 else f"{stem} ({number}){END}"


def _head(row: Row) -> str:
    return f"From: {row['from']}\nTo: {row['to']}\nSubject: {row['subject']}\n"
