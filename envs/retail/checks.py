"""Checks of the retail rubric that need to know what belongs to whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simia_gym.rewards.finding import Finding, quote_call
from simia_gym.trace import CallMade, Trace

_FINDS = frozenset({"find_user_id_by_email", "find_user_id_by_name_zip"})


def own_data(trace: Trace, args: Mapping[str, Any]) -> Finding:
    """Whatever was changed, and every profile that was opened, belongs to the one authenticated customer."""
    customer: str | None = None
    seen = 0
    for call in trace.calls:
        if call.name in _FINDS and call.ok:
            found = str(trace.events[call.event]["observation"])
            if customer is not None and found != customer:
                reason = f"in turn {call.turn} a second customer, {found}, was looked up"
                return Finding.of(False, reason, (quote_call(trace, call),))
            customer = found
            continue
        owner = _owner(trace, call)
        if owner is None:
            continue
        if owner != customer:
            who = "nobody had been authenticated" if customer is None else f"the customer is {customer}"
            reason = f"{call.name} in turn {call.turn} concerns {owner}, and {who}"
            return Finding.of(False, reason, (quote_call(trace, call),))
        seen += 1
    return Finding.of(True, f"{seen} calls, all on the customer's own data" if seen else "no customer's data was used")


def _owner(trace: Trace, call: CallMade) -> str | None:
    """Whose data a call concerns; none for calls that concern nobody's, or rows that do not exist."""
    user_id = call.arguments.get("user_id")
    if isinstance(user_id, str):
        return user_id if trace.final.has("users", user_id) else None
    order_id = call.arguments.get("order_id")
    if call.writes and isinstance(order_id, str):
        order = trace.final.get("orders", order_id)
        return None if order is None else str(order["user_id"])
    return None
