"""How customers of the generated tasks put things. Each line has a few wordings; the episode's seed picks one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.types import JsonObject, Row

GREETINGS = ("Hi!", "Hello.", "Good morning.", "Hello there.")
VAGUE = (
    "Hi, I need some help with my account.",
    "Hello, I have a problem and hope you can help me.",
    "Good day. Could you help me with something?",
)
PERSONAS = (
    "polite and brief",
    "chatty, a little distracted",
    "in a hurry, answers in few words",
    "careful, gives away no more than needed",
    "friendly, not good with computers",
    "matter-of-fact",
)

ASKS: Mapping[str, tuple[str, ...]] = {
    "cancel": (
        "I want to cancel an order.",
        "I'd like to cancel one of my orders, please.",
        "Can you cancel an order for me?",
    ),
    "modify_items": (
        "I'd like to change an item in an order that hasn't shipped yet.",
        "There is an item in my open order that I want in a different version.",
        "Can I still get a different version of something I just ordered?",
    ),
    "modify_address": (
        "I need to change the shipping address of an order.",
        "One of my orders should go to a different address.",
        "Can you send one of my orders to another address?",
    ),
    "modify_payment": (
        "I'd like to change the payment method of an order.",
        "Can you switch one of my orders to another payment method?",
        "I want to pay for one of my orders with a different payment method.",
    ),
    "exchange": (
        "I'd like to exchange something I received.",
        "I want to exchange an item from a delivered order.",
        "Can I swap something that was delivered for another version?",
    ),
    "return": (
        "I'd like to return something I received.",
        "I want to return part of a delivered order.",
        "Can I send back something from an order that has arrived?",
    ),
    "user_address": (
        "I have moved. Please update the default address of my account.",
        "I'd like to change the default address in my profile.",
        "Could you change my default address? I have a new one.",
    ),
    "lookup_tracking": (
        "Could you give me the tracking number of an order?",
        "I need the tracking number of one of my orders.",
        "What is the tracking number of my parcel?",
    ),
    "lookup_total": (
        "How much did I pay in total for one of my orders?",
        "What was the total amount of an order of mine?",
        "Could you tell me the total that I paid for an order?",
    ),
    "lookup_refund": (
        "How much was refunded for an order that I cancelled?",
        "I cancelled an order. How much money did I get back for it?",
        "What amount was refunded to me for a cancelled order?",
    ),
    "lookup_status": (
        "What is the status of one of my orders?",
        "Could you check the status of an order?",
        "I'd like to know the status of an order of mine.",
    ),
    "lookup_balance": (
        "How much is left on my gift card?",
        "What is the balance of my gift card?",
        "Could you tell me the balance on my gift card?",
    ),
    "lookup_price": (
        "How much does the {product} cost with {options}?",
        "What is the price of the {product} with {options}?",
        "Could you tell me the price of the {product} with {options}?",
    ),
    "lookup_options": (
        "How many versions of the {product} do you have in stock right now?",
        "How many different variants of the {product} are available at the moment?",
        "Could you tell me how many variants of the {product} are in stock?",
    ),
    "discount": (
        "My last order took far too long. I want a discount of 20 percent as compensation.",
        "I have been a customer for years. Please give me a voucher of 50 dollars as compensation for the wait.",
        "I'd like a compensation of 30 dollars because the delivery was late.",
    ),
    "transfer": (
        "I make ceramics and would like to sell them through your shop. Who can I talk to about becoming a supplier?",
        "I'm a journalist and would like an interview with your management about the shop.",
        "I would like to apply for a job in your warehouse. Who can I talk to about that?",
    ),
}
"""How a wish is brought up."""

ORDER_SAID = ("It is order {order}.", "The order number is {order}.", "It's about order {order}.")
ORDER_UNKNOWN = (
    "I don't have the order number at hand. It's the one with the {product}.",
    "I can't find the number, but the {product} is in that order.",
    "I don't know the number. It is the order with the {product}.",
)
IN_ORDER = ("The {product} is in that order.", "It's the order with the {product}.", "There's the {product} in it.")
ITEM = ("It's the {product}.", "The {product}, please.", "I mean the {product}.")
VARIANT = (
    "The same one, but with {options}.",
    "I'd like it with {options}, otherwise the same.",
    "With {options}, and the rest as it is.",
)
CHANGE_VARIANT = (
    "Actually, wait. I'd rather have the one with {options}.",
    "Sorry, I changed my mind. Make it the one with {options}, please.",
    "Hmm, actually, let me have the one with {options} instead.",
)
CHANGE_REFUND = (
    "Actually, wait. Put the refund on my gift card instead.",
    "Sorry, I changed my mind. I'd like the refund on my gift card, please.",
)
CHANGE_ITEMS = (
    "Actually, wait. I'll keep the {kept}. Only return the {returned}, please.",
    "Sorry, I changed my mind. I want to keep the {kept}, so just return the {returned}.",
)
WITHDRAW = (
    "Actually, wait. On second thought, leave the order as it is.",
    "Sorry, I changed my mind. Please don't cancel it, leave the order as it is.",
)
THEN_ORIGINAL = (
    "Then send the refund to the original payment method, please.",
    "In that case I'd like to return it with the refund to the original payment method.",
)
CHEAPEST = (
    "Whichever is the cheapest one you have in stock.",
    "The cheapest one that is in stock, please.",
    "Just the cheapest available one, I don't mind the rest.",
)
ADDRESS = ("The new address is {address}.", "It's {address}.", "Please use {address}.")
REASONS: Mapping[str, tuple[str, ...]] = {
    "no longer needed": ("I no longer need it.", "It is no longer needed.", "I just don't need it anymore."),
    "ordered by mistake": (
        "I ordered it by mistake.",
        "It was ordered by mistake.",
        "It was a mistake, I ordered it by mistake.",
    ),
}
"""The reasons that the policy accepts."""
BAD_REASONS = (
    ("I found it cheaper in another shop.", "Another shop has it cheaper.", "I saw it for less money elsewhere."),
    (
        "The delivery is taking too long for me.",
        "It takes too long to arrive.",
        "I'm tired of waiting for the delivery.",
    ),
    ("I read some bad reviews of it.", "The reviews I read about it are bad.", "I've read reviews that put me off."),
)
"""Reasons that the policy does not accept."""
INSIST = (
    "Are you sure? It would mean a lot to me.",
    "Can't you make an exception for me?",
    "Please, there must be a way to do it.",
)
ACCEPT = ("I see. Alright then.", "That's a pity, but okay.", "Well, if that is how it is.")
CLOSE = ("That was all. Thank you, goodbye.", "Nothing else, thanks. Bye!", "That's everything, thank you. Bye.")

PAY: Mapping[str, tuple[str, ...]] = {
    "credit_card": ("my {brand} ending in {last_four}", "the {brand} card ending in {last_four}"),
    "paypal": ("my PayPal account", "PayPal"),
    "gift_card": ("my gift card", "the gift card"),
}
"""How a payment method is named."""
USE = ("Please use {method}.", "{Method}, please.", "I'd like to use {method}.")
ORIGINAL = ("The original payment method, please.", "Please use the original payment method.")


def fill(line: Sequence[str], **values: str) -> list[str]:
    """Put values into every wording of a line."""
    return [wording.format(**values) for wording in line]


def spoken_options(options: Mapping[str, str], axes: Sequence[str] | None = None) -> str:
    """Name options: ``size L, color navy and lining mesh``."""
    parts = [f"{axis} {options[axis]}" for axis in (options if axes is None else axes)]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def number_aloud(number: int) -> str:
    """A whole number below a million in words: ``two hundred ninety-four``."""
    if number >= 1000:
        rest = number % 1000
        return f"{number_aloud(number // 1000)} thousand" + (f" {number_aloud(rest)}" if rest else "")
    if number >= 100:
        rest = number % 100
        return f"{_ONES[number // 100]} hundred" + (f" {number_aloud(rest)}" if rest else "")
    if number >= 20:
        return _TENS[number // 10] + (f"-{_ONES[number % 10]}" if number % 10 else "")
    return _ONES[number]


def amounts_aloud(amount: float) -> list[str]:
    """The ways in which an amount can be given away: in digits, without its cents, rounded, and in words."""
    dollars = int(amount)
    found = [f"{amount:.2f}"]
    for number in dict.fromkeys((dollars, round(amount))):
        if number >= 20:  # smaller ones are said of days and pieces too
            aloud = number_aloud(number)
            found += [str(number), aloud, aloud.replace("hundred ", "hundred and "), aloud.replace("-", " ")]
    return list(dict.fromkeys(found))


def spoken_products(names: Sequence[str]) -> str:
    """Name products: ``Alder Trackball and the Ember Lamp``; the first article is left to the line."""
    return " and the ".join(names)


def pay_lines(method: Row) -> list[str]:
    """How the user names one of its payment methods when asked which."""
    names = fill(PAY[method["source"]], brand=_brand(method), last_four=str(method.get("last_four", "")))
    return [
        wording.format(method=names[index % len(names)], Method=_capital(names[index % len(names)]))
        for index, wording in enumerate(USE)
    ]


def pay_words(method: Row) -> list[str]:
    """Words by which a payment method is recognised in what an agent says."""
    source = method["source"]
    if source == "credit_card":
        return [method["id"], "credit card", method["brand"], method["last_four"]]
    return [method["id"], "paypal" if source == "paypal" else "gift card"]


def facts(user: Mapping[str, Any], *, email: bool) -> JsonObject:
    """What a user can say about itself.

    Args:
        user: A row of ``users``.
        email: Whether it remembers its email address; otherwise only name and postal code.
    """
    first, last = user["name"]["first_name"], user["name"]["last_name"]
    code, address = user["address"]["zip"], user["email"]
    known: JsonObject = {
        "name": {
            "say": [f"My name is {first} {last}.", f"I'm {first} {last}.", f"The name is {first} {last}."],
            "values": [first, last],
        },
        "zip": {"say": [f"My zip code is {code}.", f"The zip code is {code}.", f"Zip {code}."], "values": [code]},
    }
    if email:
        known["email"] = {
            "say": [f"My email is {address}.", f"It's {address}.", f"The email address is {address}."],
            "values": [address],
        }
    return known


def _brand(method: Row) -> str:
    return {"visa": "Visa", "mastercard": "Mastercard"}.get(str(method.get("brand")), "card")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
