"""When to end a run early: what is left of it would be faults."""

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
"""Faults of the way to a model and back."""
_HOPELESS = frozenset({"connection", "auth", "not_found", "timeout"})
_LEAST = 4
_EQUAL_BUGS = 5
"""A policy whose first episodes all end with the same exception is broken; one that works at times goes on."""


class EndpointLostError(SimiaError):
    """One episode after another ended with the same fault: the endpoint is gone, or serves this account no more."""


class Watch:
    """Looks at each episode that ends.

    Args:
        concurrency: Most episodes in flight; that many may fail by one and the same mishap.

    Attributes:
        stopped: Why the run is to end early: ``budget``, ``endpoint`` or ``bug``; ``None`` while it may go on.
        message: One line on it.
    """

    def __init__(self, concurrency: int) -> None:
        self.stopped: str | None = None
        self.message = ""
        self._most = max(_LEAST, concurrency)
        self._streak: tuple[str, str] | None = None
        self._length = 0
        self._bug, self._bugs, self._ended_otherwise = "", 0, False
        self._halt: Callable[[], None] = lambda: None
        self._known: Collection[str] = ()

    def begin(self, halt: Callable[[], None], known: Collection[str]) -> None:
        """Get ready.

        Args:
            halt: Lets no further episode begin.
            known: Keys of episodes that are not played but taken from the record.
        """
        self._halt, self._known = halt, known

    def seen(self, record: Record) -> None:
        """Look at an episode that has ended.

        Raises:
            EndpointLostError: The endpoint is gone; those in flight wait for nothing.
        """
        if record.key in self._known or self.stopped is not None:
            return
        fault = record.fault or {}
        role, kind = str(fault.get("role")), str(fault.get("kind"))
        if kind == "budget":
            self._stop("budget", str(fault["message"]))
            self._halt()
        if self._always_bug(role, kind, str(fault.get("message"))):
            return
        hopeless = kind in _HOPELESS or no_credit(kind, str(fault.get("message")))
        if not hopeless or role in ("episode", "world"):
            self._streak, self._length = None, 0
            return
        self._length = self._length + 1 if self._streak == (role, kind) else 1
        self._streak = (role, kind)
        if self._length >= self._most:
            self._stop("endpoint", f"{self._length} episodes in a row ended with {role}:{kind}: {fault['message']}")
            raise EndpointLostError(self.message)

    def _always_bug(self, role: str, kind: str, message: str) -> bool:
        """Whether every episode so far ended with the same exception of the policy; after a few the run stops."""
        name = message.partition(":")[0] if (role, kind) == ("policy", "bug") else ""
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
    """How many episodes ended by what may be otherwise the next time."""
    return sum(count for name, count in summary.faults.items() if name.partition(":")[2] in TRANSPORT)
