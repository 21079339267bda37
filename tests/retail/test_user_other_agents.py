"""The expert with other words: what an agent achieves does not depend on how it puts things."""

from __future__ import annotations

import copy

import pytest

from simia_gym.service import Service, ServiceExpert, expert, load_service
from tests.retail.play import Play, fixed, generated, suite

OTHER_WORDS: dict[str, tuple[str, str, str]] = {
    "email": (
        "Hello! Before I look into it, I need to verify your identity.\n\nPlease provide **one** of the following:\n"
        "- the email address of your account, or\n- your first name, last name and ZIP code",
        "Sure thing. What's the email on your account? If you can't recall it, your name and zip will do.",
        "I can help with that! To find your account, could you share your email (or alternatively full name + postal "
        "code)?",
    ),
    "name": (
        "No worries - then I'd need your full name and the zip code on file.",
        "Okay. Kindly share your first name, last name, and ZIP.",
        "Understood. Could you instead confirm your name and your postal code?",
    ),
    "invite": (
        "Great, you're verified! What can I help you with?",
        "Thanks. How may I assist you today?",
        "I have your account open now. What would you like to do?",
    ),
    "order": (
        "Could you give me the **order ID**? It starts with #W.",
        "For which order would you like this? Please share the order number, or describe what's in it.",
        "May I have the order number? If you're not sure, just tell me what you bought.",
    ),
    "items": (
        "Please list the items you mean.",
        "What item(s) is this about?",
        "Could you specify which products this is about?",
    ),
    "variant": (
        "What options (color, size, ...) would you like for the new item?",
        "Please let me know which variant you'd prefer.",
        "Sure - which version do you want in exchange?",
    ),
    "payment": (
        "How would you like to pay or be refunded for the difference?",
        "Please choose a payment method from your account for the price difference.",
        "And which card or account should I use for the difference in price?",
    ),
    "return payment": (
        "Would you like the refund to go to the original payment method or to a gift card?",
        "Where should I send the refund?",
        "Please specify the payment method for your refund.",
    ),
    "modify_payment payment": (
        "Which payment method on your account should I switch it to?",
        "How would you like to pay for it instead?",
        "Could you tell me the payment method you'd like?",
    ),
    "address": (
        "Sure, what's the complete new address (street, city, state, zip, country)?",
        "Please share the address you want it changed to.",
        "Where should it be delivered? I need the full address.",
    ),
    "reason": (
        "Is it that you no longer need it, or was it ordered by mistake? Please tell me the reason.",
        "Why would you like to cancel?",
        "For the cancellation I also need a reason. What is it?",
    ),
    "go": (
        "Please reply **yes** to confirm.",
        "Does everything look right? If so, I'll proceed - just say yes.",
        "Do you want me to go ahead with this?",
    ),
    "else": (
        "Anything else?",
        "Let me know if you need help with anything else!",
        "Do you have any other questions?",
    ),
    "done": (
        "All right, that's completed.",
        "Your request has been processed.",
        "Done!",
    ),
    "sorry": (
        "Thanks for your patience. Unfortunately, {why}",
        "I understand, but {why} I apologize for the inconvenience.",
        "I checked it for you. **Sorry**, {why}",
    ),
}


def service(wording: int) -> Service:
    """The shop's service whose expert has other words."""
    own = load_service(suite().domain.folder)
    slots = dict(own.declared.slots)
    wishes = dict(own.declared.wishes)
    for name, wordings in OTHER_WORDS.items():
        wish, _, slot = name.rpartition(" ")
        words = (wordings[wording],)
        if wish:
            questions = {**wishes[wish].questions, slot: words}
            wishes[wish] = wishes[wish].model_copy(update={"questions": questions})
        elif slot in slots:
            slots[slot] = slots[slot].model_copy(update={"question": words})
    other = copy.copy(own)
    other.declared = own.declared.model_copy(update={"slots": slots, "wishes": wishes})
    vars(other).pop("slots", None)
    return other


@pytest.mark.parametrize("wording", [0, 1, 2])
def test_other_words_reach_the_same(wording: int, monkeypatch: pytest.MonkeyPatch) -> None:
    words = {line: (wordings[wording],) for line, wordings in OTHER_WORDS.items() if line in expert._LINES}
    assert set(words) == set(expert._LINES)
    monkeypatch.setattr(expert, "_LINES", words)
    play = Play(type("Other", (ServiceExpert,), {"service": service(wording)})())
    for seed, task in enumerate([*fixed(), *generated(80)]):
        verdict = play(task, seed)
        assert verdict.success, (task.id, task.kind, [c.reason for c in verdict.criteria if not c.passed])
