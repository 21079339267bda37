"""Checks of the retail rubric that depend on which customer owns which rows."""

from __future__ import annotations

from pydantic import Field

from simia_gym.record.finished_episode import CallMade, FinishedEpisode
from simia_gym.rewards.finding import Finding, quote_call
from simia_gym.rewards.programs.program import Args, Texts

_FINDS = frozenset({"find_user_id_by_email", "find_user_id_by_name_zip"})


class OwnDataArgs(Args):
    """Arguments of `own_data`."""

    customer: str | None = Field(default=None, description="Who the customer is; nobody may be found if null.")
    readable: Texts = Field(default=(), description="Orders of others that may be read, to see whose they are.")


def own_data(finished: FinishedEpisode, args: OwnDataArgs) -> Finding:
    """Whatever was read or changed belongs to the one customer, who is the one that was authenticated."""
    known = "customer" in args.model_fields_set
    customer: str | None = None
    seen = 0
    for call in finished.calls:
        if call.name in _FINDS and call.ok:
            found = str(finished.events[call.event]["observation"])
            wrong = found != args.customer if known else customer not in (None, found)
            if wrong:
                reason = f"in turn {call.turn} {found} was looked up, who is somebody else"
                return Finding.of(False, reason, (quote_call(finished, call),))
            customer = found
            continue
        owner = _owner(finished, call)
        if owner is None or (not call.writes and call.arguments.get("order_id") in args.readable):
            continue
        if owner != customer:
            who = "nobody had been authenticated" if customer is None else f"the customer is {customer}"
            reason = f"{call.name} in turn {call.turn} concerns {owner}, and {who}"
            return Finding.of(False, reason, (quote_call(finished, call),))
        seen += 1
    return Finding.of(True, f"{seen} calls, all on the customer's own data" if seen else "no customer's data was used")


def _owner(finished: FinishedEpisode, call: CallMade) -> str | None:
    """Whose data a call concerns; none for calls that concern nobody's, or rows that do not exist.

    Nothing changes owners, so the state at the start tells as much as the one at the end, and is always known.
    """
    user_id = call.arguments.get("user_id")
    if isinstance(user_id, str):
        return user_id if finished.initial.has("users", user_id) else None
    order_id = call.arguments.get("order_id")
    if isinstance(order_id, str):
        order = finished.initial.get("orders", order_id)
        return None if order is None else str(order["user_id"])
    return None
