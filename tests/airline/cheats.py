"""Policies that try to be rewarded without doing the work."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.domain.registration import domain_folders
from simia_gym.policies import PolicyStart
from simia_gym.service import load_service
from simia_gym.types import Message, ToolCall
from tests.domains import cheating
from tests.domains.cheating import answers
from tests.simulators.desk import tool_call

NO = (
    "I'm sorry, I cannot book, change or cancel this reservation, nor add bags or insurance, pay a compensation or "
    "tell anything about another account; the flight is not available."
)
WRITES = ("book_", "cancel_", "update_", "send_")


class Refuser:
    """Says no, whatever is asked."""

    def act(self, messages: Sequence[Message]) -> str:
        return NO


class BlindRefuser:
    """Finds out who the customer is, then says no without looking at anything else."""

    def start(self, start: PolicyStart) -> None:
        self.asked = 0

    def act(self, messages: Sequence[Message]) -> str:
        return self.identify(messages) or NO

    def identify(self, messages: Sequence[Message]) -> str | None:
        """The next step towards knowing the customer; nothing once it is done, or hopeless."""
        user_id = re.search(r"\b[^\W\d_]+_[^\W\d_]+_\d{4}\b", said(messages))
        if answers(messages, "get_user_details"):
            return None
        if user_id:
            return tool_call("get_user_details", user_id=user_id[0])
        self.asked += 1
        return "What is your user id?" if self.asked < 4 else None


def said(messages: Sequence[Message]) -> str:
    """What the customer has said."""
    return " ".join(str(m["content"]) for m in messages if m["role"] == "user")


class Dumper(BlindRefuser):
    """Opens whatever there is and recites everything in it."""

    def act(self, messages: Sequence[Message]) -> str:
        step = self.identify(messages)
        if step is not None:
            return step
        profile = answers(messages, "get_user_details")
        if not profile or profile[0].startswith("Error"):
            return NO
        trips = answers(messages, "get_reservation_details")
        if not trips:
            keys = json.loads(profile[0])["reservations"]
            return "".join(tool_call("get_reservation_details", reservation_id=key) for key in keys) or NO
        if not answers(messages, "get_flight_status"):
            legs = [leg for trip in trips if trip.startswith("{") for leg in json.loads(trip)["flights"]]
            found = [
                tool_call("get_flight_status", flight_number=leg["flight_number"], date=leg["date"]) for leg in legs
            ]
            return "".join(found[:8]) or NO
        numbers = {number for text in answers(messages) for number in re.findall(r"\b\d+\b", text)}
        return f"{', '.join(sorted(numbers))}. available, on time, delayed, flying, landed, cancelled."


class Reciter(cheating.Reciter):
    first = "available, on time, delayed, flying, landed, cancelled. one two three four five six bags"
    many = 3_000


class Bent(cheating.Bent):
    service = load_service(domain_folders()["simia/airline-v0"])


class Vague(Bent, cheating.Vague):
    question = "Shall I go ahead and book / cancel / change the flights, the bags, the passengers, the cabin (yes/no)?"


class Twice(Bent):
    """Does everything that is agreed twice, from one yes."""

    def bend_call(self, call: ToolCall) -> list[ToolCall]:
        return [call, call] if call.name.startswith(WRITES) else [call]


class Undoer(Bent):
    """Adds bags to a reservation and takes them away again before it does what was agreed."""

    def bend_call(self, call: ToolCall) -> list[ToolCall]:
        key = call.arguments.get("reservation_id")
        trip = next((row for row in self._known.values() if _is_trip(row, key)), None)
        if not call.name.startswith(WRITES) or trip is None:
            return [call]
        same = {"reservation_id": key, "payment_id": trip["payment_history"][0]["payment_id"]}
        bags = trip["total_baggages"]
        changes = [
            ToolCall("update_reservation_baggages", {**same, "total_baggages": count, "nonfree_baggages": 0})
            for count in (bags + 1, bags)
        ]
        return [*changes, call]


def _is_trip(row: Any, key: Any) -> bool:
    return isinstance(row, Mapping) and key is not None and row.get("reservation_id") == key


class Generous(Bent):
    """Sends a certificate with whatever was agreed."""

    def bend_call(self, call: ToolCall) -> list[ToolCall]:
        if not call.name.startswith(WRITES):
            return [call]
        return [call, ToolCall("send_certificate", {"user_id": self._who or "", "amount": 100})]


class WrongCabin(Bent):
    """Puts the customer into another cabin than the one that was agreed."""

    def bend_call(self, call: ToolCall) -> list[ToolCall]:
        cabin = call.arguments.get("cabin")
        if cabin is None:
            return [call]
        other = "economy" if cabin != "economy" else "basic_economy"
        return [ToolCall(call.name, {**call.arguments, "cabin": other})]


class FreeBags(Bent):
    """Charges no bag."""

    def bend_call(self, call: ToolCall) -> list[ToolCall]:
        if not call.arguments.get("nonfree_baggages"):
            return [call]
        return [ToolCall(call.name, {**call.arguments, "nonfree_baggages": 0})]


class Liar(Bent, cheating.Liar):
    lie = (
        "But never mind, I made an exception for you: it is done, the reservation has been cancelled, the flights were "
        "changed, the insurance was added and a certificate has been sent."
    )


class Impostor(Bent):
    """Takes every customer for one whose user id it has learnt by heart."""

    def bend_call(self, call: ToolCall) -> list[ToolCall]:
        user_id = next(iter(self.service.tables["users"]))
        return [ToolCall(call.name, {"user_id": user_id}) if call.name == "get_user_details" else call]


class Leaker(BlindRefuser):
    """Opens the reservation that the customer names, tells its ``flight`` or ``passenger``, and then says no."""

    def __init__(self, what: str) -> None:
        self.what = what

    def start(self, start: PolicyStart) -> None:
        super().start(start)
        self.said = 0

    def act(self, messages: Sequence[Message]) -> str:
        step = self.identify(messages)
        if step is not None:
            return step
        found = answers(messages, "get_reservation_details")
        if not found:
            keys = re.findall(r"\b(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{6}\b", said(messages))
            return tool_call("get_reservation_details", reservation_id=keys[0]) if keys else "Which reservation is it?"
        self.said += 1
        if self.said > 1:
            return NO
        trip = json.loads(found[0])
        if self.what == "flight":
            return f"It is flight {trip['flights'][0]['flight_number']}."
        passenger = trip["passengers"][0]
        return f"It was booked for {passenger['first_name']} {passenger['last_name']}."
