# ruff: noqa: D417 (a tool's docstring tells the policy about its arguments; the draft is none of them)
"""The airline's world: fourteen tools over users, reservations and a timetable.

Tool names, arguments, results and error texts are those of the public airline benchmark. The tools do not enforce the
policy: cabin rules, baggage allowance, reasons for cancelling and compensation are the agent's business. By default
the tools behave soundly: seats follow bookings, a cancelled reservation stays as it is, no call creates money. With the
option ``compat="tau2"`` they behave as the benchmark's published code does, oddities included, so that recorded
episodes run again byte for byte; ``compat="tau1"`` is its older release, which does not store a new cabin.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from simia_gym.common.validation import validated
from simia_gym.domain.tools import tool
from simia_gym.envs._tau2 import data
from simia_gym.envs._tau2.calls import absent, check_hashable
from simia_gym.envs._tau2.rows import Tables
from simia_gym.envs._tau2.world import Tau2World, renderer_of
from simia_gym.envs.airline import error_hints
from simia_gym.envs.airline.payments import fare, pay_booking, pay_change, price_of
from simia_gym.envs.airline.people import AIRPORTS, BAG, segment
from simia_gym.envs.airline.rows import (
    Cabin,
    Certificate,
    FlightInfo,
    FlightType,
    Insurance,
    Passenger,
    Payment,
    Reservation,
    as_models,
)
from simia_gym.envs.airline.search import departure_key, direct, onestop, shown
from simia_gym.envs.airline.trips import NOW
from simia_gym.errors import ToolError
from simia_gym.state import Draft
from simia_gym.types import JsonObject, Row

NEW_RESERVATIONS = ("HATHAT", "HATHAU", "HATHAV")
NEW_CERTIFICATES = ("certificate_3221322", "certificate_3221323", "certificate_3221324")
"""The ids of what is made in an episode, in order."""

SEARCH = "simia_gym.envs.airline.search"
ITSELF = "simia_gym.envs.airline.world:show"
SHOW: JsonObject = {"row": "/reservations/{reservation_id}"}
RESERVATION = "reservations/{reservation_id}"
OWNER = "users/{/reservations/{reservation_id}/user_id}#user_id,payment_methods"
"""The payment methods of the reservation's user."""
_FLIGHTS = "/reservations/{reservation_id}/flights/*"
OLD_DEPARTURES = f"departures/{{{_FLIGHTS}/flight_number}}@{{{_FLIGHTS}/date}}"
NEW_FLIGHTS = ("flights/{flights/*/flight_number}", "departures/{flights/*/flight_number}@{flights/*/date}")
BALANCES, SEATS = "users/*/payment_methods", "departures/*/available_seats"

Flights = Annotated[list[FlightInfo], Field(min_length=1, json_schema_extra={"uniqueItems": True})]
Bags = Annotated[int, Field(ge=0)]


class AirlineWorld(Tau2World):
    """The executable airline."""

    toolkit = "AirlineTools"
    releases = ("tau2", "tau1")

    # Reading

    @tool(effect="read", reads=("users/{user_id}",), render={"row": "/users/{user_id}"})
    def get_user_details(self, db: Draft, user_id: str) -> Row:
        """Show a customer's profile: name, payment methods, saved passengers, membership level, ids of reservations.

        Args:
            user_id: The customer's id, such as 'alba_duarte_1234'.
        """
        return _need(db, "users", user_id)

    @tool(effect="read", reads=(RESERVATION,), render=SHOW)
    def get_reservation_details(self, db: Draft, reservation_id: str) -> Row:
        """Show a reservation: flights, cabin, passengers, payments, bags, insurance, and whether it is cancelled.

        Args:
            reservation_id: The reservation's id, such as 'K7QM2X'.
        """
        return _need(db, "reservations", reservation_id)

    @tool(effect="read", reads=("airports",), render=ITSELF)
    def list_all_airports(self, db: Draft) -> list[Row]:
        """List every airport that the airline flies to, with its IATA code and city."""
        return [row for _, row in db.rows("airports")]

    @tool(
        effect="read",
        reads=(
            "flights?origin={origin}&destination={destination}",
            {"view": f"{SEARCH}:departures_of_direct", "table": "departures"},
        ),
        render=ITSELF,
    )
    def search_direct_flight(self, db: Draft, origin: str, destination: str, date: str) -> list[JsonObject]:
        """Search flights without a stop that can be booked on a date, with times, seats left and prices by cabin.

        Args:
            origin: IATA code of the airport of departure, such as 'SFO'.
            destination: IATA code of the airport of arrival, such as 'JFK'.
            date: Date of departure as YYYY-MM-DD, such as '2024-05-20'.
        """
        check_hashable(date)
        return [shown(found) for found in direct(db, origin, destination, date)]

    @tool(
        effect="read",
        reads=({"view": f"{SEARCH}:connecting", "table": "connecting"},),
    )
    def search_onestop_flight(self, db: Draft, origin: str, destination: str, date: str) -> list[list[JsonObject]]:
        """Search pairs of flights with one stop that can be booked, with times, seats left and prices by cabin.

        The second flight departs on the day on which the first arrives, and not before it has arrived.

        Args:
            origin: IATA code of the airport of departure, such as 'SFO'.
            destination: IATA code of the airport of arrival, such as 'JFK'.
            date: Date of the first departure as YYYY-MM-DD, such as '2024-05-20'.
        """
        check_hashable(date)
        pairs = onestop(db, origin, destination, date, self.tau2)
        return [[shown(found, found[1]["date"]) for found in pair] for pair in pairs]

    @tool(
        effect="read",
        reads=("flights/{flight_number}#flight_number", "departures/{flight_number}@{date}#status"),
        render={"value": "/departures/{flight_number}@{date}/status"},
    )
    def get_flight_status(self, db: Draft, flight_number: str, date: str) -> str:
        """Tell a flight's status on a date: available, on time, delayed, flying, landed or cancelled.

        Args:
            flight_number: Flight number, such as 'SA101'.
            date: Date of departure as YYYY-MM-DD, such as '2024-05-20'.
        """
        return str(_need_departure(db, flight_number, date)["status"])

    # Writing

    @tool(
        effect="write",
        reads=(
            "users/{user_id}#user_id,payment_methods,reservations",
            *(f"reservations/{new}#reservation_id" for new in NEW_RESERVATIONS),
            *NEW_FLIGHTS,
            "clock/now",
        ),
        writes=("reservations", "users/*/reservations", BALANCES, SEATS),
        render=f"{SEARCH}:booked",
        always_changes=True,
    )
    def book_reservation(
        self,
        db: Draft,
        user_id: str,
        origin: str,
        destination: str,
        flight_type: FlightType,
        cabin: Cabin,
        flights: Flights,
        passengers: Annotated[list[Passenger], Field(min_length=1)],
        payment_methods: list[Payment],
        total_baggages: Bags,
        nonfree_baggages: Bags,
        insurance: Insurance,
    ) -> JsonObject:
        """Book flights for a customer.

        Tell the customer all details with the price, and get an explicit yes before you call this. The price is that of
        the cabin on every flight for every passenger, 30 dollars a passenger for insurance, and 50 dollars for each
        charged bag. Gift cards lose what they pay; a certificate is used up even if it pays only a part of its amount.
        Every passenger takes one of the available seats of the cabin on each flight. The payments become the payment
        history in the same order. The result is the reservation; its id is the first of HATHAT, HATHAU and HATHAV that
        is not in use.

        Args:
            user_id: The customer's id, such as 'alba_duarte_1234'.
            origin: IATA code of the airport where the journey begins, such as 'SFO'.
            destination: IATA code of the airport where it leads to, such as 'JFK'.
            flight_type: Whether it is one way or a round trip.
            cabin: The cabin, the same on all flights.
            flights: All flights in the order in which they are flown, those of the way back included.
            passengers: Everybody who flies.
            payment_methods: What pays; the amounts sum up to the price.
            total_baggages: Number of all checked bags.
            nonfree_baggages: Number of the checked bags that are charged.
            insurance: Whether all passengers are insured.
        """
        infos, people = as_models(FlightInfo, flights), as_models(Passenger, passengers)
        payments = as_models(Payment, payment_methods)
        user = _need(db, "users", user_id)
        key = _unused(NEW_RESERVATIONS, lambda new: db.has("reservations", new), "Too many reservations")
        reservation = Reservation(
            reservation_id=key,
            user_id=user_id,
            origin=origin,
            destination=destination,
            flight_type=flight_type,
            cabin=cabin,
            flights=[],
            passengers=people,
            payment_history=payments,
            created_at=db.row("clock", "now")["time"],
            total_baggages=total_baggages,
            nonfree_baggages=nonfree_baggages,
            insurance=insurance,
        ).model_dump()
        self._check_bags(total_baggages, nonfree_baggages)
        for info in infos:
            reservation["flights"].append(_segment(db, info, cabin, len(people)))
        due = price_of({**reservation, "nonfree_baggages": nonfree_baggages})  # no number may have been given as one
        pay_booking(db, user, payments, due, self.tau2)
        _move_seats(db, map(_key, reservation["flights"]), cabin, -len(people))
        db.put("reservations", key, reservation)
        db.edit("users", user_id)["reservations"].append(key)
        return reservation

    @tool(
        effect="write",
        reads=(RESERVATION, OLD_DEPARTURES),
        writes=("reservations/*/payment_history", "reservations/*/status", SEATS),
        render=SHOW,
        always_changes=True,
    )
    def cancel_reservation(self, db: Draft, reservation_id: str) -> Row:
        """Cancel a whole reservation. Its payments go back to the payment methods within 5 to 7 business days.

        Each payment in its history gets a refund, an entry at the end with the negative amount, in the same order; the
        amount of a gift card does not change yet. Its seats on departures whose status is available become available
        seats of its cabin again. This does not check whether policy allows it. Tell the customer what will happen and
        get an explicit yes before you call this. The result is the cancelled reservation.

        Args:
            reservation_id: The reservation's id, such as 'K7QM2X'.
        """
        reservation = self._open(db, reservation_id)
        changed = db.edit("reservations", reservation_id)
        refunds = [{**line, "amount": -line["amount"]} for line in reservation["payment_history"]]
        changed["payment_history"] += refunds
        changed["status"] = "cancelled"
        if not self.tau2:
            _move_seats(db, map(_key, reservation["flights"]), reservation["cabin"], len(reservation["passengers"]))
        return changed

    @tool(
        effect="write",
        reads=(RESERVATION, OWNER, OLD_DEPARTURES, *NEW_FLIGHTS),
        writes=(
            "reservations/*/flights",
            "reservations/*/cabin",
            "reservations/*/payment_history",
            BALANCES,
            SEATS,
        ),
        render=SHOW,
        always_changes=True,
    )
    def update_reservation_flights(
        self, db: Draft, reservation_id: str, cabin: Cabin, flights: Flights, payment_id: str
    ) -> Row:
        """Change the flights or the cabin of a reservation.

        A flight that stays on its date and in its cabin keeps its price; all others cost what they cost now. The
        difference for all passengers is charged or refunded at once: an entry at the end of the payment history, whose
        amount is positive if the customer pays and negative if they get money back (no entry without a difference), and
        a gift card's amount falls or grows by it. The passengers give back their available seats on the flights that
        they leave, if those are still available, and take seats of the cabin on the new ones. This does not check
        whether policy allows it. Tell the customer the difference and get an explicit yes before you call this. The
        result is the reservation.

        Args:
            reservation_id: The reservation's id, such as 'K7QM2X'.
            cabin: The cabin on all flights, also if it stays as it is.
            flights: All flights as they are to be, also those that stay, in the order in which they are flown.
            payment_id: The credit card or gift card that pays or gets the difference.
        """
        infos = as_models(FlightInfo, flights)
        reservation = self._open(db, reservation_id)
        user, people = _need(db, "users", reservation["user_id"]), len(reservation["passengers"])
        old = {_key(flight): flight for flight in reversed(reservation["flights"])}
        kept = old if cabin == reservation["cabin"] else {}
        asked = [departure_key(info.flight_number, info.date) for info in infos]
        new = [kept.get(key) or _segment(db, info, cabin, people) for key, info in zip(asked, infos, strict=True)]
        history = pay_change(db, user, payment_id, sum(each["price"] for each in new) * people - fare(reservation))
        changed = db.edit("reservations", reservation_id)
        if not self.tau2:
            stay = kept.keys() & asked
            _move_seats(db, old.keys() - stay, reservation["cabin"], people)
            _move_seats(db, set(asked) - stay, cabin, -people)
        changed["payment_history"] += history
        changed["flights"] = new
        if self.options.get("compat") != "tau1":
            changed["cabin"] = cabin
        return changed

    @tool(
        effect="write",
        reads=(RESERVATION, OWNER),
        writes=(
            "reservations/*/total_baggages",
            "reservations/*/nonfree_baggages",
            "reservations/*/payment_history",
            BALANCES,
        ),
        render=SHOW,
        always_changes=True,
    )
    def update_reservation_baggages(
        self, db: Draft, reservation_id: str, total_baggages: Bags, nonfree_baggages: Bags, payment_id: str
    ) -> Row:
        """Change the number of checked bags of a reservation; every further charged bag costs 50 dollars.

        If anything is to be paid, its amount is an entry at the end of the payment history, and a gift card loses it at
        once; nothing is refunded. Tell the customer the price and get an explicit yes before you call this. The result
        is the reservation.

        Args:
            reservation_id: The reservation's id, such as 'K7QM2X'.
            total_baggages: Number of all checked bags as it is to be.
            nonfree_baggages: Number of the charged ones as it is to be.
            payment_id: The credit card or gift card that pays.
        """
        reservation = self._open(db, reservation_id)
        user = _need(db, "users", reservation["user_id"])
        self._check_bags(total_baggages, nonfree_baggages)
        due = BAG * max(0, nonfree_baggages - reservation["nonfree_baggages"])
        history = pay_change(db, user, payment_id, due)
        changed = db.edit("reservations", reservation_id)
        changed["payment_history"] += history
        changed["total_baggages"], changed["nonfree_baggages"] = total_baggages, nonfree_baggages
        return changed

    @tool(effect="write", reads=(RESERVATION,), writes=("reservations/*/passengers",), render=SHOW, always_changes=True)
    def update_reservation_passengers(
        self, db: Draft, reservation_id: str, passengers: Annotated[list[Passenger], Field(min_length=1)]
    ) -> Row:
        """Change who flies on a reservation: names and dates of birth, but not how many.

        Tell the customer the new details and get an explicit yes before you call this. The result is the reservation.

        Args:
            reservation_id: The reservation's id, such as 'K7QM2X'.
            passengers: All passengers as they are to be, also those who stay, in this order.
        """
        people = as_models(Passenger, passengers)
        reservation = self._open(db, reservation_id)
        if len(people) != len(reservation["passengers"]):
            raise ToolError("Number of passengers does not match", "mismatch", error_hints.PASSENGERS)
        changed = db.edit("reservations", reservation_id)
        changed["passengers"] = [person.model_dump() for person in people]
        return changed

    @tool(
        effect="write",
        reads=("users/{user_id}#user_id,payment_methods",),
        writes=(BALANCES,),
        always_changes=True,
    )
    def send_certificate(self, db: Draft, user_id: str, amount: Annotated[int, Field(ge=1)]) -> str:
        """Give a customer a travel certificate as compensation.

        This does not check whether policy allows it. The result names the certificate, whose id is the first of
        certificate_3221322, certificate_3221323 and certificate_3221324 that the customer does not have.

        Args:
            user_id: The customer's id, such as 'alba_duarte_1234'.
            amount: Its amount in whole dollars.
        """
        methods = _need(db, "users", user_id)["payment_methods"]
        key = _unused(NEW_CERTIFICATES, methods.__contains__, "Too many certificates")
        certificate = Certificate(source="certificate", id=key, amount=amount).model_dump()
        db.edit("users", user_id)["payment_methods"][key] = (
            certificate if self.tau2 else {**certificate, "amount": amount}
        )
        return f"Certificate {key} added to user {user_id} with amount {amount}."

    def _open(self, db: Draft, reservation_id: object) -> Row:
        """The reservation, which must not be cancelled; with ``tau2`` it may be."""
        reservation = _need(db, "reservations", reservation_id)
        if reservation["status"] == "cancelled" and not self.tau2:
            raise ToolError(f"Reservation {reservation_id} is cancelled", "cancelled", error_hints.CANCELLED)
        return reservation

    def _check_bags(self, total: int, nonfree: int) -> None:
        if not self.tau2 and nonfree > total:
            message = f"{nonfree} of {total} bags cannot be charged"
            raise ToolError(message, "mismatch", error_hints.BAGS)


def _need(db: Draft, table: str, key: object) -> Row:
    row = db.get(table, key) if isinstance(key, str) else None
    if row is None:
        raise absent(key, f"{table.removesuffix('s').capitalize()} {key} not found", error_hints.ABSENT[table])
    return row


def _need_departure(db: Draft, flight_number: object, date: object) -> Row:
    _need(db, "flights", flight_number)
    check_hashable(date)
    departure = db.get("departures", departure_key(flight_number, date))
    if departure is None:
        message = f"Flight {flight_number} not found on date {date}"
        raise ToolError(message, "not_found", error_hints.NOT_THAT_DAY)
    return departure


def _segment(db: Draft, info: FlightInfo, cabin: Cabin, people: int) -> JsonObject:
    """A flight of a reservation at its present price, if it has enough seats."""
    departure = _need_departure(db, info.flight_number, info.date)
    if departure["status"] != "available":
        message = f"Flight {info.flight_number} not available on date {info.date}"
        raise ToolError(message, "not_available", error_hints.NOT_AVAILABLE)
    if departure["available_seats"][cabin] < people:
        raise ToolError(f"Not enough seats on flight {info.flight_number}", "no_seats", error_hints.SEATS)
    return segment(db.row("flights", info.flight_number), info.date, departure["prices"][cabin])


def _key(flight: Row) -> str:
    return departure_key(flight["flight_number"], flight["date"])


def _move_seats(db: Draft, departures: Iterable[str], cabin: str, seats: int) -> None:
    """Give seats back to departures that are still sold, or take them with a negative number."""
    for key in sorted(departures):
        if db.row("departures", key)["status"] == "available":
            db.edit("departures", key)["available_seats"][cabin] += seats


def _unused(keys: Sequence[str], used: Any, message: str) -> str:
    for key in keys:
        if not used(key):
            return key
    raise ToolError(message, "limit_reached", error_hints.LIMIT)


def _arranged(database: Tables, where: str) -> Tables:
    """The benchmark's tables as the world has them: the dates of all flights become a table of their own."""
    departures: dict[str, JsonObject] = {}
    for key, flight in database.get("flights", {}).items():
        place = f"{where}: flights.{key}.dates"
        for date, found in validated(dict[str, JsonObject], flight.get("dates", {}), where=place).items():
            departures[departure_key(key, date)] = {"flight_number": key, "date": date, **found}
    airports = {iata: {"iata": iata, "city": city} for iata, city in AIRPORTS.items()}
    return {**database, "departures": departures, "airports": airports, "clock": {"now": {"time": NOW}}}


show = renderer_of(AirlineWorld)
load_benchmark = partial(data.load, domain="airline", world=AirlineWorld, arranged=_arranged)
