"""The rules of both services against the gold actions of the benchmark's training tasks, which know nothing of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from simia_gym.domain.loading import load_domain
from simia_gym.service import Case, Generator, Grant, decide, load_service
from simia_gym.types import ToolCall

from .test_slices import FOLDERS, OWN


@pytest.mark.parametrize("name", OWN)
def test_rules_grant_what_the_benchmark_does(name: str, shared_data: Path) -> None:
    own, domain = OWN[name], load_domain(FOLDERS[name], data=shared_data / "tau2" / name)
    service, world, tasks = load_service(domain.folder), domain.world, domain.tasks["train"]
    assert world is not None
    assert len(tasks) == own.TASKS
    refused: dict[tuple[str, str], str] = {}
    granted: Counter[str] = Counter()
    for task in tasks:
        state = domain.prepare(task).initial
        for gold in task.gold:
            call = ToolCall(gold["name"], gold["arguments"])
            table = own.SOUND[0]
            row: Any = state.get(table, str(call.arguments.get(f"{table[:-1]}_id")))
            wish, slots = own.wish(call, state, row, task.id)
            if wish:
                case = Case(call.arguments.get("user_id") or row["user_id"], service.reader(state), slots)
                verdict = decide(service, service.declared.wishes[wish], case)
                if isinstance(verdict, Grant):
                    assert verdict.call == call, task.id
                    granted[wish] += 1
                else:
                    refused[task.id, call.name] = getattr(verdict, "rule", "")
            state = world.call(state, call).state or state
    assert refused == own.DEVIATIONS
    assert granted == own.GRANTED


@pytest.mark.parametrize(
    ("kind", "first"),
    [("cancelled_for_delay", "cancel_reservation"), ("changed_for_delay", "update_reservation_flights")],
)
@pytest.mark.slow
def test_a_delay_is_compensated_once_the_reservation_was_given_up_for_it(kind: str, first: str) -> None:
    service = load_service(FOLDERS["airline"])
    generator, compensated = Generator(service, service.ids), 0
    for index in range(40):
        called = [call["name"] for call in generator.make(f"delay-{index}", "test", index, kind).gold]
        assert called in ([first, "send_certificate"], [first], [])  # none to a customer who gets no compensation
        compensated += len(called) == 2
    assert compensated > 10
