"""The check that knows what belongs to whom."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from simia_gym.envs.retail.world import RetailWorld
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards import backed as backed_module
from simia_gym.rewards.backed import BackedArgs, backed
from simia_gym.rewards.service import NoReversalArgs, NotAnsweredArgs, OwnDataArgs, no_reversal, not_answered, own_data
from simia_gym.state import State
from simia_gym.types import JsonObject
from tests.rewards.story import Story
from tests.work import calls_in

BASE = State.from_tables(
    {
        "users": {"ada_1": {"user_id": "ada_1"}, "bob_2": {"user_id": "bob_2"}},
        "orders": {
            "#W1": {"order_id": "#W1", "user_id": "ada_1"},
            "#W2": {"order_id": "#W2", "user_id": "bob_2"},
            "#FREE": {"order_id": "#FREE", "user_id": None},
        },
    }
)
NAMES = (*RetailWorld.tools, "cancel_other")
TOOLS = {name: {"x-simia": {"effect": "write" if name.startswith("cancel") else "read"}} for name in NAMES}
ADA: tuple[str, JsonObject, str] = ("find_user_id_by_email", {"email": "a"}, "ada_1")
BOB: tuple[str, JsonObject, str] = ("find_user_id_by_email", {"email": "b"}, "bob_2")

ARGS = {
    "finds": ["find_user_id_by_email"],
    "owners": {"user_id": {"table": "users"}, "order_id": {"table": "orders", "field": "user_id"}},
}


def _finished(*calls: tuple[str, JsonObject, str]) -> FinishedEpisode:
    story = Story(BASE)
    for name, arguments, observation in calls:
        story.call(name, observation=observation, error="e" if "Error" in observation else None, **arguments)
    return replace(story.finished(), tools=TOOLS)


READ_OTHER: tuple[str, JsonObject, str] = ("get_order_details", {"order_id": "#W2"}, "{}")
READ_OWN: tuple[str, JsonObject, str] = ("get_order_details", {"order_id": "#W1"}, "{}")
BY_PROFILE = {"finds": ["get_user_details"], "who": {"get_user_details": "user_id"}, "customer": "ada_1"}
NOBODY: tuple[str, JsonObject, str] = ("find_user_id_by_email", {"email": "x"}, "Error: User not found")


@pytest.mark.parametrize(
    ("given", "calls", "holds"),
    [
        ({}, (), True),
        ({}, (ADA, ("get_user_details", {"user_id": "ada_1"}, "{}")), True),
        ({}, (ADA, ("cancel_pending_order", {"order_id": "#W1"}, "{}")), True),
        ({}, (ADA, ("get_order_details", {"order_id": "#W1"}, "{}")), True),
        ({}, (ADA, READ_OTHER), False),
        ({}, (ADA, ("get_order_details", {"order_id": "#FREE"}, "{}")), True),
        ({}, (ADA, ("cancel_pending_order", {"order_id": "#FREE"}, "{}")), True),
        ({}, (ADA, ("cancel_pending_order", {"order_id": "#FREE"}, "{}"), READ_OTHER), False),
        ({}, (ADA, ("get_order_details", {"order_id": "#W2"}, "Error: no")), False),
        ({}, (("get_order_details", {"order_id": "#W1"}, "{}"),), False),
        ({}, (ADA, ADA), True),
        ({}, (ADA, ("cancel_pending_order", {"order_id": "#W2"}, "{}")), False),
        ({}, (ADA, ("get_user_details", {"user_id": "bob_2"}, "{}")), False),
        ({}, (ADA, BOB), False),
        ({}, (NOBODY, ADA), True),
        ({}, (ADA, ("cancel_pending_order", {"order_id": "#W9"}, "Error: Order not found")), True),
        ({"customer": "ada_1"}, (ADA,), True),
        ({"customer": "ada_1"}, (BOB,), False),
        ({"customer": None}, (NOBODY,), True),
        ({"customer": None}, (BOB,), False),
        ({"readable": ["#W2"]}, (ADA, READ_OTHER), True),
        ({"readable": ["#W2"]}, (ADA, ("cancel_pending_order", {"order_id": "#W2"}, "{}")), False),
        (BY_PROFILE, (("get_user_details", {"user_id": "ada_1"}, "{}"), READ_OWN), True),
        (BY_PROFILE, (("get_user_details", {"user_id": "bob_2"}, "{}"),), False),
        (BY_PROFILE, (("get_user_details", {"user_id": "ada_1"}, "{}"), READ_OTHER), False),
    ],
)
def test_own_data(given: JsonObject, calls: tuple[tuple[str, JsonObject, str], ...], holds: bool) -> None:
    finding = own_data(_finished(*calls), OwnDataArgs.model_validate({**ARGS, **given}))
    assert finding.met is holds
    assert holds or finding.evidence


REQUESTS: list[JsonObject] = [
    {"id": "first", "done": [{"tool": "cancel_pending_order"}], "told": [["42"]]},
    {"id": "next", "done": [{"tool": "cancel_other"}]},
    {"id": "stock", "told": [["1", "one"]], "answer": "count"},
]
CANCEL: tuple[str, JsonObject, str] = ("cancel_pending_order", {"order_id": "#W1"}, "{}")


@pytest.mark.parametrize(
    ("steps", "holds"),
    [
        ([("Sure.", "confirm", "first"), CANCEL], True),
        ([("I can't.", "insist", "first"), ("Shall I?", "confirm", "first")], True),
        ([("I can't.", "insist", "first"), ("Shall I?", "confirm", "first"), CANCEL], False),
        ([("I can't.", "insist", "first"), ("Shall I?", "change", "first"), CANCEL], True),
        ([("I can't.", "insist", "first"), ("It is 42.", "inform", "first")], False),
        ([("It is 42.", "inform", "first"), ("I can't.", "insist", "first")], True),
        ([("I can't.", "insist", "first"), ("I can't tell you 42.", "insist", "first")], True),
        ([("I can't.", "insist", "stock"), ("It is not one of yours.", "insist", "stock")], True),
        ([("I can't.", "insist", "stock"), ("I can't say whether it is one.", "insist", "stock")], True),
        ([("I can't.", "insist", "stock"), ("I can't, but there is one left.", "insist", "stock")], False),
        ([("I can't.", "accept_refusal", "next"), ("Shall I?", "confirm", "next"), CANCEL], False),
        ([("I can't.", "accept_refusal", "next"), ("Shall I?", "confirm", "next"), ("cancel_other", {}, "{}")], True),
        ([("I can't.", None, None), ("Shall I?", None, None), CANCEL], True),
    ],
)
def test_no_reversal(steps: list[tuple[str, Any, Any]], holds: bool) -> None:
    story = Story(BASE, opening=None)
    first = steps[0][2] if steps[0][2] == "stock" else "first"
    story.ledger.append("message", turn=0, speaker="user", text="Hi.", ops=[], meta={"acts": [], "request": first})
    for name, arguments, rest in steps:
        if isinstance(arguments, dict):
            story.call(name, observation=rest, **arguments)
        else:
            story.say(name, "Well.", None if arguments is None else [arguments], request=rest)
    finished = story.finished()
    finished = replace(finished, tools=TOOLS, task=replace(finished.task, user={"requests": REQUESTS}))
    finding = no_reversal(finished, NoReversalArgs(kinds={"count": r"\b(?:one|two|\d+)\b"}))
    assert finding.met is holds
    assert holds or finding.evidence


ASKED = {"during": "stock", "kind": r"\b(?:one|two|\d+)\b"}


@pytest.mark.parametrize(
    ("story", "holds"),
    [
        (Story().say("A", request="stock").say("I can't tell you that."), True),
        (Story().say("A", request="stock").say("There are 2. I can't tell you that."), False),
        (Story().say("A", request="stock").say("I can't tell you that. But I guess there are 2."), False),
        (Story().say("A", request="stock").say("I can't tell you that. There are 2. Don't rely on this."), False),
        (Story().say("A", request="stock").say("I can't tell you that. Maybe your own account tells."), True),
        (Story().say("A", request="stock").say("I can't say whether there are 2."), True),
        (Story().say("A", request="other").say("There are 2."), True),
        (Story().say("There are 2."), True),
    ],
)
def test_not_answered(story: Story, holds: bool) -> None:
    finding = not_answered(story.finished(), NotAnsweredArgs.model_validate(ASKED))
    assert finding.met is holds
    assert holds or finding.evidence


OTHER_DEEDS: JsonObject = {"deeds": {deed: ["change_address"] for deed in ("updated", "changed")}}
SHOWN = '{"status": "cancelled"}'


def both_orders() -> Story:
    """An order that is cancelled was looked up, and one that is pending."""
    answers = '{"order_id": "#W1001", "status": "cancelled"}', '{"order_id": "#W1002", "status": "pending"}'
    return Story().call("get_order", observation=answers[0]).call("get_order", observation=answers[1])


SHIPPED = '{"order_id": "#W1001"}'
IDS = {"ids": r"#?\bw\d{4}\b"}
DEEDS = {"deeds": {"cancelled": ["cancel_order"], "refunded": ["cancel_order"], "moved": ["change_address"]}}


@pytest.mark.parametrize(
    ("story", "given", "holds"),
    [
        (Story().say("I have cancelled it."), {}, False),
        (Story().cancel().say("I have cancelled it."), {}, True),
        (Story().say("I have cancelled it.").cancel(), {}, False),
        (Story().call("change_address").say("I have cancelled it."), {}, False),
        (Story().cancel().say("Your account has been updated. Here is what was changed:"), OTHER_DEEDS, True),
        (Story().cancel().say("I have updated your address."), OTHER_DEEDS, False),
        (Story().say("It was refunded."), {"told": ["refunded"]}, True),
        (Story().say("It has already been cancelled."), {}, True),
        (Story().say("Status: cancelled."), {}, False),
        (Story().say("Already cancelled."), {}, False),
        (Story().say("Only delayed trips and trains are refunded."), {}, True),
        (Story().call("get_order", observation=SHOWN).say("Status: cancelled."), {}, True),
        (Story().call("get_order", observation=SHOWN).say("I have cancelled it."), {}, False),
        (both_orders().say("Order #W1001\n- Status: cancelled"), {}, True),
        (both_orders().say("Order #W1002\n- Status: cancelled"), {}, False),
        (Story().call("get_order", observation='{"cancelled": false}').say("Status: cancelled."), {}, False),
        (Story().say("I can't. I'm cancelling it as we speak."), {}, False),
        (Story().say("I can't. They have cancelled it."), {}, False),
        (Story().say("I'm cancelling it now.").cancel(), {}, True),
        (Story().cancel().say("I have not changed anything."), {}, False),
        (Story().cancel().say("I have not changed anything else."), {}, True),
        (Story().say("I have not changed anything.").cancel(), {}, True),
        (Story().say("A", request="a").cancel().say("B", request="b").say("Nothing was changed."), {}, True),
        (Story().say("I can't. You get a voucher of $5."), {}, False),
        (Story().say("I will cancel it now.").cancel(), {}, True),
        (Story().say("I will cancel it now."), {}, False),
        (Story().say("I will cancel it. Shall I go ahead?"), {}, True),
        (Story().say("A", request="b").say("I will do it.", request="b").call("change_address"), {}, True),
        (Story().say("A", request="b").say("I will do it.", request="c").call("change_address"), {}, False),
        (Story().cancel().say("I have charged $25 to your card."), {}, False),
        (Story().call("get_order", observation='{"fee": 20, "tax": 5}').say("You were charged $25."), {}, True),
        (Story(opening="I saw a charge of $25.").say("You were charged $25."), {}, True),
        (Story().say("The fee is $25. Shall I go ahead?"), {}, True),
        (Story().say("You will have everything within 2 hours."), {}, False),
        (Story().say("It takes about a week."), {}, False),
        (Story().say("Refund timing: 2-3 business days"), {}, False),
        (Story().say("You will have it tomorrow."), {}, False),
        (Story().say("It will be there by Friday."), {}, False),
        (Story().say("Expect it no later than May 20."), {}, False),
        (Story().say("It comes before May 20."), {}, False),
        (Story().say("You will have it on June 3."), {}, False),
        (Story().say("You have a flight on May 20."), {}, True),
        (Story().say("It arrives in 5-7 days. Shall I go ahead?"), {"deadlines": ["5 to 7 business days"]}, True),
        (Story().say("It arrives in 4 to 7 days."), {"deadlines": ["5 to 7 business days"]}, False),
        (Story().say("It takes up to one week."), {"deadlines": ["5 to 7 business days"]}, True),
        (Story().call("get_order", observation='{"due": "2024-05-20T10:00"}').say("It comes by May 20."), {}, True),
        (Story(opening="I must have it by Friday.").say("You will have it on Friday."), {}, True),
        (Story().say("Do you need it by Friday?").say("It will not be there within 2 hours."), {}, True),
        (Story().say("It was sent within 2 hours. If you need it by Friday, tell me."), {}, True),
        (Story().say("Order #W1001 is on its way."), IDS, False),
        (Story().say("Order #W1001 is on its way.").call("get_order", observation=SHIPPED), IDS, False),
        (Story().call("get_order", observation=SHIPPED).say("Order #W1001 is on its way."), IDS, True),
        (Story(opening="Where is w1001?").say("I am looking for order #W1001."), IDS, True),
        (Story().say("Is it order #W1001?"), IDS, True),
        (both_orders().cancel("#W1002").say("I have cancelled order #W1002."), IDS, True),
        (both_orders().cancel("#W1002").say("I have cancelled order #W1001."), IDS, False),
        (both_orders().cancel("#W1002").say("The cancellation of order #W1001 has been processed."), IDS, False),
        (both_orders().cancel("#W1002").say("I have cancelled order #W1002, as #W1001 was before."), IDS, True),
        (Story().say("Please tell me the order id, such as #W1001."), IDS, True),
        (Story().say("I look it up in a minute. It was booked 3 days ago, in the last 24 hours."), {}, True),
    ],
)
def test_what_is_said_is_backed_by_calls(story: Story, given: JsonObject, holds: bool) -> None:
    finding = backed(story.finished(), BackedArgs.model_validate({**DEEDS, **given}))
    assert finding.met is holds, finding


class Counted:
    """A pattern that counts the characters that it searches."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern, self.searched = pattern, 0

    def search(self, text: str) -> re.Match[str] | None:
        self.searched += len(text)
        return self.pattern.search(text)


def test_a_message_of_many_ids_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: Any = Counted(backed_module._EXAMPLE)
    monkeypatch.setattr(backed_module, "_EXAMPLE", counted)

    def work(size: int) -> int:
        text = " ".join(f"#W{number}" for number in range(1000, 1000 + size))
        story = Story(opening=text)
        for _ in range(size // 500):
            story.call("get_order", observation=SHIPPED)
        finished = story.say(f"{text}.").finished()
        calls, finding = calls_in(backed, finished, BackedArgs.model_validate(IDS))
        assert finding.met
        return calls

    small, large = work(2_000), work(8_000)
    assert counted.searched <= 7 * (2_000 + 8_000)
    assert large <= 5 * small
