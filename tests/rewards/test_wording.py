from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia_gym.language.consent import consents
from simia_gym.language.refusal import refusal_in
from simia_gym.language.wording import Reading, contains_plainly, wanted

from ..work import processor_limit

SAID = [
    ("12.50", "Your refund is $12.50.", True),
    ("12.50", "You get 12.5 back", True),
    ("12.5", "That makes $12.50, thank you", True),
    ("$12.50", "That makes 12.50 dollars", True),
    ("1234.5", "It was $1,234.50 in total.", True),
    ("1,234.50", "It was 1234.5 in total.", True),
    ("12.50", "**$12.50**", True),
    ("12.50", "Total:$12.50", True),
    ("12.50", "difference: -$12.50 (a refund)", True),
    ("-12.50", "difference: -$12.50", True),
    ("-12.50", "difference: $12.50", False),
    ("10", "See order #W1002", False),
    ("10", "We have 210 of them", False),
    ("10", "We have 10.5 of them", False),
    ("10", "We have 10.", True),
    ("10", "We have 10, maybe more", True),
    ("10", "It takes 10-12 days", True),
    ("12", "It takes 10-12 days", True),
    ("10", "It takes 10–12 days", True),
    ("5", "on 2024-05-15", False),
    ("2024-05-15", "on 2024-05-15.", True),
    ("2024-05-15", "on 2024-05-151", False),
    ("10", "at 10:30 today", False),
    ("555", "call 555-123-4567", False),
    ("42", "this is item-42", False),
    ("10", "10% off", True),
    ("10%", "10 percent off", True),
    ("10%", "10 off", False),
    ("3", "version 3.1.4", False),
    ("02139", "your zip is 02139", True),
    ("2139", "your zip is 02139", True),
    ("0150", "your zip is 150", False),
    ("200", "prices: 100,200 and 300", False),
    ("tactile", "It has Tactile switches", True),
    ("red", "It was delivered", False),
    ("red shoe", "a  RED\nshoe", True),
    ("isn't open", "It isn’t open", True),
    ("#W1002", "order #W1002 is", True),
    ("#W1002", "order #W10023 is", False),
    ("W1002", "order #W1002 is", True),
    ("card_1", "card_1 it is", True),
    ("card_1", "card_12 it is", False),
    ("card_1", "credit_card_1 it is", False),
    ("C++", "we teach C++ here", True),
    ("10", "", False),
]


@pytest.mark.parametrize(("want", "text", "expected"), SAID)
def test_wanted(want: str, text: str, expected: bool) -> None:
    assert wanted(want).stands_in(Reading(text)) is expected


@given(
    st.integers(0, 10**9).map(lambda n: n / 100),
    st.sampled_from(["{:.2f}", "${:.2f}", "{:,.2f}", "${:,.2f}", "**${:,.2f}**", "({:.2f})", "{:.2f}."]),
)
def test_a_number_is_found_however_it_is_written(value: float, layout: str) -> None:
    reading = Reading(f"Your total is {layout.format(value)} today")
    assert wanted(f"{value:.2f}").stands_in(reading)
    assert wanted(f"${value:,.2f}").stands_in(reading)
    assert not wanted(f"{value + 1:.2f}").stands_in(reading)


@given(st.text(max_size=60), st.text(min_size=1, max_size=10))
def test_any_text_can_be_looked_for_in_any(text: str, want: str) -> None:
    assert isinstance(wanted(want).stands_in(Reading(text)), bool)
    refusal_in(text)
    consents(text)


@pytest.mark.parametrize(
    ("want", "text", "expected"),
    [
        ("1234", "It was 1,234", True),
        ("10", "order #W1002", True),
        ("Tactile", "the TACTILE one", True),
        ("1,234", "It was 1,234", False),
    ],
)
def test_the_published_rule_is_a_plain_substring(want: str, text: str, expected: bool) -> None:
    assert contains_plainly(text, want) is expected


REFUSALS = [
    "I can't cancel an order that was delivered.",
    "I’m sorry, but I cannot do that.",
    "Unfortunately I can not change the address.",
    "I'm unable to process this return.",
    "We are not able to exchange items twice.",
    "That is not possible.",
    "It isn't possible to cancel a processed order.",
    "Changes after delivery are not allowed.",
    "This order isn't eligible for a return.",
    "Your order is not eligible for cancellation.",
    "I have to decline this request.",
    "I must decline.",
    "I won't be able to help with that.",
    "I will not be able to issue the refund.",
    "I won't cancel the order for that reason.",
    "Our policy does not allow that.",
    "The policy doesn't permit a third exchange.",
    "That is against our policy.",
    "This is outside our policy, I'm afraid.",
    "That's not something I can do.",
    "This isn't something we can offer.",
    "Your request has been denied.",
    "You cannot return a pending order.",
    "I'm afraid not.",
    "That item is ineligible for exchange.",
    "I am not authorized to make that change.",
    "Sure thing!\nHowever, I couldn't apply a second change.",
    "A partial cancellation is not an option.",
    "I cannot process the return without the original payment method.",
    "I can't see any way to do that.",
    "That request must be declined.",
    "The order does not qualify for a refund.",
    "Unfortunately, once an order is cancelled, it cannot be reinstated.",
    "The order can't be changed after delivery.",
    "It can't be cancelled after the order was delivered.",
    "Once it has shipped, it cannot be changed.",
    "Items were changed before, so I can't change them again.",
    "I don't offer refunds in cash.",
]
OTHERWISE = [
    "I can't wait to help!",
    "I cannot thank you enough for your patience.",
    "No problem at all!",
    "No problem, I can cancel it.",
    "I can help you with that.",
    "I can't find that order; could you check the number?",
    "I am unable to locate an account with that email.",
    "I wasn't able to verify you with that zip code.",
    "If you can't remember your email, give me your name and zip code.",
    "In case you are not able to find the number, look at your receipt.",
    "I can't make changes until you confirm them.",
    "I cannot access your account before I verify your identity.",
    "There is no reason why I can't do that.",
    "You won't be charged.",
    "The refund won't take long.",
    "Your order has been cancelled.",
    "I have cancelled the order, not the other one.",
    "Please don't hesitate to ask.",
    "Do you want me to proceed?",
    "Is this the right address, or not?",
    "After this change you won't be able to cancel the order.",
    "Please note: once this is submitted, it cannot be undone.",
    "An exchange can only be done once, and we won't be able to change it later.",
    "The order cannot be modified after this change.",
    "Done!",
    "",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals(text: str) -> None:
    sentence = refusal_in(text)
    assert sentence is not None
    assert sentence in text


@pytest.mark.parametrize("text", OTHERWISE)
def test_what_only_looks_like_a_refusal(text: str) -> None:
    assert refusal_in(text) is None


def test_own_cues_count_as_refusals() -> None:
    assert refusal_in("Sorry. Store credit only!", ("store credit only",)) == "Store credit only!"


CONSENTS = [
    "Yes",
    "yes, please",
    "Yes, go ahead.",
    "Yeah, that's right.",
    "Sure, proceed.",
    "Please proceed.",
    "I confirm.",
    "Confirmed",
    "Go ahead and cancel it.",
    "That is correct, do it.",
    "Okay!",
    "Sounds good.",
    "No problem, go ahead.",
    "No objections",
    "No changes, that's all correct.",
    "Yes, cancel it, and could you also tell me the total?",
    "Of course",
    "Absolutely. I don't mind waiting.",
    "Yes, I'd like to proceed with the exchange.",
    "Please do.",
    "Wait, so I can't get it on my card? That's frustrating. Fine, let's just do it.",
    "Yes, cancel order #W1. Please hold off on transferring me to anybody.",
    "Yes, proceed.\n\n- For the other one: I do NOT approve the fee. Please leave it as it is.",
    "Thanks for laying it out!\n- Bicycle: I approve the exchange. Go ahead.\n- I don't want the lamp changed.",
    "Let's go with the first. Please make that change for me.",
    "I'd rather keep it, but go ahead.",
    "Yes, go ahead, but please hurry.",
    "Yes, if that's all, go ahead.",
    "Yes, please exchange it for the blue one instead.",
    "If that is correct, yes, please proceed.",
]
NO_CONSENTS = [
    "",
    "No",
    "No, thanks.",
    "Nope.",
    "No, don't do it.",
    "Not yet.",
    "Wait, which card is it?",
    "Don't proceed.",
    "Please do not go ahead.",
    "I changed my mind, sure.",
    "Hold on, okay",
    "Is it okay?",
    "Are you sure?",
    "Sure, but what does it cost?",
    "Never mind.",
    "My order is #W1.",
    "I want to cancel my order.",
    "What does it cost?",
    "I can't agree to that, okay.",
    "Yes... actually no, don't cancel it.",
    "Okay. Before you proceed, tell me the price.",
    "Yes, that is my name. Please don't do anything yet.",
    "I'd like to use my gift card. Can you also add a bag?",
    "Okay, hold on.",
    "Yes, but use my gift card instead.",
    "Sure, but only if it is free.",
    "Yes if you can refund to my PayPal",
    "Yes? I don't know about that.",
    "I am not okay with this. Please proceed to explain.",
    "Okay, as long as it costs nothing.",
    "Yes, provided the refund goes to my card.",
    "Yes, although I want another color.",
    "Sure? I was not told about a fee.",
    "Yes, I got your message.",
    "Absolutely not.",
    "Please continue to hold.",
    "Yes, unless it takes longer than a week.",
    "Go ahead only if you can do it today.",
]


@pytest.mark.parametrize("text", CONSENTS)
def test_consents(text: str) -> None:
    assert consents(text)


@pytest.mark.parametrize("text", NO_CONSENTS)
def test_no_consents(text: str) -> None:
    assert not consents(text)


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "1",
        "1,",
        "-",
        "1-",
        "@",
        "a@",
        "#",
        "i can't ",
        "if you ",
        "is it ",
        "but ",
        "12.50 ",
        "http://",
        " ",
        "(1",
    ],
)
def test_long_texts_cost_little(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    reading = Reading(text)
    with processor_limit():
        wanted("12.75").stands_in(reading)
        wanted("no such words").stands_in(reading)
        refusal_in(text)
        consents(text)
