"""What the tools take as objects, and the rows that they make.

The fields of a row have the order in which the benchmark shows them. The names of the models, and the order of their
fields, show in the words of validation errors.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

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


class Reservation(BaseModel):
    """A row of ``reservations``."""

    reservation_id: str
    user_id: str
    origin: str
    destination: str
    flight_type: FlightType
    cabin: Cabin
    flights: list[dict[str, Any]]
    passengers: list[Passenger]
    payment_history: list[Payment]
    created_at: str
    total_baggages: int
    nonfree_baggages: int
    insurance: Insurance
    status: Literal["cancelled"] | None = None


def as_models(model: type[Model], given: Any) -> list[Model]:
    """The models of a list of objects; a list that holds anything else is returned as it is.

    Raises:
        ValidationError: An object lacks a field or has a wrong one; surplus fields are dropped.
    """
    return [model(**item) for item in given] if all(isinstance(item, dict) for item in given) else given
