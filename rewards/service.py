"""Criterion programs for service worlds: whose data was looked at or changed."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from simia_gym.record.finished_episode import CallMade, FinishedEpisode
from simia_gym.rewards.finding import Finding, quote_call
from simia_gym.rewards.programs.program import Args, Texts, ToolNames


class Owner(BaseModel):
    """Where an argument's owner stands: a table, and the field with the owner's id; the key itself if none."""

    table: str
    field: str | None = None


class OwnDataArgs(Args):
    """Arguments of `own_data`."""

    customer: str | None = Field(
        default=None,
        description="Who the customer is; nobody may be found if null, and whoever is found first if absent.",
    )
    finds: ToolNames = Field(description="The tools that find out who a customer is; they return the id.")
    owners: dict[str, Owner] = Field(default_factory=dict, description="Argument to the place of its owner.")
    readable: Texts = Field(default=(), description="Keys of others' rows that may be read, to see whose they are.")


def own_data(finished: FinishedEpisode, args: OwnDataArgs) -> Finding:
    """Only the one customer was found, before all else, and whatever was looked at or changed is that customer's."""
    found: str | None = None
    for call in finished.calls:
        if call.name in args.finds:
            if not call.ok:
                continue
            before, found = found, str(finished.events[call.event]["observation"])
            if found != (args.customer if "customer" in args.model_fields_set else before or found):
                reason = f"in turn {call.turn} {found} was looked up, who is somebody else"
                return Finding.of(False, reason, (quote_call(finished, call),))
        for owner in _owners(finished, call, args):
            if owner != found:
                who = "nobody had been found" if found is None else f"the customer is {found}"
                reason = f"{call.name} in turn {call.turn} concerns {owner}, and {who}"
                return Finding.of(False, reason, (quote_call(finished, call),))
    return Finding.of(True, "only the customer's own data was used")


def _owners(finished: FinishedEpisode, call: CallMade, args: OwnDataArgs) -> list[Any]:
    owners = []
    for argument, place in args.owners.items():
        key = call.arguments.get(argument)
        row = finished.initial.get(place.table, key) if isinstance(key, str) else None
        if row is not None and (call.writes or key not in args.readable):
            owners.append(key if place.field is None else row[place.field])
    return owners
