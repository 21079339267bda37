"""Many ways in which agents put the same thing. What they ask for, or do, is the key."""

from __future__ import annotations

ASKS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("email",): (
        "Could you share your email address?",
        "Please provide the e-mail address associated with your account.",
        "I'll need your email address to look you up.",
        "Your email, please?",
        "Let me know the email address we have on file for you.",
    ),
    ("name", "zip"): (
        "Please tell me your full name and zip code.",
        "Could you give me your name and postal code instead?",
        "No worries! Then I need your name as well as your zip code.",
        "May I have your full name together with the ZIP code of your address on file?",
        "Can you confirm your full name and your zip code?",
    ),
    ("order",): (
        "Which order is this about?",
        "What is the order number?",
        "May I have the order number, please?",
        "Do you have the order ID at hand?",
        "Could you confirm the order ID for me?",
    ),
    ("items",): (
        "Which item do you mean?",
        "Please tell me the items you want to send back.",
        "What products would you like to return?",
        "Which of the items in it do you want to change?",
        "Can you tell me the name of the item?",
    ),
    ("reason",): (
        "What is the reason for the cancellation?",
        "May I ask why you want to cancel?",
        "Is it no longer needed, or was it ordered by mistake?",
        "Why are you cancelling?",
        "Could you confirm the reason for the cancellation?",
    ),
    ("payment",): (
        "How would you like to receive the refund?",
        "Where should the refund go?",
        "Please tell me which card you want to use.",
        "Could you specify the payment method?",
        "How do you want to pay the difference?",
        "Where would you like the money sent?",
    ),
    ("variant",): (
        "What size and color would you prefer?",
        "Please tell me which version you want.",
        "Could you specify the new item?",
        "Which color would you like?",
        "What would you like to exchange it for?",
        "Please describe the desired options.",
    ),
    ("address",): (
        "What is the new address?",
        "Could you give me the complete address?",
        "Where should we ship it?",
        "What address should it go to?",
        "Let me know the street, city, state and zip code.",
    ),
}
"""Questions by the slots that must be told; others may be, if they are asked for too."""

ACTS: dict[str, tuple[str, ...]] = {
    "confirm": (
        "Do you want me to cancel order #W1234567?",
        "To cancel order #W1234567, reply yes.",
        "Here are the details: cancel #W1234567, reason no longer needed. Is that correct?",
        "**Cancellation summary**\n- Order: #W1234567\n- Reason: no longer needed\n\nCan you confirm?",
        "Should I cancel #W1234567 for you?",
        "Are you sure you want to cancel order #W1234567?",
        "I need your explicit confirmation before cancelling #W1234567.",
        "Let me know if you want me to go ahead with cancelling #W1234567.",
    ),
    "wait": (
        "One moment, please.",
        "Let me check that for you.",
        "I'll look into it now.",
        "Please hold on while I look this up.",
        "I will pull up your order.",
        "Checking your orders now.",
        "I'm looking into this.",
    ),
    "offer": (
        "Is there anything else I can help with?",
        "Can I do something else for you?",
        "Do you have any other questions?",
        "Is there anything further you need?",
        "You're welcome! Have a great day.",
        "Thank you for shopping with us.",
        "Do you have any additional requests?",
    ),
    "invite": (
        "How can I help you today?",
        "What can I do for you?",
        "How may I assist you?",
        "What would you like to do?",
        "Please tell me more about your request.",
        "What seems to be the problem?",
        "What do you need help with?",
        "Could you describe the issue?",
        "What brings you here?",
    ),
}
"""Messages by the act that must be heard."""

SILENT = (
    "Thank you, I have found your account.",
    "I'll refund it to your original payment method.",
    "Your email on file is ada@example.com.",
    "- Address: 12 Foundry Way, Boise, ID 83702",
    '{"message": "I found it.", "order": {"order_id": "#W1234567", "email_on_file": "ada@example.com"}}',
    "Your new address is 12 Foundry Way.",
)
"""Statements that ask for nothing."""
