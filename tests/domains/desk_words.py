"""Ways in which agents put it at the lending desk that `simia new-domain --kind service` writes."""

from __future__ import annotations

ASKS = {
    ("card",): (
        "Could you tell me the number of your library card?",
        "Please give me your card number.",
        "I'll need the number that is on your card.",
    ),
    ("first_name", "last_name", "postcode"): (
        "What are your full name and postcode?",
        "No problem. Could I have your full name and your post code?",
        "Then please tell me your name and your zip code: I need your full name.",
    ),
    ("book",): ("Which book would you like?", "What is the title of the book?", "Could you tell me which title it is?"),
    ("loan",): ("Which loan is it?", "What is the loan number?", "Could you give me the loan ID?"),
    ("weeks",): ("For how long would you like it?", "Two or four weeks?", "How many weeks do you need it?"),
}
SILENT = (
    "Thank you, I have found your account.",
    "The book is on the shelf.",
    "Your card number is 00000101.",
    '{"message": "I found it.", "title": "Harbour Lights"}',
)
