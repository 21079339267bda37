"""What can go wrong, named by the boundary that was crossed.

Three families, and the difference between them is the point of this module:

* `InputError`: what the caller gave is wrong (a domain file, an option, a record). Raised at once, names what was
  wrong, where, and what to do. The command line turns it into one line and exit code 2.
* `ActionError` and `ToolError`: the *policy* did something that the environment answers. They never leave an episode:
  the first is a text that is no valid action, the second a tool that declines. Both become observations.
* `Fault`: the *infrastructure* failed (simulator, user, judge, policy endpoint, budget, transport). An episode with a
  fault has no reward: its verdict is invalid and trainers mask it. A fault is never a reward of 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Literal

Role = Literal["simulator", "user", "judge", "policy", "world", "episode"]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The beginning of a fix for a mistyped name: ``Did you mean 'expert'? ``, or an empty text if none is similar.

    Args:
        word: What was typed.
        known: The names that exist.
    """
    near = get_close_matches(word, list(known), n=1)
    return f"Did you mean {near[0]!r}? " if near else ""


class SimiaError(Exception):
    """Base of every error that this package raises on purpose."""


class InputError(SimiaError):
    """Something that was handed in is wrong.

    Args:
        what: What is wrong, with the offending value.
        where: File, line, pointer or option where it stands.
        fix: What to do about it.
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what, self.where, self.fix = what, where, fix
        super().__init__(what, where, fix)

    def __str__(self) -> str:
        """One line: where, what, fix."""
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text.rstrip('.')}. {self.fix}" if self.fix else text


class DomainError(InputError):
    """A domain folder has a mistake in it; ``problems`` holds every one that was found."""

    problems: tuple[InputError, ...] = ()

    @classmethod
    def of(cls, problems: Sequence[InputError]) -> DomainError:
        """One error for several: it reads as the first and counts the others."""
        first = problems[0]
        more = f" (and {len(problems) - 1} more; `simia check` lists them)" if len(problems) > 1 else ""
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

    def __init__(self, message: str, *, op_index: int = 0, path: str = "") -> None:
        self.message, self.op_index, self.path = message, op_index, path
        super().__init__(message, op_index, path)

    def __str__(self) -> str:
        """One line that names the operation."""
        return f"operation {self.op_index} at {self.path!r}: {self.message}"


class EpisodeOver(SimiaError):
    """`step` was called on an episode that has ended or has not begun; call `reset` first."""


class Cut(SimiaError):
    """A policy can say no more; it raises this in place of an action, and the episode is judged as it stands.

    Args:
        reason: What is used up, as `Episode.cut` takes it.
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
    """A tool declines: the observation is ``Error: <message>`` and nothing changes.

    Args:
        message: Shown to the policy after ``Error: ``.
        code: Stable machine-readable code, such as ``not_found``.
        why: The rule or the fact behind it and what would be right; shown where feedback explains. It says nothing that
            the policy may not know.
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
        role: Whose part it was.
    """

    def __init__(self, kind: str | Fault, message: str = "", *, role: Role = "episode") -> None:
        whole = (kind, message, role)
        if isinstance(kind, Fault):  # Gymnasium raises a worker's error anew, as its class called with the error
            whole = (kind.kind, kind.message, kind.role)
        self.kind: str = str(whole[0])
        self.message: str = whole[1]
        self.role: Role = whole[2]
        super().__init__(*whole)

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the keyword argument when a fault travels between processes."""
        return (_fault, (self.kind, self.message, self.role))

    def __str__(self) -> str:
        """One line: role, kind, message."""
        return f"{self.role} fault ({self.kind}): {self.message}"


def _fault(kind: str, message: str, role: Role) -> Fault:
    return Fault(kind, message, role=role)
