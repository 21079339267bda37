"""What always holds in the airline's database, whoever changes it.

Each check takes the state and the rows that were touched, and yields what is wrong in one sentence each. They describe
sound behaviour; the oddities of ``compat="tau2"`` break some of them on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator

from simia_gym.envs._tau2.invariants import Touched, touched_rows, unlisted
from simia_gym.envs.airline.payments import price_of
from simia_gym.envs.airline.people import BAG
from simia_gym.envs.airline.search import departure_key
from simia_gym.state import State


def money_adds_up(state: State, touched: Touched) -> Iterator[str]:
    """What a reservation has cost is its price, also for charged bags that were removed; a cancelled one costs nothing.

    The price is that of the flights, the insurance and the charged bags.
    """
    for key, row in touched_rows(state, touched, "reservations"):
        paid = sum(line["amount"] for line in row["payment_history"])
        due = 0 if row["status"] == "cancelled" else price_of(row)
        removed_bags = row["status"] != "cancelled" and paid > due and (paid - due) % BAG == 0
        if paid != due and not removed_bags:
            yield f"reservation {key} has cost {paid}, its price is {due}"


def flights_are_in_the_timetable(state: State, touched: Touched) -> Iterator[str]:
    """Every flight of a reservation departs on its date, between the airports that the timetable says."""
    for key, row in touched_rows(state, touched, "reservations"):
        for leg in row["flights"]:
            number, flight = leg["flight_number"], state.get("flights", leg["flight_number"])
            if flight is None or not state.has("departures", departure_key(number, leg["date"])):
                yield f"reservation {key}: flight {number} does not depart on {leg['date']}"
            elif (flight["origin"], flight["destination"]) != (leg["origin"], leg["destination"]):
                yield f"reservation {key}: flight {number} does not go from {leg['origin']} to {leg['destination']}"


def payment_methods_are_owned(state: State, touched: Touched) -> Iterator[str]:
    """Whatever paid for a reservation belongs to its user; certificates are used up."""
    for key, row in touched_rows(state, touched, "reservations"):
        user = state.get("users", row["user_id"])
        owned = {} if user is None else user["payment_methods"]
        for method_id in dict.fromkeys(line["payment_id"] for line in row["payment_history"]):
            if method_id not in owned and not method_id.startswith("certificate_"):
                yield f"reservation {key} names payment method {method_id}, which {row['user_id']} does not have"


def reservations_are_listed(state: State, touched: Touched) -> Iterator[str]:
    """Every reservation stands in its user's list, and every reservation in a user's list is that user's."""
    return unlisted(state, touched, "reservations")
