"""The rows of the airline's tables, and an airline database as the public benchmark publishes it.

The fields of a row get the order in which the benchmark shows them. The names of the models, and the order of their
fields, show in the words of validation errors.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field

from simia_gym.common.validation import validated
from simia_gym.envs._tau2.rows import CreditCard, Name, Strict, UserAddress, check_keys
from simia_gym.envs.airline.people import AIRPORTS, Status
from simia_gym.envs.airline.trips import NOW
from simia_gym.types import JsonObject

Cabin = Literal["business", "economy", "basic_economy"]
FlightType = Literal["round_trip", "one_way"]
Insurance = Literal["yes", "no"]

Model = TypeVar("Model", bound=BaseModel)


class _Argument(BaseModel):
    model_config = ConfigDict(json_schema_extra={"additionalProperties": False})


class FlightInfo(_Argument):
    """A flight on a date."""

    flight_number: str = Field(description="Flight number, such as 'SA101'.")
    date: str = Field(description="Date of departure as YYYY-MM-DD, such as '2024-05-20'.")


class Passenger(_Argument):
    """Somebody who flies."""

    first_name: str = Field(description="First name.")
    last_name: str = Field(description="Last name.")
    dob: str = Field(description="Date of birth as YYYY-MM-DD.")


class Payment(_Argument):
    """What a payment method pays."""

    payment_id: str = Field(description="Id of a payment method in the profile, such as 'credit_card_1234567'.")
    amount: int = Field(description="Whole dollars.")


class Certificate(BaseModel):
    """A payment method that is used up when it pays."""

    source: Literal["certificate"]
    id: str
    amount: float


class ReservationFlight(BaseModel):
    """A flight of a reservation, with its price for one passenger in dollars."""

    flight_number: str
    origin: str
    destination: str
    date: str
    price: int


class Reservation(BaseModel):
    """A row of ``reservations``."""

    reservation_id: str
    user_id: str
    origin: str
    destination: str
    flight_type: FlightType
    cabin: Cabin
    flights: list[ReservationFlight]
    passengers: list[Passenger]
    payment_history: list[Payment]
    created_at: str
    total_baggages: int
    nonfree_baggages: int
    insurance: Insurance
    status: Literal["cancelled"] | None = None


class _GiftCard(Strict):
    source: Literal["gift_card"]
    id: str
    amount: float


class _User(Strict):
    user_id: str
    name: Name
    address: UserAddress
    email: str
    dob: str
    payment_methods: dict[str, Annotated[CreditCard | _GiftCard | Certificate, Field(discriminator="source")]]
    saved_passengers: list[Passenger]
    membership: Literal["gold", "silver", "regular"]
    reservations: list[str]


class _Departure(Strict):
    status: Status
    available_seats: dict[Cabin, int] | None = None
    prices: dict[Cabin, int] | None = None
    estimated_departure_time_est: str | None = None
    estimated_arrival_time_est: str | None = None
    actual_departure_time_est: str | None = None
    actual_arrival_time_est: str | None = None


class _Flight(Strict):
    flight_number: str
    origin: str
    destination: str
    scheduled_departure_time_est: str
    scheduled_arrival_time_est: str
    dates: dict[str, _Departure]


class _Database(Strict):
    model_config = ConfigDict(extra="forbid")

    flights: dict[str, _Flight]
    users: dict[str, _User]
    reservations: dict[str, Reservation]


def as_models(model: type[Model], given: Any) -> list[Model]:
    """The models of a list of objects; a list that holds anything else is returned as it is.

    Raises:
        ValidationError: An object lacks a field or has a wrong one; surplus fields are dropped.
    """
    return [model(**item) for item in given] if all(isinstance(item, dict) for item in given) else given


def read_tables(document: Any, where: str) -> dict[str, dict[str, JsonObject]]:
    """Read a whole database: flights without their dates become one table, the dates of all flights another.

    Args:
        document: The decoded JSON document.
        where: The file, for error messages.

    Returns:
        The tables ``users``, ``reservations``, ``flights``, ``departures``, ``airports`` and ``clock``.

    Raises:
        InputError: Something does not fit; names the place.
    """
    read: dict[str, dict[str, JsonObject]] = validated(_Database, document, where=f"{where}: ").model_dump()
    check_keys(read, where, flights="flight_number", users="user_id", reservations="reservation_id")
    departures = {}
    for key, flight in read["flights"].items():
        for date, found in cast("dict[str, JsonObject]", flight.pop("dates")).items():
            filled = {field: value for field, value in found.items() if value is not None}
            departures[f"{key}@{date}"] = {"flight_number": key, "date": date, **filled}
    return {
        "users": read["users"],
        "reservations": read["reservations"],
        "flights": read["flights"],
        "departures": departures,
        "airports": {iata: {"iata": iata, "city": city} for iata, city in AIRPORTS.items()},
        "clock": {"now": {"time": NOW}},
    }
