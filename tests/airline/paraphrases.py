"""Many ways in which agents of an airline put the same question."""

from __future__ import annotations

ASKS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("user_id",): (
        "Could you share your user id?",
        "May I have your user ID, please?",
        "I'll need your customer number to look you up.",
        "Please give me your user id so that I can open your profile.",
    ),
    ("reservation",): (
        "Which reservation is this about?",
        "Could you please provide your reservation ID?",
        "Could you share the confirmation number of your booking?",
        "Which of your trips do you mean?",
        "What is the booking number?",
    ),
    ("reason",): (
        "What is the reason for the cancellation?",
        "May I ask why you want to cancel?",
        "Could you tell me the reason? For example a change of plans, your health, or the weather.",
        "Is it because of a change of plans, a cancelled flight, or something else?",
        "Why are you cancelling?",
    ),
    ("date",): (
        "What new date would you like to travel on?",
        "On which day would you like to fly?",
        "When would you like to travel instead?",
        "Please tell me your preferred date.",
    ),
    ("trip_type",): (
        "Is this a one-way or a round trip?",
        "Will you need a return flight as well?",
        "What type of trip would you like?",
    ),
    ("stops",): (
        "Would you prefer a direct flight or a connection?",
        "Is a layover okay for you?",
        "Do you want to fly nonstop?",
    ),
    ("part",): (
        "Do you want to change the outbound or the return flight?",
        "Which leg of the trip would you like to change?",
        "Should I change the way out, the way back, or both?",
    ),
    ("flight",): (
        "Which flight would you prefer?",
        "I found SA345 at 9:05 am and SA346 at 11:12 am. Which one would you like?",
        "Do you have a preferred departure time?",
        "Which of these options works best for you?",
        "Please tell me the number of the new flight.",
    ),
    ("cabin",): (
        "Which cabin would you like?",
        "Would you like basic economy, economy, or business?",
        "What class of service do you want?",
        "Please tell me the desired cabin.",
    ),
    ("payment",): (
        "How would you like to pay the difference?",
        "Which payment method would you like to use for the price difference?",
        "Should I use your credit card or your gift card?",
        "Please tell me which card you want to use.",
        "Where should the refund go?",
    ),
    ("passengers",): (
        "Who is going to fly?",
        "Could you give me the names and dates of birth of all passengers?",
        "How many people are travelling?",
    ),
    ("bags",): (
        "How many checked bags do you need?",
        "Will you bring any luggage?",
        "Please tell me the number of checked bags.",
    ),
    ("insurance",): (
        "Would you like to add travel insurance?",
        "Do you want insurance for 30 dollars per passenger?",
        "Shall it be with or without insurance?",
    ),
    ("route",): (
        "From where to where would you like to fly?",
        "What are your origin and destination?",
        "Which cities do you want to fly between?",
    ),
}
"""Questions by the slots that must be told; others may be, if they are asked for too."""

SILENT = (
    "Thank you, I have found your profile.",
    "The refund goes to the original payment method within 5 to 7 business days.",
    "Your reservation DZZLM6 goes from Boston to Denver.",
    "- Flight: SA345, May 20, 9:05 am",
    '{"message": "I found it.", "reservation": {"reservation_id": "DZZLM6", "cabin": "economy"}}',
    "Your flight SA345 on May 20 is in economy.",
)
"""Statements that ask for nothing."""
