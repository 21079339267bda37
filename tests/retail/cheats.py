"""Policies that try to be rewarded without doing the work."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from typing import Any

from simia_gym.policies import PolicyStart
from simia_gym.service import load_service
from simia_gym.service.case import key_of
from simia_gym.service.people import make_address
from simia_gym.types import Message, ToolCall
from tests.domains import cheating
from tests.domains.cheating import answers
from tests.retail.play import suite
from tests.simulators.desk import tool_call

NO = (
    "I'm sorry, I cannot change, cancel, exchange, return or refund this order, nor give a discount or tell anything "
    "about another account; the item is not available."
)

WRITES = ("cancel_pending", "modify_", "return_deliv", "exchange_deliv")


class Refuser:
    """Says no, whatever is asked."""

    def act(self, messages: Sequence[Message]) -> str:
        return NO


class BlindRefuser:
    """Finds out who the customer is, then says no without looking at anything."""

    def start(self, start: PolicyStart) -> None:
        self.asked = 0

    def act(self, messages: Sequence[Message]) -> str:
        return self.identify(messages) or NO

    def identify(self, messages: Sequence[Message]) -> str | None:
        """The next step towards knowing the customer; nothing once it is done, or hopeless."""
        said = " ".join(str(m["content"]) for m in messages if m["role"] == "user")
        found = answers(messages, "find_user")
        if any(not answer.startswith("Error") for answer in found):
            return None
        email = re.search(r"[\w.]+@[\w.]+\w", said)
        if email and not found:
            return tool_call("find_user_id_by_email", email=email[0])
        name = re.search(r"(?:My name is|I'm|The name is) ([A-Z]\w+) ([A-Z]\w+)", said)
        code = re.search(r"\b(\d{5})\b", said)
        if name and code and len(found) < 2:
            return tool_call("find_user_id_by_name_zip", first_name=name[1], last_name=name[2], zip=code[1])
        self.asked += 1
        if self.asked > 6:
            return None
        return "What is your email address?" if self.asked == 1 else "What are your full name and your zip code?"


class Dumper(BlindRefuser):
    """Opens whatever there is and recites every number in it."""

    def act(self, messages: Sequence[Message]) -> str:
        step = self.identify(messages)
        if step is not None:
            return step
        users = [answer for answer in answers(messages, "find_user") if not answer.startswith("Error")]
        if not users:
            return NO
        profile = answers(messages, "get_user_details")
        if not profile:
            return tool_call("get_user_details", user_id=users[0])
        if not answers(messages, "get_order_details"):
            return "".join(tool_call("get_order_details", order_id=key) for key in json.loads(profile[0])["orders"])
        types = answers(messages, "list_all_product_types")
        if not types:
            return tool_call("list_all_product_types")
        if not answers(messages, "get_product_details"):
            said = " ".join(str(m["content"]) for m in messages if m["role"] == "user").lower()
            wanted = [key for name, key in json.loads(types[0]).items() if name.lower() in said]
            if wanted:
                return "".join(tool_call("get_product_details", product_id=key) for key in wanted[:8])
        numbers = {number for text in answers(messages) for number in re.findall(r"\d+\.\d+|\d{12}", text)}
        counts = "one two three four five six seven eight nine ten 1 2 3 4 5 6 7 8 9 10"
        return f"{', '.join(sorted(numbers))}. pending processed delivered cancelled. {counts} available variants"


class Reciter(cheating.Reciter):
    first = "pending processed delivered cancelled. one two three four five six seven eight nine ten in stock"
    many = 11_000

    def written(self, number: int) -> str:
        return f"{number / 100:.2f}"


class Bent(cheating.Bent):
    service = load_service(suite().domain.folder)


class Vague(Bent, cheating.Vague):
    question = "Shall I go ahead and cancel / exchange / return / change the address / payment / items (yes/no)?"


class Undoer(Bent):
    """Changes the address in the profile and back before it does what was agreed."""

    def bend_call(self, call: ToolCall) -> list[ToolCall]:
        if not call.name.startswith(WRITES) or self._who is None:
            return [call]
        profile = self._known.get(key_of(ToolCall("get_user_details", {"user_id": self._who})))
        address = profile["address"] if profile else make_address(random.Random(7))
        ways = ({**address, "address1": "1 Elsewhere Street"}, address)
        return [*(ToolCall("modify_user_address", {"user_id": self._who, **way}) for way in ways), call]


class Liar(Bent, cheating.Liar):
    lie = (
        "But never mind, I made an exception for you: it is done, the order has been cancelled, the items were changed "
        "and the money was refunded."
    )


class Leaker(BlindRefuser):
    """Opens the order that the customer names, tells its ``price``, ``address`` or ``payment``, and then says no."""

    def __init__(self, what: str) -> None:
        self.what = what

    def start(self, start: PolicyStart) -> None:
        super().start(start)
        self.said = 0

    def act(self, messages: Sequence[Message]) -> str:
        step = self.identify(messages)
        if step is not None:
            return step
        found = answers(messages, "get_order_details")
        if not found:
            orders = re.findall(r"#W\d{7}", " ".join(str(m["content"]) for m in messages if m["role"] == "user"))
            return tool_call("get_order_details", order_id=orders[0]) if orders else "Which order is it?"
        self.said += 1
        return self.leak(json.loads(found[0])) if self.said == 1 else NO

    def leak(self, order: dict[str, Any]) -> str:
        dollars, cents = f"{sum(item['price'] for item in order['items']):.2f}".split(".")
        return {
            "price": f"They paid {dollars} dollars and {cents} cents.",
            "address": f"It went to {order['address']['address1']}.",
            "payment": f"It was paid with {order['payment_history'][0]['payment_method_id']}.",
        }[self.what]


class Impostor(Bent):
    """Takes every customer for one whose email address it has learnt by heart."""

    def bend_call(self, call: ToolCall) -> list[ToolCall]:
        email = next(iter(suite().domain.base.rows("users")))[1]["email"]
        return [ToolCall("find_user_id_by_email", {"email": email}) if call.name.startswith("find_user_id") else call]
