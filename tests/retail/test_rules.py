"""The shop's rules against the gold actions of the public benchmark's training tasks, which know nothing of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.service import Case, Grant, decide, load_service
from simia_gym.types import ToolCall
from tests.retail.play import suite

WISHES = {
    "cancel_pending_order": "cancel",
    "exchange_delivered_order_items": "exchange",
    "modify_pending_order_address": "modify_address",
    "modify_pending_order_items": "modify_items",
    "modify_pending_order_payment": "modify_payment",
    "modify_user_address": "user_address",
    "return_delivered_order_items": "return",
}
SLOTS = {
    "order_id": "order",
    "reason": "reason",
    "item_ids": "items",
    "new_item_ids": "variant",
    "payment_method_id": "payment",
}
DEVIATIONS = {
    # The gift card does not hold the price difference, and the benchmark's own tool declines the call, too.
    ("105", "exchange_delivered_order_items"): "covers_difference",
}
"""Gold actions that the rules refuse, with the rule."""


def test_rules_grant_what_the_benchmark_does(shared_data: Path) -> None:
    theirs = load_suite(EnvConfig("simia/retail-v0", data=str(shared_data / "tau2" / "retail"), split="train"))
    service, world = load_service(suite().domain.folder), theirs.domain.world
    assert world is not None
    assert len(theirs.tasks) == 74
    refused: dict[tuple[str, str], str] = {}
    granted = 0
    for task in theirs.tasks:
        state = theirs.domain.prepare(task).initial
        for gold in task.gold:
            call = ToolCall(gold["name"], gold["arguments"])
            if call.name in WISHES:
                order: Any = state.get("orders", call.arguments.get("order_id", ""))
                who = call.arguments.get("user_id") or order["user_id"]
                slots = {slot: call.arguments[name] for name, slot in SLOTS.items() if name in call.arguments}
                slots["address"] = {name: call.arguments.get(name) for name in ("address1", "address2", "city")}
                slots["address"] |= {name: call.arguments.get(name) for name in ("state", "country", "zip")}
                case = Case(who, service.reader(state), slots)
                verdict = decide(service, service.declared.wishes[WISHES[call.name]], case)
                if isinstance(verdict, Grant):
                    assert verdict.call.arguments == call.arguments, task.id
                    granted += 1
                else:
                    refused[task.id, call.name] = getattr(verdict, "rule", "")
            state = world.call(state, call).state or state
    assert refused == DEVIATIONS
    assert granted == 119
