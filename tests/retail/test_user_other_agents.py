"""The expert with other words: what an agent achieves does not depend on how it puts things."""

from __future__ import annotations

import pytest

from simia_gym.envs.retail import expert_talk
from tests.retail.play import Play, fixed, generated

OTHER_WORDS: dict[str, tuple[str, str, str]] = {
    "identify": (
        "Hello! Before I look into it, I need to verify your identity.\n\nPlease provide **one** of the following:\n"
        "- the email address of your account, or\n- your first name, last name and ZIP code",
        "Sure thing. What's the email on your account? If you can't recall it, your name and zip will do.",
        "I can help with that! To find your account, could you share your email (or alternatively full name + postal "
        "code)?",
    ),
    "identify_otherwise": (
        "No worries - then I'd need your full name and the zip code on file.",
        "Okay. Kindly share your first name, last name, and ZIP.",
        "Understood. Could you instead confirm your name and your postal code?",
    ),
    "email_unknown": (
        "Hmm, I can't find that email. What's your full name and zip code?",
        "Unfortunately no account matches this address. Please provide your first and last name and your ZIP code.",
        "I was not able to locate an account with it. May I have your name and your zip code?",
    ),
    "invite": (
        "Great, {first}, you're verified! What can I help you with?",
        "Thanks {first}. How may I assist you today?",
        "I have your account open now, {first}. What would you like to do?",
    ),
    "ask_order": (
        "Could you give me the **order ID**? It starts with #W.",
        "For which order would you like this? Please share the order number, or describe what's in it.",
        "May I have the order number? If you're not sure, just tell me what you bought.",
    ),
    "ask_item": (
        "Please list the items you want to {verb}.",
        "What item(s) would you like to {verb}?",
        "Could you specify which products this is about?",
    ),
    "ask_variant": (
        "What options (color, size, ...) would you like for the new item?",
        "Please let me know which variant you'd prefer.",
        "Sure - which version do you want in exchange?",
    ),
    "ask_payment": (
        "How would you like to pay or be refunded for the difference?",
        "Please choose a payment method from your account for the price difference.",
        "And which card or account should I use for the difference in price?",
    ),
    "ask_refund": (
        "Would you like the refund to go to the original payment method or to a gift card?",
        "Where should I send the refund?",
        "Please specify the payment method for your refund.",
    ),
    "ask_new_payment": (
        "Which payment method on your account should I switch it to?",
        "How would you like to pay for it instead?",
        "Could you tell me the payment method you'd like?",
    ),
    "ask_address": (
        "Sure, what's the complete new address (street, city, state, zip, country)?",
        "Please share the address you want it changed to.",
        "Where should it be delivered? I need the full address.",
    ),
    "ask_reason": (
        "Is it that you no longer need it, or was it ordered by mistake? Please tell me the reason.",
        "Why would you like to cancel?",
        "For the cancellation I also need a reason. What is it?",
    ),
    "go": (
        "Please reply **yes** to confirm.",
        "Does everything look right? If so, I'll proceed - just say yes.",
        "Do you want me to go ahead with this?",
    ),
    "once": (
        "Note: this can't be undone, and you will not be able to change the order again.",
        "Please keep in mind that after this, no further changes to the order are possible.",
        "Once submitted, I won't be able to modify this again.",
    ),
    "else": (
        "Anything else?",
        "Let me know if you need help with anything else!",
        "Do you have any other questions?",
    ),
    "sorry": (
        "Thanks for your patience. Unfortunately, {why}",
        "I understand, but {why} I apologize for the inconvenience.",
        "I checked it for you. **Sorry**, {why}",
    ),
    "sorry_again": (
        "I hear you. Unfortunately, {why}",
        "My answer has to stay the same: {why}",
        "I do apologize, but there's nothing I can do: {why}",
    ),
}


@pytest.mark.parametrize("wording", [0, 1, 2])
def test_other_words_reach_the_same(wording: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(OTHER_WORDS) == set(expert_talk.LINES)
    words = {line: (wordings[wording],) for line, wordings in OTHER_WORDS.items()}
    monkeypatch.setattr(expert_talk, "LINES", words)
    play = Play("expert")
    for seed, task in enumerate([*fixed(), *generated(80)]):
        verdict = play(task, seed)
        assert verdict.success, (task.id, task.kind, [c.reason for c in verdict.criteria if not c.passed])
