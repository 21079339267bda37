"""The world from the task's beginning and the calls since."""

from __future__ import annotations

import json

import pytest

from simia_gym.domain.domain import Domain
from simia_gym.oracle import OracleOptions, OracleServer
from simia_gym.oracle.answering import Oracle
from simia_gym.types import Task

from ..work import calls_in
from .asking import Messages, about, about_task, ask, data, human, model, retail, system

REASON = "no longer needed"


def opening(domain: Domain, task: Task) -> Messages:
    return [system(about(domain), about_task(domain, task), data("tools", []), data("reference", []))]


def test_a_terminal_tool_is_done(oracle: OracleServer) -> None:
    domain = retail()
    assert domain.generator is not None
    name, spec = next((name, spec) for name, spec in domain.specs.items() if spec.terminal)
    call = data("call", {"name": name, "arguments": dict.fromkeys(spec.parameters["required"], "x")})
    assert ask(oracle, [*opening(domain, domain.generator("test", 123)), human(call)]).reply["done"] is True


def test_histories_that_part_ways_do_not_mix(oracle: OracleServer) -> None:
    domain = retail()
    task = domain.tasks["train"][0]
    rows = domain.prepare(task).initial.rows("orders")
    order, row = next((key, row) for key, row in rows if row["status"] == "pending")
    cancel = data("call", {"name": "cancel_pending_order", "arguments": {"order_id": order, "reason": REASON}})
    look = data("call", {"name": "get_order_details", "arguments": {"order_id": order}})
    begun = opening(domain, task)
    changed = ask(oracle, [*begun, human(cancel), model("{}"), human(look)]).reply
    same = ask(oracle, [*begun, human(look)]).reply
    assert '"status": "cancelled"' in changed["observation"]
    assert f'"status": "{row["status"]}"' in same["observation"]


@pytest.mark.slow
def test_a_long_history_is_read_and_not_executed_again() -> None:
    oracle, domain = Oracle(OracleOptions()), retail()
    history = opening(domain, domain.tasks["train"][1])
    took = []
    for number in range(240):
        call = {"name": "calculate", "arguments": {"expression": f"{number} + 1"}}
        history.append(human(data("call", call)))
        body = json.dumps({"model": "m", "messages": history}).encode()
        calls, answer = calls_in(oracle.answer, body, oracle.fate(body).chance)
        took.append(calls)
        history.append(model(answer.reply.text))
    # Reading a turn again costs some 70 calls, and executing its call again several hundred.
    assert (took[-1] - took[1]) / len(took) < took[1] / 3
