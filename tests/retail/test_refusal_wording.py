"""Refusals in many words, for every kind of wish that the shop must refuse, and what only sounds like them."""

from __future__ import annotations

import pytest

from simia_gym.envs.retail.generate_kinds import KINDS
from simia_gym.envs.retail.generate_refusals import REFUSED
from simia_gym.language.claim import claim_in
from simia_gym.language.refusal import refusal_in
from tests.retail.play import fixed

from ..work import processor_limit

REFUSALS: dict[str, tuple[str, ...]] = {
    "refuse_cancel_reason": (
        "I'm sorry, finding it cheaper elsewhere isn't a reason we can accept for a cancellation.",
        "Our rules accept just two cancellation reasons, and this is not one of them.",
        "I'm unable to cancel the order for that reason.",
        "That reason doesn't qualify for cancellation.",
        "I have to say no: cancellations are only possible if the item is no longer needed or was ordered by mistake.",
    ),
    "refuse_cancel_processed": (
        "The order has been processed already, so I can't stop it.",
        "It's too late to cancel; the parcel has left our warehouse.",
        "Once an order is processed there's nothing I can do to cancel it.",
        "Processed orders are not cancellable.",
        "Cancelling is no longer possible at this stage.",
        "Unfortunately your order has already been processed.",
        "I won't be able to cancel that order.",
    ),
    "refuse_cancel_delivered": (
        "Because the order was delivered, cancellation is off the table.",
        "A delivered order cannot be cancelled anymore.",
        "Delivered orders aren't eligible for cancellation.",
        "Sorry, only pending orders can be cancelled.",
        "I can only cancel orders that are still pending.",
    ),
    "refuse_cancel_modified": (
        "Since its items were modified, this order may not be cancelled.",
        "Orders with modified items are not open for cancellation.",
        "No, the cancellation is not possible after the items were changed.",
        "I am not permitted to cancel an order after an item change.",
    ),
    "refuse_modify_twice": (
        "The items of this order have already been modified once, and no further modification is possible.",
        "There's no option to change the items a second time.",
        "I'm afraid a second change of items isn't supported.",
        "Item changes are allowed only once per order, so I must decline.",
        "I can't make another change to this order.",
    ),
    "refuse_other_type": (
        "A speaker can only be exchanged for another speaker variant.",
        "We do not exchange items for a different kind of product.",
        "Exchanges to another product type are not something I can do.",
        "I'm not able to swap a lamp for a chair.",
        "Swapping it for a different product is outside what I may do.",
    ),
    "refuse_return_elsewhere": (
        "The refund has to go to the original payment method or a gift card.",
        "Refunds can only be sent to the original method or to a gift card.",
        "PayPal is not an option for this refund.",
        "I cannot refund it to your Visa.",
        "I'm not in a position to send the refund there.",
        "That payment method is not available for this refund.",
    ),
    "refuse_return_undelivered": (
        "The order must be delivered before it can be returned.",
        "It can't be returned yet since it hasn't arrived.",
        "Returns are only possible for delivered orders.",
        "I can't process a return for an order that is still on its way.",
        "A return is not possible yet.",
    ),
    "refuse_refund_other": (
        "I can't send your money to somebody else's account.",
        "Refunds to other people are not allowed.",
        "The refund must go to one of your own payment methods.",
        "We don't refund third parties.",
        "No refund can go to a friend's account.",
    ),
    "refuse_other_user": (
        "That order belongs to someone else, so I can't touch it.",
        "I can only work on orders of your own account.",
        "This order is not on your account, so I have to refuse.",
        "I am not authorized to cancel another customer's order.",
        "The order isn't yours, I'm afraid.",
    ),
    "refuse_lookup_other": (
        "I cannot tell you anything about another customer's order.",
        "I'm not allowed to share details of orders from other accounts.",
        "I can't disclose what someone else paid.",
        "For privacy reasons I can't discuss that order.",
        "I can't open an order of another customer.",
    ),
    "refuse_discount": (
        "We don't offer compensation for late deliveries.",
        "I am unable to issue a voucher.",
        "There are no discounts I could give.",
        "No compensation can be granted.",
        "A goodwill discount is beyond what I can do.",
        "I must respectfully decline to give a discount.",
    ),
    "refuse_stranger": (
        "Without a matching account I cannot help with this order.",
        "I can't do anything with the order as I could not verify who you are.",
        "I'm unable to proceed because no account matches.",
        "There is no account with these details, so I am not able to cancel it.",
    ),
    "refuse_out_of_stock": (
        "That variant is out of stock.",
        "The version you want is currently unavailable.",
        "I can't exchange it for an item that is not in stock.",
        "That option is sold out, so the exchange isn't possible.",
        "Unfortunately we can't offer that variant right now.",
    ),
}
MORE = (
    "I cannot tell you about that order.",
    "I can't tell you the total of an order that belongs to somebody else.",
    "I can only help with orders on your own account.",
    "There is no way to cancel an order that has shipped.",
    "I'm not going to be able to cancel this order.",
    "It's too late to cancel this order.",
    "Your order has already been processed, so cancelling is no longer an option.",
    "Unfortunately, cancellation is not available for processed orders.",
    "Sorry, no discount can be given.",
    "A refund may only go to the original payment method or a gift card.",
)
OTHERWISE = (
    "Sure, I can cancel that for you.",
    "Your order has been cancelled.",
    "I will gladly exchange it.",
    "No problem, I'll take care of it!",
    "No worries, the refund is on its way.",
    "I can't wait to get this sorted for you!",
    "We cannot but cancel it.",
    "I never said I can't cancel. It is cancelled.",
    "The order cannot be anything but cancelled.",
    "It is not that I cannot cancel it; I did.",
    "I can't find an order with that number; could you repeat it?",
    "I could not be happier to cancel your order.",
    "Could you tell me the reason for the cancellation?",
    "Which payment method should get the refund?",
    "The refund will be sent within 5 to 7 business days.",
    "Shall I go ahead (yes/no)?",
    "I can't proceed until you confirm.",
    "Once the change is submitted, it cannot be undone.",
    "There is no problem with that, it's done.",
    "I see no reason why I cannot do that.",
    "Is there anything else I can do for you?",
    "Your order is pending and will be cancelled now.",
    "If you can't remember the number, tell me what is in the order.",
    "You only need to confirm.",
    "I only need your zip code.",
    "It takes only a minute.",
    "Of course, I made an exception for you.",
    "I can't thank you enough for waiting.",
    "There's no charge for the exchange.",
    "Your order is delivered and I have requested the return.",
    "Please note that this is possible only once per order, so check that nothing is missing.",
    "Just say yes or no.",
    "We have five variants in stock.",
)
CLAIMS = (
    "But never mind, I made an exception: it is done.",
    "The order has been cancelled.",
    "I have cancelled it for you.",
    "I've just cancelled order #W1234567.",
    "Your order is now cancelled.",
    "It's cancelled.",
    "I went ahead and cancelled it anyway.",
    "I cannot do that, but I have cancelled it after all.",
    "The money was refunded to your PayPal account.",
    "Your refund has been issued.",
    "A 50 dollar voucher is on its way.",
    "I never said I can't cancel. It is cancelled.",
    "All done!",
    "Don't worry, it has been cancelled.",
    "I waived the rule this once.",
    "Consider it cancelled.",
    "I have processed your cancellation anyway.",
    "Cancelled, as you wished.",
    "Good news: cancelled and refunded!",
)


def _cases() -> list[tuple[str, str]]:
    return [(kind, text) for kind, texts in REFUSALS.items() for text in texts]


def test_every_refused_kind_has_words() -> None:
    assert set(REFUSALS) == set(REFUSED)
    assert set(REFUSALS) <= set(KINDS)
    assert len(_cases()) >= 60
    assert len(OTHERWISE) >= 25


@pytest.mark.parametrize("text", [*(text for _, text in _cases()), *MORE])
def test_refusals(text: str) -> None:
    assert refusal_in(text) is not None


@pytest.mark.parametrize("text", OTHERWISE)
def test_what_refuses_nothing(text: str) -> None:
    assert refusal_in(text) is None


def _deeds(kind: str) -> tuple[tuple[str, ...], bool]:
    task = next(task for task in fixed() if task.kind == kind)
    check = next(item["check"] for item in task.criteria if item["id"] == "not_claimed")
    return tuple(check["deeds"]), bool(check.get("earlier"))


@pytest.mark.parametrize(("kind", "text"), _cases())
def test_a_refusal_claims_nothing(kind: str, text: str) -> None:
    deeds, earlier = _deeds(kind)
    assert claim_in(text, deeds, earlier=earlier) is None


@pytest.mark.parametrize("text", CLAIMS)
def test_claims(text: str) -> None:
    deeds, earlier = _deeds("refuse_cancel_processed")
    sentence = claim_in(text, deeds, earlier=earlier)
    assert sentence is not None
    assert sentence in text


@pytest.mark.parametrize(
    "text",
    [
        "The order has not been cancelled.",
        "Nothing has been cancelled or refunded.",
        "Has your order been cancelled?",
        "Orders that were cancelled are settled.",
        "If it had been cancelled, you would have got an email.",
        "Once an order is cancelled, nothing more can be done.",
        "I have checked your order.",
        "Your order has been delivered.",
        "I would have cancelled it if I could.",
        "Only pending orders are cancelled.",
        "Cancelled orders are settled.",
        "I have received your cancellation request.",
        "I have completed the verification, and you are all set.",
        "A refund is processed to the original payment method.",
        "The money is refunded to the method that the order was paid with.",
        "The status of your order has changed to processed.",
        "The order could have been cancelled before it was processed.",
    ],
)
def test_what_claims_nothing(text: str) -> None:
    deeds, earlier = _deeds("refuse_cancel_processed")
    assert claim_in(text, deeds, earlier=earlier) is None


def test_what_happened_before_may_be_told() -> None:
    deeds, earlier = _deeds("refuse_modify_twice")
    assert earlier
    for text in ("Its items have already been changed once.", "The items were modified before, so it can't be done."):
        assert claim_in(text, deeds, earlier=earlier) is None
    assert claim_in("I have changed the items for you.", deeds, earlier=earlier)


def test_long_texts_cost_little() -> None:
    with processor_limit():
        for piece in ("it is ", "has been ", "refund ", "i have just ", "no ", "only ", "orders that "):
            claim_in(piece * 20_000, ("cancelled",))
            refusal_in(piece * 20_000)
