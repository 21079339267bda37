"""Cancelled and delayed flights: cancelling a reservation, compensation, and questions about what was booked."""

from __future__ import annotations

from functools import partial

from simia_gym.envs._tau2.customers import call
from simia_gym.envs.airline.people import Status
from simia_gym.envs.airline.trips import TODAY, dollars, first_trip, profile, statuses, trip
from simia_gym.envs.airline.wishes.draw import cancelled_before, draw_trip, earlier, leaves_today, settle
from simia_gym.envs.airline.wishes.flights import as_booked
from simia_gym.service import Case, Cast, Drawn, Member, No
from simia_gym.types import JsonObject

DAY_AGO = "2024-05-14T15:00:00"
"""What was booked at this time or later may be cancelled."""
COVERED = ("health", "weather")
"""Reasons for which insurance lets a customer cancel."""
FOR_CANCELLED, FOR_DELAYED = 100, 50
"""Compensation in dollars for each passenger."""
_STATUSES: tuple[Status, ...] = ("available", "on time", "delayed", "flying", "landed", "cancelled")


def cancellable(case: Case) -> No | None:
    """A reservation is cancelled if it is a day old, the airline cancelled a flight, or cabin or insurance allow it."""
    row = trip(case)
    if row["created_at"] >= DAY_AGO or row["cabin"] == "business" or "cancelled" in statuses(case, row):
        return None
    return None if row["insurance"] == "yes" and case.slot("reason") in COVERED else No()


def really_cancelled(case: Case) -> No | None:
    """Compensation for a cancelled flight needs one."""
    return None if "cancelled" in statuses(case, trip(case)) else No()


def really_delayed(case: Case) -> No | None:
    """Compensation for a delayed flight needs one, maybe one that has just been changed."""
    return None if "delayed" in statuses(case, first_trip(case)) else No()


def entitled(case: Case) -> No | None:
    """Compensation is for silver and gold members, for the insured, and for business."""
    if profile(case)["membership"] != "regular":
        return None
    row = trip(case)
    return None if row["insurance"] == "yes" or row["cabin"] == "business" else No()


def given_up(case: Case) -> No | None:
    """A delay is compensated once the reservation was cancelled, or its flights were changed, because of it."""
    row = trip(case)
    changed = as_booked(row["flights"]) != as_booked(first_trip(case)["flights"])
    return None if changed or row["status"] == "cancelled" else No()


def _paid(case: Case) -> int:
    return sum(payment["amount"] for payment in trip(case)["payment_history"])


def of_cancellation(case: Case) -> JsonObject:
    """What goes back."""
    return {"amount": dollars(_paid(case))}


def _compensation(case: Case, each: int) -> JsonObject:
    people = len(trip(case)["passengers"])
    return {"amount": each * max(1, people), "people": f"{people} passenger{'s' if people > 1 else ''}"}


of_cancelled = partial(_compensation, each=FOR_CANCELLED)
of_delayed = partial(_compensation, each=FOR_DELAYED)


def of_total(case: Case) -> JsonObject:
    """What was paid for the reservation."""
    return {"amount": str(_paid(case))}


def of_status(case: Case) -> JsonObject:
    """The status of the reservation's only flight."""
    leg = next(iter(trip(case)["flights"]), {"flight_number": ""})
    return {"number": leg["flight_number"], "status": next(iter(statuses(case, trip(case))), "unknown")}


def shows_terms(case: Case) -> list[JsonObject]:
    """Whether a reservation can be cancelled shows in it, and in its flights if they are said to be cancelled."""
    row = trip(case)
    flights = row["flights"] if case.slot("reason") == "airline" else ()
    return [
        call("get_reservation_details", reservation_id=row["reservation_id"]),
        *(call("get_flight_status", flight_number=leg["flight_number"], date=leg["date"]) for leg in flights),
    ]


def draw_cancellation(cast: Cast, who: Member) -> Drawn:
    """A reservation in business or of today, which can be cancelled for whatever reason."""
    drawn = draw_trip(cast, who, insurance=cast.rng.choice(("yes", "no")))
    row = drawn.rows["trip"]
    if row["cabin"] != "business" or cast.rng.random() < 0.5:
        row["created_at"] = f"{TODAY}T{cast.rng.randrange(1, 15):02d}:{cast.rng.randrange(10, 60)}:08"
    drawn.slots["reason"] = cast.rng.choice(("plans", "airline", "health", "weather", "other"))
    return drawn


def bound(
    cast: Cast,
    drawn: Drawn,
    who: Member,
    *,
    insurance: str = "no",
    created: str | None = None,
    cabin: str | None = None,
) -> None:
    """The reservation is neither of today, nor insured, nor in business, except for what is given."""
    row = drawn.rows["trip"]
    row.update(created_at=created or earlier(cast), insurance=insurance)
    row["cabin"] = cabin or cast.rng.choice(("basic_economy", "economy"))
    settle(row)


booked_a_day_ago = partial(bound, created=DAY_AGO)
booked_before_that = partial(bound, created="2024-05-14T14:59:59")
insured, in_business = partial(bound, insurance="yes"), partial(bound, cabin="business")


def flight_cancelled(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The airline cancelled the first flight of the reservation."""
    row = drawn.rows["departure"]
    for column in row.keys() - {"flight_number", "date"}:
        del row[column]
    row["status"] = "cancelled"


def bound_and_flight_cancelled(cast: Cast, drawn: Drawn, who: Member) -> None:
    """Nothing but that the airline cancelled a flight lets the customer cancel."""
    bound(cast, drawn, who)
    flight_cancelled(cast, drawn, who)


def draw_entitled(cast: Cast, who: Member) -> Drawn:
    """A reservation of somebody who may be compensated."""
    regular = who.row["membership"] == "regular"
    return draw_trip(cast, who, insurance="yes" if regular else cast.rng.choice(("yes", "no")))


def draw_cancelled_flight(cast: Cast, who: Member) -> Drawn:
    """A cancelled flight of somebody who may be compensated."""
    drawn = draw_entitled(cast, who)
    flight_cancelled(cast, drawn, who)
    return drawn


def draw_delayed_flight(cast: Cast, who: Member) -> Drawn:
    """A delayed flight of somebody who has given the reservation up and may be compensated."""
    drawn = draw_entitled(cast, who)
    leaves_today(cast, drawn, who, "delayed")
    cancelled_before(cast, drawn, who)
    return drawn


def kept(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The reservation has not been given up."""
    row = drawn.rows["trip"]
    row.update(status=None, payment_history=row["payment_history"][:1])


on_time_today, delayed_today = partial(leaves_today, status="on time"), partial(leaves_today, status="delayed")


def draw_status(cast: Cast, who: Member) -> Drawn:
    """A reservation of one flight with any status."""
    drawn = draw_trip(cast, who, round_trip=False)
    status = cast.rng.choice(_STATUSES)
    if status != "available":
        leaves_today(cast, drawn, who, status)
    return drawn
