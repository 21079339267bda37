"""The expert with other words: what an agent achieves does not depend on how it puts things."""

from __future__ import annotations

from typing import Any

import pytest

from simia_gym.common.event_loop import run_inline
from simia_gym.envs.retail import expert_talk
from simia_gym.types import Task
from tests.retail.play import Play, fixed, generated, suite

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


def test_every_line_is_put_in_other_words() -> None:
    assert set(OTHER_WORDS) == set(expert_talk.LINES)


@pytest.mark.parametrize("wording", [0, 1, 2])
def test_other_words_reach_the_same(wording: int, monkeypatch: pytest.MonkeyPatch) -> None:
    words = {line: (wordings[wording],) for line, wordings in OTHER_WORDS.items()}
    monkeypatch.setattr(expert_talk, "LINES", words)
    play = Play("expert")
    for seed, task in enumerate([*fixed(), *generated(80)]):
        verdict = play(task, seed)
        assert verdict.success, (task.id, task.kind, [c.reason for c in verdict.criteria if not c.passed])


def _natural(task: Task) -> list[str]:
    """How language models propose what a task's gold action does, in three layouts."""
    (gold,) = task.gold
    arguments, name = gold["arguments"], gold["name"]
    state = suite().domain.base.apply(task.setup)
    order = state.get("orders", arguments.get("order_id", ""))
    items = (
        [] if order is None else [item for item in order["items"] if item["item_id"] in arguments.get("item_ids", ())]
    )
    names = " and ".join(item["name"] for item in items)
    user = None if order is None else state.get("users", order["user_id"])
    method = arguments.get("payment_method_id")
    pay = "" if user is None or method is None else _spoken(user["payment_methods"][method])
    key = arguments.get("order_id", "")
    if name == "cancel_pending_order":
        what = f"cancel order {key} because it was {arguments['reason']}"
    elif name in ("modify_pending_order_address", "modify_user_address"):
        where = f"order {key}" if key else "your account"
        place = ", ".join(str(arguments[part]) for part in ("address1", "city", "state", "zip"))
        what = f"change the address of {where} to {place}"
    elif name == "modify_pending_order_payment":
        what = f"switch the payment of order {key} to your {pay}"
    elif name == "return_delivered_order_items":
        what = f"return the {names} from order {key} and refund it to your {pay}"
    else:
        products = (state.get("products", item["product_id"]) for item in items)
        variant = next(p["variants"][arguments["new_item_ids"][0]] for p in products if p is not None)
        options = ", ".join(f"{axis}: {value}" for axis, value in variant["options"].items())
        verb = "exchange" if name.startswith("exchange") else "change"
        what = f"{verb} the {names} in order {key} for the one with {options} ({variant['price']}), using your {pay}"
    return [
        f"Just to confirm: you would like me to {what}. Shall I proceed? (yes/no)",
        f"Thanks! Here is a summary:\n\n- I will {what}.\n\nDo you confirm?",
        f"I can **{what}**. Please reply yes to confirm, and I'll take care of it right away.",
    ]


def _spoken(method: Any) -> str:
    if method["source"] == "credit_card":
        return f"{method['brand'].title()} card ending in {method['last_four']}"
    return {"paypal": "PayPal account"}.get(method["source"], "gift card")


def test_natural_proposals_get_a_yes() -> None:
    checked = set()
    for task in [*fixed(), *generated(160)]:
        if not task.goal or len(task.gold) != 1 or "refuse" in task.kind or "changed" in task.kind:
            continue
        if task.kind == "combined_two":
            continue
        for text in _natural(task):
            episode = suite().episode()
            run_inline(episode.reset(task))
            run_inline(episode.step(text))
            assert "confirm" in episode.ledger.events[-1]["meta"]["acts"], (task.kind, text, episode.messages[-1])
        checked.add(task.gold[0]["name"])
    assert len(checked) == 7
