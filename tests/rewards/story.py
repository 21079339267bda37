"""Writes small episodes down by hand, on real states and ledgers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.record.ledger import Ledger
from simia_gym.rewards.criteria import Criterion
from simia_gym.rewards.finding import Finding, unfounded
from simia_gym.rewards.programs.builtin import PROGRAMS
from simia_gym.rewards.programs.program import Args
from simia_gym.state import State
from simia_gym.types import Evidence, JsonObject, Op, Task, Transition

from ..simulators.desk import write_transition

TABLES: dict[str, dict[str, JsonObject]] = {
    "orders": {
        "#W1": {"status": "pending", "total": 12.5, "items": ["a", "b"], "address": {"city": "Oslo", "zip": "0150"}},
        "#W2": {"status": "delivered", "total": 99.99, "items": ["c"], "address": {"city": "Rome", "zip": "00118"}},
    },
    "users": {"ada": {"name": "Ada", "cards": {"card_1": {"balance": 40.0}}}},
    "_clock": {"now": {"tick": 0}},
}
BASE = State.from_tables(TABLES)


def _tool(name: str, effect: str | None, terminal: bool = False) -> JsonObject:
    marks: JsonObject = {} if effect is None else {"effect": effect}
    if terminal:
        marks["terminal"] = True
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}, "x-simia": marks}


TOOLS: dict[str, JsonObject] = {
    "find_user": _tool("find_user", "read"),
    "get_order": _tool("get_order", "read"),
    "cancel_order": _tool("cancel_order", "write"),
    "change_address": _tool("change_address", "write"),
    "calculate": _tool("calculate", "none"),
    "transfer": _tool("transfer", "none", terminal=True),
    "undeclared": _tool("undeclared", None),
}


def op(path: str, value: Any) -> Op:
    return {"op": "replace", "path": path, "value": value}


def holds(path: str, value: Any) -> Op:
    return {"op": "test", "path": path, "value": value}


GOAL = (holds("/orders/#W1/status", "cancelled"),)
CONFIRMED: JsonObject = {"id": "confirmed", "kind": "forbidden", "check": {"program": "confirmed_writes"}}


def own(name: str, **args: Any) -> JsonObject:
    """A criterion by a program of somebody's own."""
    return {"id": name, "kind": "goal", "check": {"program": f"own.py:{name}", **args}}


CANCEL: tuple[Op, ...] = (op("/orders/#W1/status", "cancelled"),)


class Story:
    """An episode in the making; every method adds one turn."""

    def __init__(self, base: State = BASE, opening: str | None = "Hi, please cancel my order #W1.") -> None:
        self.initial = self.state = base
        self.ledger = Ledger()
        self.turn = 0
        self.ended = "user_stop"
        self.ledger.append("start", env="test", task="t")
        if opening is not None:
            self.ledger.append("message", turn=0, speaker="user", text=opening, ops=[], meta={})

    def say(
        self,
        text: str,
        reply: str = "I see.",
        acts: Iterable[str] | None = None,
        end: str | None = None,
        slots: Iterable[str] | None = None,
        request: str | None = None,
    ) -> Story:
        meta: JsonObject = {} if acts is None else {"acts": list(acts)}
        if request is not None:
            meta["request"] = request
        if slots is not None:
            meta["slots"] = list(slots)
        self._act(text)
        write_transition(self.ledger, self.turn, Transition(reply, speaker="user", end=end, meta=meta), say=text)
        return self

    def call(
        self,
        name: str,
        ops: Iterable[Op] | None = (),
        *,
        error: str | None = None,
        observation: str = "{}",
        text: str = "",
        **arguments: Any,
    ) -> Story:
        self._act(f"{text}<tool_call>{name}</tool_call>")
        changes = None if ops is None else tuple(ops)
        if changes:
            self.state = self.state.apply(changes)
        call = {"name": name, "arguments": arguments, "id": f"call_{self.turn}"}
        answer = Transition(observation, changes, "error" if error else "ok", error)
        write_transition(self.ledger, self.turn, answer, call)
        return self

    def cancel(self, order_id: str = "#W1") -> Story:
        return self.call("cancel_order", CANCEL, order_id=order_id)

    def malformed(self, code: str = "malformed_call") -> Story:
        self._act("<tool_call>{")
        self.ledger.append("invalid", turn=self.turn, code=code, text=f"Error: {code}")
        return self

    def _act(self, text: str) -> None:
        self.turn += 1
        self.ledger.append("action", turn=self.turn, text=text)

    def finished(
        self,
        ended: str = "user_stop",
        *,
        goal: Iterable[Op] | None = (),
        criteria: Iterable[JsonObject] = (),
        options: Mapping[str, Any] | None = None,
    ) -> FinishedEpisode:
        self.ledger.append("end", reason=ended, turn=self.turn, truncated=ended == "turn_limit")
        task = Task(
            "t",
            "train",
            "cancel",
            goal=None if goal is None else tuple(goal),
            criteria=tuple(criteria),
            options=dict(options or {}),
        )
        return FinishedEpisode(task, self.ledger.events, self.initial, self.state, ended, self.turn, TOOLS)


def run(finished: FinishedEpisode, program: str, **given: Any) -> Finding:
    """Run a program as a rubric would, and hold it to its evidence."""
    known = PROGRAMS[program]
    args = known.read_args(given, lambda path: "test")
    assert isinstance(args, Args)
    finding: Finding = known.function(finished, args)
    assert unfounded(finished, finding.evidence) is None, finding
    assert finding.reason
    return finding


class Notes:
    """A judge that finds the same of everything, or forgets it, and notes what it was asked."""

    def __init__(self, value: float | None = 1.0, *evidence: Evidence, forgets: bool = False) -> None:
        self.value, self.evidence, self.forgets = value, evidence, forgets
        self.asked: list[Criterion] = []
        self.seen: list[FinishedEpisode] = []

    @property
    def ids(self) -> list[str]:
        return [item.id for item in self.asked]

    async def judge(self, finished: FinishedEpisode, criteria: Sequence[Criterion]) -> list[Finding]:
        self.asked += criteria
        self.seen.append(finished)
        return [] if self.forgets else [Finding(self.value, "as the judge says", self.evidence) for _ in criteria]
