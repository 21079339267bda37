"""Where the money of a reservation comes from and goes to, and what has a price. Amounts are whole dollars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from simia_gym.envs._tau2.calls import check_hashable
from simia_gym.envs.airline import error_hints
from simia_gym.envs.airline.people import BAG, INSURANCE
from simia_gym.envs.airline.rows import Payment
from simia_gym.errors import ToolError
from simia_gym.state import Draft
from simia_gym.types import Row


def price_of(reservation: Row) -> int:
    """The price of a reservation: its flights, insurance and charged bags."""
    price: int = fare(reservation)
    price += INSURANCE * len(reservation["passengers"]) if reservation["insurance"] == "yes" else 0
    price += BAG * reservation["nonfree_baggages"]
    return price


def fare(reservation: Row) -> int:
    """The price of a reservation's flights for all its passengers."""
    return sum(int(flight["price"]) for flight in reservation["flights"]) * len(reservation["passengers"])


def pay_booking(db: Draft, user: Row, payments: Sequence[Payment], due: int, tau2: bool) -> None:
    """Pay a new reservation: gift cards lose what they pay, certificates are used up.

    With ``tau2``, a payment method that is named twice is checked against each payment alone, and payments may be
    negative, as in the public benchmark's code.

    Raises:
        ToolError: A payment method is missing or has too little, or the payments are not the price.
    """
    taken = Counter[str]()
    for payment in payments:
        method = user["payment_methods"].get(payment.payment_id)
        if method is None:
            raise ToolError(f"Payment method {payment.payment_id} not found", "not_found", error_hints.METHOD)
        if payment.amount < 1 and not tau2:
            message = f"Payment amount of {payment.payment_id} is {payment.amount}"
            raise ToolError(message, "invalid_amount", error_hints.POSITIVE)
        taken[payment.payment_id] = payment.amount + (0 if tau2 else taken[payment.payment_id])
        if method["source"] != "credit_card" and method["amount"] < taken[payment.payment_id]:
            message = f"Not enough balance in payment method {payment.payment_id}"
            raise ToolError(message, "insufficient_balance", error_hints.BALANCE)
    paid = sum(payment.amount for payment in payments)
    if paid != due:
        message = f"Payment amount does not add up, total price is {due}, but paid {paid}"
        raise ToolError(message, "wrong_total", error_hints.TOTAL)
    methods = db.edit("users", user["user_id"])["payment_methods"]
    for payment in payments:
        key, source = payment.payment_id, user["payment_methods"][payment.payment_id]["source"]
        if source == "gift_card":
            methods[key]["amount"] -= payment.amount
        elif source == "certificate" and (tau2 or key in methods):
            del methods[key]


def pay_change(db: Draft, user: Row, payment_id: object, due: int) -> list[Row]:
    """Charge a change of a reservation to one payment method, or refund a negative amount to it.

    Returns:
        The new entries of the payment history: one, or none if nothing is due.

    Raises:
        ToolError: The payment method is missing, a certificate, or has too little.
    """
    check_hashable(payment_id)
    method = user["payment_methods"].get(payment_id)
    if method is None:
        raise ToolError("Payment method not found", "not_found", error_hints.METHOD)
    if method["source"] == "certificate":
        message = "Certificate cannot be used to update reservation"
        raise ToolError(message, "certificate_not_accepted", error_hints.CERTIFICATE)
    if method["source"] == "gift_card":
        if method["amount"] < due:
            raise ToolError("Gift card balance is not enough", "insufficient_balance", error_hints.BALANCE)
        db.edit("users", user["user_id"])["payment_methods"][payment_id]["amount"] -= due
    return [Payment(payment_id=str(payment_id), amount=due).model_dump()] if due != 0 else []
