"""How the expert puts things: every line in a few wordings, of which seed and place pick one."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

LINES: Mapping[str, tuple[str, ...]] = {
    "identify": (
        "I'd be glad to help. May I have the email address of your account, please? If you don't remember it, please "
        "give me your full name and zip code.",
        "Of course. First I need to verify who you are: could you tell me your email address, or your name and zip "
        "code?",
        "Happy to help with that. Please tell me the email address of your account, or else your first and last name "
        "together with your zip code.",
    ),
    "identify_otherwise": (
        "No problem. Could you give me your first and last name and your zip code instead?",
        "That's fine. Then please tell me your full name and your zip code.",
        "Then let us do it another way: what is your name, and what is your zip code?",
    ),
    "email_unknown": (
        "I don't see an account with that email address. Could you tell me your full name and your zip code instead?",
        "There is no account under that email address. What are your name and your zip code, please?",
        "That email address gives no result. Please tell me your first and last name and your zip code.",
    ),
    "invite": (
        "Thank you, {first}, I have found your account. How can I help you today?",
        "Thanks, {first}. You are verified. What can I do for you?",
        "Thank you, {first}. What would you like me to do?",
    ),
    "ask_order": (
        "Which order is this about? If you don't have the order number, tell me what is in the order.",
        "Could you tell me the order number? If you don't have it, a product in the order is enough.",
        "What is the number of the order? If it is not at hand, just describe the order.",
    ),
    "ask_item": (
        "Which item do you mean? Please name all of them, because this can be done only once per order.",
        "Which items are we talking about? Please list every one of them, since it works only once per order.",
        "What item would you like to {verb}? Please think of all of them, as there is only one chance per order.",
    ),
    "ask_variant": (
        "Which version would you like instead?",
        "What options should the new item have?",
        "Which variant would you like to have instead of it?",
    ),
    "ask_payment": (
        "Which payment method should be used for the price difference?",
        "Which payment method would you like to use for any difference in price?",
        "And what payment method shall I use for the price difference?",
    ),
    "ask_refund": (
        "Where should the refund go? It can be sent to the original payment method or to a gift card of yours.",
        "Which payment method should get the refund: the original one, or a gift card?",
        "How would you like to receive the refund, on the original payment method or on a gift card?",
    ),
    "ask_new_payment": (
        "Which payment method would you like to use for the order?",
        "What payment method should the order be paid with?",
        "Please tell me which payment method you would like instead.",
    ),
    "ask_address": (
        "What is the new address, please? I need street, city, state, zip code and country.",
        "Could you tell me the complete new address?",
        "Please give me the full address, with city, state and zip code.",
    ),
    "ask_reason": (
        "What is the reason for the cancellation?",
        "May I ask why you would like to cancel it?",
        "Could you tell me the reason why you want to cancel the order?",
    ),
    "go": (
        "Shall I go ahead (yes/no)?",
        "Do you confirm that I should do this (yes/no)?",
        "Is that correct, and may I proceed? Please answer yes or no.",
    ),
    "once": (
        "Please note that this is possible only once per order, so check that nothing is missing.",
        "This works only once for an order, so please make sure that it covers everything.",
        "Since there is only one such change per order, please check that it is complete.",
    ),
    "else": (
        "Is there anything else I can do for you?",
        "Can I help you with anything else?",
        "Is there something else you need?",
    ),
    "sorry": ("I'm sorry, but {why}", "I'm afraid that {why}", "I have to disappoint you: {why}"),
    "sorry_again": (
        "I understand that this is disappointing, but I have to stay with my answer: {why}",
        "I'm sorry, I can make no exception here: {why}",
        "I wish I could do more for you, but {why}",
    ),
}
"""The lines, by name."""


class Voice:
    """Picks wordings.

    Args:
        seed: The episode's seed.
        place: Something that differs between episodes of one seed, such as the first message.
    """

    def __init__(self, seed: int, place: str) -> None:
        self._key = f"{seed}:{place}"

    def say(self, line: str, **values: Any) -> str:
        """One wording of a line, filled in."""
        wordings = LINES[line]
        return wordings[zlib.crc32(f"{self._key}:{line}".encode()) % len(wordings)].format(**values)


def dollars(amount: float) -> str:
    """An amount of money."""
    return f"${amount:.2f}"


def method_name(method: Mapping[str, Any]) -> str:
    """A payment method as customers know it."""
    if method["source"] == "credit_card":
        brand = {"visa": "Visa", "mastercard": "Mastercard"}.get(str(method["brand"]), "credit card")
        return f"{brand} ending in {method['last_four']}"
    return "PayPal account" if method["source"] == "paypal" else "gift card"


def options_text(options: Mapping[str, str]) -> str:
    """Options in a line."""
    return ", ".join(f"{axis}: {value}" for axis, value in options.items())


def when_refunded(method: Mapping[str, Any]) -> str:
    """How long a refund takes."""
    return "at once" if method["source"] == "gift_card" else "within 5 to 7 business days"
