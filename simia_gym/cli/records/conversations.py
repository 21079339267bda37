"""`simia export --format`: conversations of a record, or of any other file of them, for other tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from simia_gym.common.formatting import counted
from simia_gym.common.output import Output, tell
from simia_gym.common.writing import check_output
from simia_gym.conversations.conversation import Conversation, Unreadable
from simia_gym.conversations.table import formats, get_format, read_conversations
from simia_gym.errors import InputError


@dataclass(frozen=True)
class Chosen:
    """Which conversations to write.

    Attributes:
        task: Only an episode of this task.
        member: Which of them.
        least_reward: Only those that have a reward, and at least this one.
    """

    task: str | None
    member: int
    least_reward: float | None

    def holds(self, conversation: Conversation) -> bool:
        """Whether a conversation is one of them."""
        if self.task is not None and conversation.task != self.task:
            return False
        if self.task is not None and conversation.extra.get("member", 0) != self.member:
            return False
        if self.least_reward is None:
            return True
        reward = conversation.reward
        return conversation.valid is not False and reward is not None and reward >= self.least_reward


def export_conversations(file: Path, out: Path, name: str, chosen: Chosen, output: Output) -> int:
    """Write the conversations of a file in a format; return 1 if something in the file could not be read.

    Raises:
        InputError: There is no such format, nothing is left to write, or a file cannot be read or written.
    """
    wanted = get_format(name, "--format")
    if not wanted.writes:
        known = ", ".join(each.name for each in formats().values() if each.writes)
        raise InputError(f"the format {name!r} is only read", where="--format", fix=f"Give one of {known}.")
    if chosen.member and chosen.task is None:
        raise InputError("needs a task", where="--member", fix="Add --task ID.")
    check_output(out, "FILE", (), [file])
    seen = Counter[str]()

    def kept() -> Iterator[Conversation]:
        for each in read_conversations(file):
            if isinstance(each, Unreadable):
                tell(f"not read: {each}")
                seen["unreadable"] += 1
            elif chosen.holds(each):
                seen["written"] += 1
                seen["faults"] += each.valid is False
                yield each
            else:
                seen["left_out"] += 1
        if not seen["written"]:
            raise InputError("holds no such conversation", where=str(file), fix="Choose others, or mend the file.")

    wanted.write(out, kept())
    more = (
        (seen["faults"], "of them ended by a fault, without a reward"),
        (seen["left_out"], "left out"),
        (seen["unreadable"], "not read"),
    )
    said = [counted(seen["written"], "conversation"), *(f"{number} {what}" for number, what in more if number)]
    output.say(f"{out}: {'; '.join(said)}")
    numbers = {name: seen[name] for name in ("faults", "left_out", "unreadable")}
    output.result({"file": str(out), "format": name, "conversations": seen["written"], **numbers})
    return 1 if seen["unreadable"] else 0
