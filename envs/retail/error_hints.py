"""Explanations of the tools' errors: the rule or fact behind an error, and what to do instead.

They are shown with ``feedback="explain"``. They reveal nothing about a customer's profile, since the order may belong
to somebody else.
"""

from __future__ import annotations

from simia_gym.types import Row

ABSENT = {
    "users": "No customer has this id. It looks like 'alba_duarte_1234'; find_user_id_by_email gives it.",
    "orders": "No order has this id. It begins with '#', such as '#W1234567'; get_user_details lists a customer's.",
    "products": "No product has this id. list_all_product_types gives product ids; an item id is not a product id.",
}
EMAIL = "No account has this email address. Ask for it again, or for first name, last name and zip code."
NAME_ZIP = (
    "No account has this first name, last name and zip code together. The zip code is that of the default address; ask "
    "again, or for the email address."
)
ITEM = "No product has a variant with this item id. get_product_details lists item ids; a product id is not one."
REASON = "The reason is either 'no longer needed' or 'ordered by mistake', whichever the customer gave."
METHOD = "A payment method must be one of the customer's profile; get_user_details lists the ids under payment_methods."
ONE_PAYMENT = (
    "The payment of an order can be changed once: as long as its payment_history is exactly one payment. This one has "
    "been changed before."
)
SAME_METHOD = "The order is paid with it already. Choose another payment method of the customer's profile."
BALANCE = (
    "A gift card must cover the whole amount with its balance, which get_user_details shows. Choose another payment "
    "method, or leave things as they are."
)
REFUND = "A refund goes to the payment method that the order was first paid with, or to a gift card of the customer."
NO_ITEMS = "At least one item must be named; get_order_details lists the item ids of the order."
LINES = (
    "The order does not hold this item as often as it was given; get_order_details lists its item ids. An id is given "
    "as often as there are pieces of it to go."
)
NOTHING_TO_SWAP = "At least one item must be named, with the item that is to take its place."
SAME_ITEM = "An item cannot be swapped for itself: new_item_ids names other variants of the same products."
STOCK = "The variant is out of stock; get_product_details shows which variants are available."
VARIANT = (
    "A new item must be a variant of the same product as the item whose place it takes, and that product has no such "
    "variant; get_product_details lists the variants."
)


def status(order: Row, needed: str, what: str) -> str:
    """Explain that an order has the wrong status."""
    return f"The order's status is {order['status']!r}, and only orders whose status is {needed!r} can be {what}."


def lengths(items: int, new_items: int) -> str:
    """Explain that two lists must be of one length."""
    return f"item_ids has {items} and new_item_ids {new_items}: every item needs one new item, at the same position."
