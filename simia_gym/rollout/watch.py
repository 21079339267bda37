"""Ends a run early if the remaining episodes would only produce faults."""

from __future__ import annotations

from collections.abc import Callable, Collection

from simia_gym.common.formatting import one_line
from simia_gym.errors import SimiaError
from simia_gym.llm.transport.failures import no_credit
from simia_gym.record.records import Record
from simia_gym.rollout.summary import Summary

TRANSPORT = frozenset(
    {
        *("rate_limit", "server_error", "timeout", "connection", "auth", "not_found", "bad_request"),
        *("context_length", "content_filter", "bad_reply", "empty_reply", "budget"),
    }
)
"""Kinds of faults of requests to models; the episode may succeed when played again."""
_HOPELESS = frozenset({"connection", "auth", "not_found", "timeout"})
_LEAST = 4
_ALL_FAULTY = 10
"""The run stops if at least this many first episodes all end with faults of whatever kind."""
_EQUAL_BUGS = 5
"""The run stops if this many first episodes all end with the same exception of the policy."""


class EndpointLostError(SimiaError):
    """Several episodes in a row ended with the same fault: the endpoint is down, or refuses this account."""


class Watch:
    """Checks each finished episode and decides whether to end the run early.

    Attributes:
        stopped: Why the run ends early: ``budget``, ``endpoint``, ``bug`` or ``faults``; ``None`` while it continues.
        message: The reason in one line.
    """

    def __init__(self, concurrency: int) -> None:
        self.stopped: str | None = None
        self.message = ""
        self._most = max(_LEAST, concurrency)
        self._streak: tuple[str, str] | None = None
        self._length = self._valid = self._invalid = 0
        self._bug, self._bugs, self._ended_otherwise = "", 0, False
        self._halt: Callable[[], None] = lambda: None
        self._known: Collection[str] = ()

    def begin(self, halt: Callable[[], None], known: Collection[str]) -> None:
        """Start watching: ``halt`` starts no further episodes; those with ``known`` keys are not played."""
        self._halt, self._known = halt, known

    def seen(self, record: Record) -> None:
        """Check a finished episode.

        Raises:
            EndpointLostError: The endpoint is lost, so that episodes in flight should be cancelled.
        """
        if record.key in self._known or self.stopped is not None:
            return
        fault = record.fault or {}
        role, kind = str(fault.get("role")), str(fault.get("kind"))
        if kind == "budget":
            self._stop("budget", str(fault["message"]))
            self._halt()
        self._valid += record.valid
        self._invalid += not record.valid
        if self._always_bug(role, kind, str(fault.get("message"))):
            return
        hopeless = kind in _HOPELESS or no_credit(kind, str(fault.get("message")))
        if not hopeless or role in ("episode", "world"):
            self._streak, self._length = None, 0
            if not self._valid and self._invalid >= max(_ALL_FAULTY, self._most):
                self._stop(
                    "faults",
                    f"all {self._invalid} episodes ended with faults, the last with {role}:{kind}: "
                    f"{fault.get('message')}",
                )
                self._halt()
            return
        self._length = self._length + 1 if self._streak == (role, kind) else 1
        self._streak = (role, kind)
        if self._length >= self._most:
            self._stop("endpoint", f"{self._length} episodes in a row ended with {role}:{kind}: {fault['message']}")
            raise EndpointLostError(self.message)

    def _always_bug(self, role: str, kind: str, message: str) -> bool:
        """Whether all episodes so far ended with the same bug of the policy; stops the run after a few.

        That is an exception, or a reply that is no action, such as ``None``.
        """
        name = message.partition(":")[0] if role == "policy" and kind in ("bug", "bad_action") else ""
        if self._ended_otherwise or not name or name != (self._bug or name):
            self._ended_otherwise = True
            return False
        self._bug, self._bugs = name, self._bugs + 1
        if self._bugs == _EQUAL_BUGS:
            self._stop("bug", f"all {self._bugs} episodes ended with the same bug of the policy: {message}")
            self._halt()
        return True

    def _stop(self, reason: str, message: str) -> None:
        self.stopped, self.message = reason, one_line(message).rstrip(".")


def to_play_again(summary: Summary) -> int:
    """Number of episodes that ended with a fault of a model request and may succeed when played again."""
    return sum(count for name, count in summary.faults.items() if name.partition(":")[2] in TRANSPORT)
