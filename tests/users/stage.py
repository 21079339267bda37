"""A stage for users: a context without an episode, and a script that has nothing to do with any domain."""

from __future__ import annotations

from typing import Any

from simia_gym.common.event_loop import run_inline
from simia_gym.contracts import PreparedTask, StepContext, User
from simia_gym.record.ledger import Ledger
from simia_gym.state import State
from simia_gym.types import JsonObject, Task, Transition
from simia_gym.users.scripted import ScriptedUser

from ..simulators.desk import write_transition

CUES: JsonObject = {
    "slots": {
        "email": {"ask": ["e-?mail"], "unknown": ["I forgot the email."]},
        "name": {"ask": [r"\bname\b"]},
        "code": {"ask": [r"\bcode\b"]},
        "seat": {"ask": [r"\bseat\b"], "quiet": True},
    },
    "actions": {"book": ["book", "reserv"], "sell": ["sell"]},
    "tokens": {"seat": r"\b[a-f]\d{1,2}\b", "price": r"\$\d+"},
    "alternatives": [[["email"], ["name", "code"]]],
    "leave_after": ["hand_over"],
}


def script(**changes: Any) -> JsonObject:
    """A script with one wish; keyword arguments replace keys of the wish."""
    request = {
        "id": "book",
        "say": ["I want to book a seat."],
        "action": "book",
        "slots": {"seat": {"say": ["Seat B12, please."], "values": ["B12"]}},
        "expect": [{"slot": "seat", "any": ["B12"], "token": "seat"}],
        "done": [{"tool": "book_seat"}],
        **changes,
    }
    facts = {
        "name": {"say": ["I am Ada."], "values": ["Ada"]},
        "code": {"say": ["The code is 4711."], "values": ["4711"]},
    }
    return {"type": "scripted", "opening": ["Hello."], "facts": facts, "requests": [request], "close": ["Bye."]}


class Stage:
    """Talks to a user and keeps state and record as an episode does."""

    def __init__(
        self, user: JsonObject, *, seed: int = 0, player: User | None = None, options: JsonObject | None = None
    ) -> None:
        self.task = Task(id="t", split="train", kind="k", user=user, options=options or {})
        self.player: User = player if player is not None else ScriptedUser(CUES)
        self.state, self.ledger, self.seed, self.turn = State.from_tables({}), Ledger(), seed, 0
        self.opening = self._take(run_inline(self.player.open(self._context())))

    def _context(self) -> StepContext:
        return StepContext(PreparedTask(self.task, self.state), self.state, self.ledger, self.seed, self.turn)

    def _take(self, reply: Transition) -> Transition:
        self.state = self.state.apply(reply.ops or ())
        return reply

    def say(self, text: str) -> Transition:
        """Say something to the user."""
        self.turn += 1
        return self._take(run_inline(self.player.reply(text, self._context())))

    def call(self, name: str, *, ok: bool = True, **arguments: Any) -> None:
        """Let a tool be called."""
        answer = Transition("") if ok else Transition("", outcome="error", error_code="e")
        write_transition(self.ledger, self.turn, answer, {"name": name, "arguments": arguments, "id": "c"})
