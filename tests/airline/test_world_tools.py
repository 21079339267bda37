"""What each tool of the airline does, by default."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simia_gym.envs.airline.world import AirlineWorld
from simia_gym.state import State
from simia_gym.types import JsonObject, Transition

from ..tau2.tools import Tools, after
from .small import ANA, BEN, DAY, NEXT, airline, booking, legs, reservation

STATE = airline()
TOOLS = Tools(AirlineWorld(), STATE)
call, fails = TOOLS.call, TOOLS.fails


def row_of(transition: Transition, key: str = "R1") -> JsonObject:
    """The reservation after a call, which is also what the call showed."""
    shown: JsonObject = json.loads(transition.observation)
    assert after(transition).get("reservations", key) == shown
    return shown


def seats(state: State, *numbers: str, cabin: str = "economy") -> list[int]:
    return [state.at(f"/departures/{number}@{DAY}/available_seats/{cabin}") for number in numbers]


def numbers(transition: Transition) -> list[Any]:
    found = json.loads(transition.observation)
    return [
        [one["flight_number"] for one in each] if isinstance(each, list) else each["flight_number"] for each in found
    ]


def test_looking_up() -> None:
    assert json.loads(call("get_user_details", user_id="ana_cho_1").observation)["reservations"] == ["R1"]
    assert json.loads(call("get_reservation_details", reservation_id="R1").observation) == reservation()
    assert json.loads(call("list_all_airports").observation) == [{"iata": "BOS", "city": "Boston"}]
    assert call("get_flight_status", flight_number="SA1", date=DAY).observation == "available"
    fails("get_user_details", "User bob not found", user_id="bob")
    fails("get_reservation_details", "Reservation R2 not found", reservation_id="R2")
    fails("get_flight_status", "Flight SA8 not found", flight_number="SA8", date=DAY)
    fails("get_flight_status", "Flight SA1 not found on date 2024-05-01", flight_number="SA1", date="2024-05-01")


def test_searching() -> None:
    route = {"origin": "BOS", "destination": "SEA"}
    (found,) = json.loads(call("search_direct_flight", **route, date=DAY).observation)
    assert (found["flight_number"], found["date"], found["prices"]["business"]) == ("SA7", None, 300)
    full = airline(SA7="delayed", SA1="cancelled")
    assert numbers(call("search_direct_flight", full, **route, date=DAY)) == []
    assert numbers(call("search_direct_flight", **route, date="someday")) == []
    # SA3 departs before SA1 arrives; SA4 arrives on the first day of the next month, when SA5 departs.
    pairs = call("search_onestop_flight", **route, date=DAY)
    assert numbers(pairs) == [["SA1", "SA2"], ["SA4", "SA5"]]
    assert [[one["date"] for one in pair] for pair in json.loads(pairs.observation)] == [[DAY, DAY], [DAY, NEXT]]
    assert numbers(call("search_onestop_flight", full, **route, date=DAY)) == [["SA4", "SA5"]]


def test_booking_takes_seats_and_money() -> None:
    payments = [
        {"payment_id": name, "amount": amount} for name, amount in (("gift", 100), ("cert", 150), ("card", 310))
    ]
    more = {"passengers": [ANA, BEN], "total_baggages": 2, "nonfree_baggages": 2, "insurance": "yes"}
    done = call("book_reservation", **booking("SA1", "SA2", **more, payment_methods=payments))
    row = row_of(done, "HATHAT")
    assert [(leg["origin"], leg["price"]) for leg in row["flights"]] == [("BOS", 100), ("ORD", 100)]
    assert (row["created_at"], row["payment_history"], row["status"]) == ("2024-05-15T15:00:00", payments, None)
    state = after(done)
    assert seats(state, "SA1", "SA2", "SA7") == [2, 2, 4]
    user: JsonObject = state.get("users", "ana_cho_1") or {}
    assert user["reservations"] == ["R1", "HATHAT"]
    assert {key: method.get("amount") for key, method in user["payment_methods"].items()} == {"card": None, "gift": 50}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"user_id": "bob"}, "User bob not found"),
        ({"flights": legs("SA8")}, "Flight SA8 not found"),
        ({"flights": legs("SA7", date="2024-05-01")}, "Flight SA7 not found on date 2024-05-01"),
        ({"flights": legs("SA3")}, f"Flight SA3 not available on date {DAY}"),
        ({"cabin": "basic_economy", "passengers": [ANA, BEN]}, "Not enough seats on flight SA7"),
        ({"payment_methods": [{"payment_id": "x", "amount": 100}]}, "Payment method x not found"),
        ({"payment_methods": [{"payment_id": "gift", "amount": 151}]}, "Not enough balance in payment method gift"),
        ({"payment_methods": [{"payment_id": "gift", "amount": 80}] * 2}, "Not enough balance in payment method gift"),
        ({"payment_methods": [{"payment_id": "gift", "amount": -5}]}, "Payment amount of gift is -5"),
        (
            {"payment_methods": [{"payment_id": "card", "amount": 99}]},
            "Payment amount does not add up, total price is 100, but paid 99",
        ),
        ({"nonfree_baggages": 1}, "1 of 0 bags cannot be charged"),
    ],
)
def test_booking_fails(changes: JsonObject, message: str) -> None:
    fails("book_reservation", message, airline(SA3="flying"), **{**booking("SA7"), **changes})


PRICED = [{**legs("SA7")[0], "price": 1}]


@pytest.mark.parametrize("changes", [{"flights": []}, {"flights": legs("SA7", "SA7")}, {"flights": PRICED}])
def test_bookings_that_are_none(changes: JsonObject) -> None:
    assert call("book_reservation", **{**booking("SA7"), **changes}).error_code == "invalid_arguments"


def test_as_many_bookings_and_certificates_as_there_are_ids() -> None:
    state, done = STATE, []
    for _ in range(3):
        state = after(call("book_reservation", state, **booking("SA7")))
        answer = call("send_certificate", state, user_id="ana_cho_1", amount=100)
        done.append(answer.observation)
        state = after(answer)
    assert done[0] == "Certificate certificate_3221322 added to user ana_cho_1 with amount 100."
    assert state.at("/users/ana_cho_1/payment_methods/certificate_3221324/amount") == 100
    fails("book_reservation", "Too many reservations", state, **booking("SA7"))
    fails("send_certificate", "Too many certificates", state, user_id="ana_cho_1", amount=100)
    assert call("send_certificate", user_id="ana_cho_1", amount=0).error_code == "invalid_arguments"


def test_cancelling_reverses_payments_and_frees_seats_once() -> None:
    done = call("cancel_reservation", airline(SA2="landed"), reservation_id="R1")
    row, state = row_of(done), after(done)
    assert (row["status"], [line["amount"] for line in row["payment_history"]]) == ("cancelled", [510, -510])
    assert (seats(state, "SA1"), "available_seats" in state.at(f"/departures/SA2@{DAY}")) == ([6], False)
    later: dict[str, JsonObject] = {
        "cancel_reservation": {},
        "update_reservation_flights": {"cabin": "economy", "flights": legs("SA7"), "payment_id": "card"},
        "update_reservation_baggages": {"total_baggages": 4, "nonfree_baggages": 1, "payment_id": "card"},
        "update_reservation_passengers": {"passengers": [BEN, ANA]},
    }
    for name, arguments in later.items():
        fails(name, "Reservation R1 is cancelled", state, reservation_id="R1", **arguments)


def flights(cabin: str, *numbers: str, payment: str = "card", state: State = STATE) -> Transition:
    arguments = {"reservation_id": "R1", "cabin": cabin, "flights": legs(*numbers), "payment_id": payment}
    return call("update_reservation_flights", state, **arguments)


def test_a_flight_that_stays_keeps_its_price() -> None:
    dearer = STATE.apply(
        [{"op": "replace", "path": f"/departures/{one}@{DAY}/prices/economy", "value": 160} for one in ("SA1", "SA3")]
    )
    done = flights("economy", "SA1", "SA3", state=dearer)
    row = row_of(done)
    assert [leg["price"] for leg in row["flights"]] == [100, 160]
    assert row["payment_history"][1:] == [{"payment_id": "card", "amount": 120}]
    assert seats(after(done), "SA1", "SA2", "SA3") == [4, 6, 2]
    assert row_of(flights("economy", "SA1", "SA2", state=dearer)) == reservation()


def test_another_cabin_is_charged_or_refunded() -> None:
    done = flights("business", "SA1", "SA2")
    row = row_of(done)
    assert (row["cabin"], row["payment_history"][1:]) == ("business", [{"payment_id": "card", "amount": 800}])
    assert [seats(after(done), "SA1", cabin=cabin) for cabin in ("economy", "business")] == [[6], [2]]
    back = flights("economy", "SA7", payment="gift", state=after(done))
    assert row_of(back)["payment_history"][2:] == [{"payment_id": "gift", "amount": -1000}]
    assert after(back).at("/users/ana_cho_1/payment_methods/gift/amount") == 1150


@pytest.mark.parametrize(
    ("payment", "cabin", "message"),
    [
        ("x", "business", "Payment method not found"),
        ("cert", "business", "Certificate cannot be used to update reservation"),
        ("gift", "business", "Gift card balance is not enough"),
        ("card", "basic_economy", "Not enough seats on flight SA1"),
    ],
)
def test_changing_flights_fails(payment: str, cabin: str, message: str) -> None:
    assert flights(cabin, "SA1", "SA2", payment=payment).observation == f"Error: {message}"


def test_bags_and_passengers() -> None:
    bags = {"reservation_id": "R1", "payment_id": "gift"}
    done = call("update_reservation_baggages", **bags, total_baggages=5, nonfree_baggages=3)
    assert row_of(done)["payment_history"][1:] == [{"payment_id": "gift", "amount": 100}]
    free = row_of(call("update_reservation_baggages", **bags, total_baggages=5, nonfree_baggages=1))
    assert free == reservation(total_baggages=5)
    fails("update_reservation_baggages", "3 of 2 bags cannot be charged", **bags, total_baggages=2, nonfree_baggages=3)
    people = {"reservation_id": "R1", "passengers": [BEN, ANA]}
    assert row_of(call("update_reservation_passengers", **people))["passengers"] == [BEN, ANA]
    message = "Number of passengers does not match"
    fails("update_reservation_passengers", message, reservation_id="R1", passengers=[ANA])


def test_calculating_and_handing_over() -> None:
    assert call("calculate", expression="(100 + 30) * 2").observation == "260.0"
    fails("calculate", "division by zero", expression="1 / 0")
    assert call("transfer_to_human_agents", summary="A pet.").end == "terminal_tool"
