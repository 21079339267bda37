"""With ``compat="tau2"`` the tools have the oddities of the public benchmark's code, Python's own errors included."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simia_gym.envs.airline.world import AirlineWorld
from simia_gym.state import State
from simia_gym.types import JsonObject, ToolCall

from ..tau2.tools import Tools, after
from .small import ANA, DAY, airline, booking, legs, reservation

STATE = airline()
TOOLS = Tools(AirlineWorld({"compat": "tau2"}), STATE)
call, fails = TOOLS.call, TOOLS.fails
CHANGE = {"reservation_id": "R1", "cabin": "business", "flights": legs("SA1", "SA2"), "payment_id": "card"}


def done(name: str, state: State = STATE, /, **arguments: Any) -> State:
    return after(call(name, state, **arguments))


def test_cancelling_twice_goes_through_and_frees_no_seats() -> None:
    once = done("cancel_reservation", reservation_id="R1")
    twice = done("cancel_reservation", once, reservation_id="R1")
    assert [line["amount"] for line in twice.at("/reservations/R1/payment_history")] == [510, -510, -510, 510]
    assert twice.touched_since(STATE) == [("reservations", "R1")]
    assert done("update_reservation_flights", twice, **CHANGE).at("/reservations/R1/status") == "cancelled"


def test_changing_flights_takes_no_seats() -> None:
    assert done("update_reservation_flights", **CHANGE).touched_since(STATE) == [("reservations", "R1")]


def test_times_are_compared_as_texts() -> None:
    found = json.loads(call("search_onestop_flight", origin="BOS", destination="SEA", date=DAY).observation)
    # The day after May 31 is no date, and "01:00:00" comes before "01:00:00+1".
    assert [[one["flight_number"] for one in pair] for pair in found] == [["SA1", "SA2"]]


def test_a_payment_method_that_is_named_twice_is_checked_twice() -> None:
    payments = [{"payment_id": "gift", "amount": 150}, {"payment_id": "gift", "amount": 50}]
    state = done("book_reservation", **booking("SA1", "SA7", payment_methods=payments))
    assert state.at("/users/ana_cho_1/payment_methods/gift/amount") == -50
    certificate = done("send_certificate", state, user_id="ana_cho_1", amount=-5)
    assert str(certificate.at("/users/ana_cho_1/payment_methods/certificate_3221322/amount")) == "-5.0"


def test_the_older_release_stores_no_new_cabin() -> None:
    after = AirlineWorld({"compat": "tau1"}).call(STATE, ToolCall("update_reservation_flights", CHANGE)).state
    assert after is not None
    assert after.at("/reservations/R1") == {
        **done("update_reservation_flights", **CHANGE).at("/reservations/R1"),
        "cabin": "economy",
    }
    with pytest.raises(ValueError, match="tau1"):
        AirlineWorld({"compat": "tau3"})


MISSING = (
    "1 validation error for FlightInfo\ndate\n  Field required [type=missing, input_value={'flight_number': 'SA7'}, "
    "input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.12/v/missing"
)
ERRORS: list[tuple[str, JsonObject, str]] = [
    ("think", {}, "Tool 'think' not found."),
    (
        "get_user_details",
        {},
        "AirlineTools.get_user_details() missing 1 required positional argument: 'user_id'",
    ),
    ("get_user_details", {"user_id": ["x"]}, "unhashable type: 'list'"),
    ("get_reservation_details", {"reservation_id": None}, "Reservation None not found"),
    ("get_flight_status", {"flight_number": "SA1", "date": 5}, "Flight SA1 not found on date 5"),
    ("search_direct_flight", {"origin": "BOS", "destination": "SEA", "date": {}}, "unhashable type: 'dict'"),
    ("update_reservation_flights", {**CHANGE, "cabin": "first"}, "'first'"),
    ("update_reservation_flights", {**CHANGE, "flights": ["SA7"]}, "'str' object has no attribute 'flight_number'"),
    ("update_reservation_flights", {**CHANGE, "flights": [{"flight_number": "SA7"}]}, MISSING),
    ("update_reservation_flights", {**CHANGE, "flights": 7}, "'int' object is not iterable"),
    (
        "book_reservation",
        booking("SA7", nonfree_baggages="1"),
        "unsupported operand type(s) for +=: 'int' and 'str'",
    ),
    (
        "update_reservation_baggages",
        {"reservation_id": "R1", "total_baggages": 1, "nonfree_baggages": "1", "payment_id": "card"},
        "unsupported operand type(s) for -: 'str' and 'int'",
    ),
    (
        "send_certificate",
        {"user_id": "ana_cho_1", "amount": "many"},
        "1 validation error for Certificate\namount\n  Input should be a valid number, unable to parse string as a "
        "number [type=float_parsing, input_value='many', input_type=str]\n"
        "    For further information visit https://errors.pydantic.dev/2.12/v/float_parsing",
    ),
    ("book_reservation", booking("SA7", payment_methods=[{"payment_id": "cert", "amount": 50}] * 2), "'cert'"),
    ("calculate", {"expression": "price"}, "Invalid characters in expression"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), ERRORS)
def test_errors(name: str, arguments: JsonObject, message: str) -> None:
    fails(name, message, **arguments)


def test_numbers_are_read_where_a_reservation_is_made() -> None:
    state = done("book_reservation", **booking("SA7", total_baggages="2", passengers=[{**ANA, "seat": "1A"}]))
    row = state.at("/reservations/HATHAT")
    assert (row["total_baggages"], row["passengers"]) == (2, [ANA])
    assert done("update_reservation_baggages", reservation_id="R1", total_baggages="2", nonfree_baggages=0,
                payment_id="gift").at("/reservations/R1/total_baggages") == "2"  # fmt: skip
    assert reservation()["nonfree_baggages"] == 1
