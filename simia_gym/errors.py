"""The exceptions of this package, in three families.

* `InputError`: the *caller's* input is wrong (a domain file, an option, a record). The error says what is wrong, where,
  and what to do. The command line prints it as one line and exits with code 2.
* `ActionError` and `ToolError`: the *policy* made a mistake: its text is not a valid action, or a tool refused the
  call. Both become observations and never leave the episode.
* `Fault`: the *infrastructure* failed (simulator, user, judge, policy endpoint, budget, transport). An episode with a
  fault has no reward: its verdict is invalid and trainers mask it. A fault is never a reward of 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, Literal

Role = Literal["simulator", "user", "judge", "policy", "world", "episode", "teacher"]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The beginning of a fix for a mistyped name: ``Did you mean 'expert'? ``, or an empty text if none is similar."""
    near = get_close_matches(word, list(known), n=1)
    return f"Did you mean {near[0]!r}? " if near else ""


class SimiaError(Exception):
    """Base of every error that this package raises on purpose."""


class InputError(SimiaError):
    """The caller's input is wrong.

    Args:
        what: What is wrong, with the offending value.
        where: File and line, JSON Pointer, or option of the mistake.
        fix: What to do about it.
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what, self.where, self.fix = what, where, fix
        super().__init__(what, where, fix)

    def __reduce__(self) -> tuple[object, ...]:
        """Errors go from process to process."""
        return _again, (type(self), self.what, self.where, self.fix), self.__dict__

    def __str__(self) -> str:
        """One line: where, what, fix."""
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text.rstrip('.')}. {self.fix}" if self.fix else text


def _again(kind: type[InputError], what: str, where: str, fix: str) -> InputError:
    return kind(what, where=where, fix=fix)


class SandboxUnavailable(InputError):
    """No sandbox can be made on this machine; the fix says what to install, or what its container needs."""


class StorageError(InputError):
    """A file of a run cannot be written, for instance because the disk is full.

    It ends the run, not only the episode: what cannot be kept is not worth paying for.
    """


class DomainError(InputError):
    """A domain folder has mistakes; ``problems`` holds one error per mistake."""

    problems: tuple[InputError, ...] = ()

    @classmethod
    def of(cls, problems: Sequence[InputError], note: str = "") -> DomainError:
        """Make one error of several; its text is that of the first, with the number of the others and a note."""
        first = problems[0]
        more = f" (and {len(problems) - 1} more{note})" if len(problems) > 1 else ""
        error = cls(first.what, where=first.where, fix=f"{first.fix}{more}".strip())
        error.problems = tuple(problems)
        return error


class PatchError(SimiaError):
    """A JSON Patch operation cannot be applied.

    Args:
        message: What was wrong.
        op_index: Position of the operation in the patch, from 0.
        path: The JSON Pointer of that operation.
    """

    def __init__(self, message: str, op_index: int = 0, path: str = "") -> None:
        self.message, self.op_index, self.path = message, op_index, path
        super().__init__(message, op_index, path)

    def __str__(self) -> str:
        """One line that names the operation."""
        return f"operation {self.op_index} at {self.path!r}: {self.message}"


class EpisodeOver(SimiaError):
    """`step` was called on an episode that has ended or has not begun; call `reset` first."""


class InUse(SimiaError):
    """`step` or `reset` was called while another call on the same episode had not returned."""


class Cut(SimiaError):
    """Raised by a policy instead of an action when it has reached a limit; the episode is truncated and judged.

    Args:
        reason: The limit that was reached, one of those of `Episode.cut`.
    """

    def __init__(self, reason: str = "token_limit") -> None:
        self.reason = reason
        super().__init__(reason)


class ActionError(SimiaError):
    """The policy's text is not a valid action of the grammar.

    Args:
        code: Stable machine-readable code, such as ``malformed_call``.
        message: What was wrong and what a valid action looks like; shown to the policy.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code, self.message = code, message
        super().__init__(code, message)

    def __str__(self) -> str:
        """The message that the policy sees."""
        return self.message


class ToolError(SimiaError):
    """A tool refuses a call: the observation is ``Error: <message>``, and the state does not change.

    Args:
        message: Shown to the policy after ``Error: ``.
        code: Stable machine-readable code, such as ``not_found``.
        why: The reason, and what a valid call would be; shown with ``feedback="explain"`` only. It must not reveal
            anything private.
    """

    def __init__(self, message: str, code: str = "tool_error", why: str = "") -> None:
        self.message, self.code, self.why = message, code, why
        super().__init__(message, code, why)

    def __str__(self) -> str:
        """The message that the policy sees."""
        return self.message


class Fault(SimiaError):
    """The infrastructure failed; the episode has no reward.

    Args:
        kind: Stable machine-readable kind, such as ``timeout`` or ``bug``.
        message: What happened.
        role: The component that failed.

    Attributes:
        unread: The model's replies that could not be read, in order; for the record.
    """

    unread: tuple[Any, ...] = ()

    def __init__(self, kind: str | Fault, message: str = "", role: Role = "episode") -> None:
        if isinstance(kind, Fault):  # Gymnasium re-raises a worker's error as `type(error)(error)`
            message, role, kind = kind.message, kind.role, kind.kind
        self.kind: str = kind
        self.message: str = message
        self.role: Role = role
        super().__init__(kind, message, role)

    def __str__(self) -> str:
        """One line: role, kind, message."""
        return f"{self.role} fault ({self.kind}): {self.message}"
