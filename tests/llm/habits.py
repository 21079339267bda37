"""Unusual replies of models, as data, and each role played over real HTTP by a model that has such a habit.

``python -m tests.llm.habits`` prints what share of them ends in a fault.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from aiohttp import web

from simia_gym.contracts import PreparedTask, StepContext
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_path
from simia_gym.errors import Fault, Role
from simia_gym.llm.endpoint_model import EndpointModel
from simia_gym.record.ledger import Ledger
from simia_gym.rewards.criteria import read_criterion
from simia_gym.rewards.judge.judge import LLMJudge
from simia_gym.simulators.checked import CheckedSimulator
from simia_gym.state import State
from simia_gym.types import Task, ToolCall
from simia_gym.users.llm import LLMUser

from ..model_server import Asked, completion, serving
from ..rewards.test_judge import GOAL, finished
from ..simulators.desk import context_of, write_domain
from ..users.stage import script

FOLDER = Path(__file__).parent / "replies"
ROLES: tuple[Role, ...] = ("simulator", "user", "judge")
CALL = ToolCall("rename", {"book_id": "b1", "title": "Lake"})
QUESTION = "I can cancel order #W1 and refund your card. Shall I?"
SETTINGS = {"retries": 2, "backoff": 0.001}


@dataclass(frozen=True)
class Habit:
    """One reply of the table.

    Attributes:
        message: The assistant message.
        finish: The finish reason.
        reading: What a reader takes it for; ``ambiguous`` or ``cut`` if it is not to be used.
        unread: Whether it has one reading, but code finds none.
        good: What the model says in good form.
    """

    role: Role
    name: str
    message: Mapping[str, Any]
    finish: str
    reading: Any
    unread: bool
    good: Mapping[str, Any]

    @property
    def sound(self) -> bool:
        """Whether the reply has one reading."""
        return self.reading not in ("ambiguous", "cut")

    def __str__(self) -> str:
        return f"{self.role}: {self.name}"


class Outcome(NamedTuple):
    """What came of it: the value that was used, or the fault; the requests, and the record."""

    value: Any
    fault: Fault | None
    asked: list[Asked]
    ledger: Ledger


def read_habits(role: Role) -> list[Habit]:
    table = yaml.safe_load((FOLDER / f"{role}.yaml").read_text(encoding="utf-8"))
    found = []
    for row in table["replies"]:
        message = row["message"] if "message" in row else {"content": row["says"]}
        reading = table.get(row["reading"], row["reading"]) if isinstance(row["reading"], str) else row["reading"]
        finish, unread = row.get("finish", "stop"), row.get("unread", False)
        found.append(Habit(role, row["name"], message, finish, reading, unread, table["good"]))
    return found


def replies(habit: Habit) -> Callable[[Asked], web.Response]:
    fields = dict(habit.message)
    content = fields.pop("content")
    return lambda asked: completion(content, habit.finish, **fields)


async def play(habit: Habit, folder: Path, *, once: bool = False, **settings: Any) -> Outcome:
    """Play the role; ``once``: from the second request on the model answers in good form."""
    good = json.dumps(habit.good)
    answers: list[Any] = [replies(habit), lambda asked: good] if once else [replies(habit)]
    if habit.role == "user":
        answers.insert(0, lambda asked: {"message": "Hello there.", "stop": False, "confirms": False})
    ledger = Ledger()
    async with serving(*answers) as server:
        model = server.model(habit.role, **{**SETTINGS, **settings})
        try:
            value = await _ROLES[habit.role](model, folder, ledger)
        except Fault as fault:
            return Outcome(None, fault, server.asked, ledger)
    return Outcome(value, None, server.asked, ledger)


async def _simulator(model: EndpointModel, folder: Path, ledger: Ledger) -> Any:
    with suppress(FileExistsError):
        write_domain(folder / "desk")
    domain = load_domain(folder / "desk")
    context = context_of(domain)
    context = StepContext(context.prepared, context.state, ledger, 1, 1)
    simulator = CheckedSimulator(domain, model)
    simulator.begin(context)
    given = await simulator.call(CALL, context)
    ops = [dict(op) for op in given.ops or ()]
    said = {"outcome": given.outcome, "error_code": given.error_code, "reveals": list(given.reveals), "ops": ops}
    return {**said, "observation": given.observation}


async def _user(model: EndpointModel, folder: Path, ledger: Ledger) -> Any:
    task = Task(id="t", split="test", kind="k", user=script())
    prepared = PreparedTask(task, State.from_tables({}), ("digest", b""))
    user = LLMUser(retail(), model)
    context = StepContext(prepared, prepared.initial, ledger, 1, 0)
    user.begin(context)
    await user.open(context)
    given = await user.reply(QUESTION, StepContext(prepared, prepared.initial, ledger, 1, 1))
    acts = given.meta["acts"]
    return {"message": given.observation, "stop": given.end is not None, "confirms": "confirm" in acts}


async def _judge(model: EndpointModel, folder: Path, ledger: Ledger) -> Any:
    (finding,) = await LLMJudge(retail(), model).judge(replace(finished(), ledger=ledger), [read_criterion(GOAL)])
    if finding.value is None and "unsure" not in finding.reason:
        raise Fault("invalid_reply", finding.reason, role="judge")  # an abstention makes the verdict invalid
    verdict = {1.0: "met", 0.0: "not_met", None: "unsure"}[finding.value]
    evidence = [{"event": piece.event, "quote": piece.quote} for piece in finding.evidence]
    reason = finding.reason.removeprefix("the judge was unsure: ").replace("the judge gave no reason", "")
    return {"evidence": evidence, "reason": reason, "verdict": verdict}


_ROLES = {"simulator": _simulator, "user": _user, "judge": _judge}


def retail() -> Domain:
    return load_domain(domain_path("simia/retail-v0"))


def main() -> None:
    """Print the shares of replies that end in a fault."""
    with tempfile.TemporaryDirectory() as folder:
        for role in ROLES:
            habits, counted = read_habits(role), Counter[str]()
            for habit in habits:
                kind = "sound" if habit.sound else habit.reading
                counted[f"{kind} replies"] += 1
                always = asyncio.run(play(habit, Path(folder)))
                once = asyncio.run(play(habit, Path(folder), once=True))
                counted[f"{kind}, always, fault"] += always.fault is not None
                counted[f"{kind}, once, fault"] += once.fault is not None
                if habit.sound and always.fault is None and always.value != habit.reading:
                    print("WRONG", habit, always.value)
                if habit.sound is (always.fault is not None):
                    print("  ", habit, always.fault.message if always.fault else always.value)
            print(role, len(habits), dict(counted))


if __name__ == "__main__":
    main()
