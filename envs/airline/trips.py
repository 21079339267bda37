"""What the tools show of a customer and his trips, and the rules that most wishes share.

Nothing here fails where a row is missing: a policy that skips rules works out calls for strangers, too.
"""

from __future__ import annotations

import math
from datetime import date, timedelta

from simia_gym.envs._tau2.customers import card_text
from simia_gym.service import Case, No
from simia_gym.types import JsonObject, Row

NOW = "2024-05-15T15:00:00"
"""The time at which every episode takes place, which policy tells."""
TODAY = NOW[:10]
CABINS = ("basic_economy", "economy", "business")
FLOWN = ("landed", "flying")
"""The statuses of a flight that has taken off."""
CERTIFICATES = "certificates"
"""All certificates of the profile, in what the customer wants to pay with."""

_NO_PROFILE: JsonObject = {
    "user_id": "", "membership": "regular", "payment_methods": {}, "reservations": [], "saved_passengers": [],
    "name": {"first_name": "", "last_name": ""}, "dob": "",
}  # fmt: skip
_NO_TRIP: JsonObject = {
    "reservation_id": "", "user_id": "", "origin": "", "destination": "", "flight_type": "one_way",
    "cabin": "economy", "flights": [], "passengers": [], "payment_history": [], "created_at": "2024-05-01T00:00:00",
    "total_baggages": 0, "nonfree_baggages": 0, "insurance": "no", "status": None,
}  # fmt: skip


def profile(case: Case) -> Row:
    """The customer's profile."""
    row: Row = case.read("get_user_details", user_id=case.who) or _NO_PROFILE
    return row


def trip_of(case: Case, reservation_id: str) -> Row:
    """A reservation."""
    row: Row = case.read("get_reservation_details", reservation_id=reservation_id) or _NO_TRIP
    return row


def trip(case: Case) -> Row:
    """The reservation that the wish is about."""
    return trip_of(case, case.slot("reservation"))


def first_trip(case: Case) -> Row:
    """The reservation as it was when the conversation began."""
    row: Row = case.read_first("get_reservation_details", reservation_id=case.slot("reservation")) or _NO_TRIP
    return row


def statuses(case: Case, row: Row) -> list[str]:
    """The status of each flight of a reservation."""
    return [
        str(case.read("get_flight_status", flight_number=leg["flight_number"], date=leg["date"]))
        for leg in row["flights"]
    ]


def payers(case: Case) -> list[str]:
    """The ids of the payment methods that the customer chose, in the order in which they pay."""
    methods = profile(case)["payment_methods"]
    certificates = [key for key, row in methods.items() if row["source"] == "certificate"]
    chosen = case.slot("payment").split(" + ")
    return [key for one in chosen for key in (certificates if one == CERTIFICATES else [one])]


def paying(case: Case) -> list[Row]:
    """Those of these payment methods that are in the profile."""
    methods = profile(case)["payment_methods"]
    return [methods[key] for key in payers(case) if key in methods]


def held(case: Case) -> float:
    """What the payment methods that the customer chose can pay together."""
    return sum(math.inf if row["source"] == "credit_card" else row["amount"] for row in paying(case))


def cities(case: Case) -> dict[str, str]:
    """The city of each airport, by its code."""
    return {row["iata"]: row["city"] for row in case.read("list_all_airports") or ()}


def own_trip(case: Case) -> No | None:
    """Everybody gets what concerns the own reservations only."""
    return None if case.slot("reservation") in profile(case)["reservations"] else No()


def still_booked(case: Case) -> No | None:
    """A cancelled reservation stays as it is."""
    return No() if trip(case)["status"] == "cancelled" else None


def not_flown(case: Case) -> No | None:
    """Once a flight of a reservation has taken off, a colleague has to see to it."""
    return No(handover=True) if any(status in FLOWN for status in statuses(case, trip(case))) else None


def own_method(case: Case) -> No | None:
    """Money comes from payment methods of the profile, and goes to them."""
    return None if len(paying(case)) == len(payers(case)) else No()


def day_after(count: int) -> str:
    """The date so many days after today."""
    return str(date.fromisoformat(TODAY) + timedelta(days=count))


def date_text(day: str) -> str:
    """A date as it is said: ``May 20``."""
    return f"{date.fromisoformat(day):%B} {int(day[8:])}"


def time_text(time: str) -> str:
    """A time of day as it is said: ``9:05 am``."""
    hour = int(time[:2])
    return f"{hour % 12 or 12}:{time[3:5]} {'am' if hour < 12 else 'pm'}"


def method_text(row: Row) -> str:
    """A payment method as customers know it."""
    if row["source"] == "credit_card":
        return card_text(row)
    return f"{'gift card' if row['source'] == 'gift_card' else 'certificate'} of ${row['amount']}"


def account(case: Case, key: str) -> str:
    """A payment method, as the customer is told of it."""
    row = profile(case)["payment_methods"].get(key)
    return f"account {key}" if row is None else f"your {method_text(row)}"


def dollars(amount: float) -> str:
    """An amount as it is written: whole dollars without cents."""
    return f"${amount:.2f}".removesuffix(".00")
