"""Explanations of the tools' errors: the rule or fact behind an error, and what to do instead.

They are shown with ``feedback="explain"``. They reveal nothing about a customer's profile, since the reservation may
belong to somebody else.
"""

from __future__ import annotations

ABSENT = {
    "users": "No customer has this id. It looks like 'alba_duarte_1234'; only the customer can tell it.",
    "reservations": "No reservation has this id. It is six letters or digits; get_user_details lists a customer's.",
    "flights": "No flight has this number. search_direct_flight and search_onestop_flight show flight numbers.",
}
NOT_THAT_DAY = "The flight is not in the timetable on this date. A date is written YYYY-MM-DD; search it for the date."
NOT_AVAILABLE = (
    "Seats are sold only on flights whose status is 'available' on the date; get_flight_status shows it. Search for "
    "another flight or date."
)
SEATS = (
    "Every passenger needs a seat in this cabin. The available_seats of a search show how many are left; choose "
    "another flight, date or cabin."
)
METHOD = "A payment method must be one of the customer's profile; get_user_details lists the ids under payment_methods."
BALANCE = (
    "A gift card or certificate pays at most its amount, which get_user_details shows. Let another payment method pay "
    "the rest, or all of it."
)
CERTIFICATE = "Changes of a reservation are paid or refunded with a credit card or gift card of the customer's profile."
TOTAL = (
    "The payments must sum up to the price: the cabin's price of every flight for every passenger, 30 dollars a "
    "passenger for insurance, and 50 dollars for every bag that is not free."
)
POSITIVE = "A payment takes at least one dollar from its payment method. Leave out what pays nothing."
PASSENGERS = "A reservation keeps its number of passengers; name exactly as many as get_reservation_details shows."
BAGS = "The bags that are charged are among all bags: nonfree_baggages is at most total_baggages."
CANCELLED = "The reservation is cancelled and its payments are reversed, so nothing about it can change any more."
LIMIT = "Only so many can be made in one conversation. Transfer the customer if more are needed."
