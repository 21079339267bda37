from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from simia_gym.state import State
from simia_gym.types import Op

from ..work import calls_in
from .story import BASE, CANCEL, GOAL, TABLES, Story, holds, op, run

# ---- the final state


def test_the_goal_holds_and_nothing_else_changed() -> None:
    found = run(Story().cancel().finished(goal=GOAL), "goal_state")
    assert found.met
    assert found.evidence[0].quote == "/orders/#W1/status"


@pytest.mark.parametrize(
    ("ops", "goal", "reason"),
    [
        ((), GOAL, '/orders/#W1/status: expected "cancelled", got "pending"'),
        (CANCEL, (), '/orders/#W1/status: expected unchanged "pending", got "cancelled"'),
        ((*CANCEL, op("/orders/#W2/total", 0)), GOAL, "something else changed: /orders/#W2/total"),
        ((*CANCEL, op("/orders/#W1/total", 0)), GOAL, "something else changed: /orders/#W1/total"),
        ((*CANCEL, op("/orders/#W1/address/city", "Bergen")), GOAL, "/orders/#W1/address/city"),
        ((*CANCEL, {"op": "remove", "path": "/orders/#W1/address/zip"}), GOAL, "/orders/#W1/address/zip"),
        ((*CANCEL, {"op": "add", "path": "/orders/#W1/items/-", "value": "z"}), GOAL, "/orders/#W1/items/2"),
        ((*CANCEL, {"op": "add", "path": "/orders/#W3", "value": {"a": 1}}), GOAL, "/orders/#W3/a"),
        ((*CANCEL, {"op": "add", "path": "/orders/#W3", "value": {}}), GOAL, "/orders/#W3"),
        ((*CANCEL, {"op": "remove", "path": "/users/ada"}), GOAL, "/users/ada"),
        ((op("/orders/#W1/status", ["cancelled"]),), GOAL, "/orders/#W1/status"),
        ((op("/orders/#W1/total", True),), (holds("/orders/#W1/total", 1),), "/orders/#W1/total"),
        ((), (holds("/orders/#W9", {"a": 1}),), '/orders/#W9: expected {"a": 1}, got nothing'),
        ((), (holds("/orders/#W1/items/7", "a"),), "/orders/#W1/items/7"),
        ((), (holds("/orders/#W1", None),), "/orders/#W1: expected nothing"),
        (({"op": "remove", "path": "/orders/#W1"},), (holds("/orders/#W1/note", None),), "something else changed"),
    ],
)
def test_what_fails_a_goal(ops: tuple[Op, ...], goal: tuple[Op, ...], reason: str) -> None:
    found = run(Story().call("cancel_order", ops).finished(goal=goal), "goal_state")
    assert found.met is False
    assert reason in found.reason


@pytest.mark.parametrize(
    ("ops", "goal"),
    [
        ((), ()),
        ((op("/_clock/now/tick", 7), {"op": "add", "path": "/_user/me", "value": {"mood": 1}}), ()),
        ((*CANCEL, op("/_clock/now/tick", 7)), GOAL),
        (({"op": "remove", "path": "/orders/#W1"},), (holds("/orders/#W1", None),)),
        (({"op": "remove", "path": "/orders/#W1/total"},), (holds("/orders/#W1/total", None),)),
        ((op("/orders/#W1/total", 13),), (holds("/orders/#W1/total", 13.0),)),
        ((op("/orders/#W1/total", 12.500000001),), ()),
        (
            (op("/orders/#W1/address", {"city": "Bergen", "zip": "5003"}),),
            (holds("/orders/#W1/address", {"zip": "5003", "city": "Bergen"}),),
        ),
        (
            (op("/orders/#W1/address", {"city": "Bergen", "zip": "0150"}),),
            (holds("/orders/#W1/address/city", "Bergen"),),
        ),
        (({"op": "add", "path": "/orders/#W3", "value": {"a": {"b": 1}}},), (holds("/orders/#W3/a/b", 1),)),
        (({"op": "add", "path": "/orders/#W1/items/-", "value": "z"},), (holds("/orders/#W1/items", ["a", "b", "z"]),)),
    ],
)
def test_what_meets_a_goal(ops: tuple[Op, ...], goal: tuple[Op, ...]) -> None:
    assert run(Story().call("cancel_order", ops).finished(goal=goal), "goal_state").met


def test_doing_and_undoing_leaves_nothing_changed_but_is_writing() -> None:
    trace = Story().cancel().call("undeclared", [op("/orders/#W1/status", "pending")]).finished(goal=())
    assert run(trace, "goal_state").met
    assert run(trace, "unchanged").met
    found = run(trace, "no_writes")
    assert not found.met
    assert "cancel_order" in found.evidence[0].quote


def test_only_touched_rows_are_looked_at() -> None:
    def work(rows: int) -> int:
        base = State.from_tables({"orders": {f"#{n}": {"status": "pending", "total": n} for n in range(rows)}})
        told = Story(base).call("cancel_order", [op("/orders/#7/status", "cancelled")])
        calls, found = calls_in(run, told.finished(goal=[holds("/orders/#7/status", "cancelled")]), "goal_state")
        assert found.met
        return calls

    work(8)
    assert work(2000) < 2 * work(20)


@pytest.mark.parametrize("program", ["goal_state", "unchanged", "state_is"])
def test_without_state_nothing_is_judged(program: str) -> None:
    given = {"path": "/orders/#W1/status", "value": "pending"} if program == "state_is" else {}
    assert run(Story().call("cancel_order", None).finished(goal=()), program, **given).value is None


def test_without_a_goal_nothing_is_judged() -> None:
    assert run(Story().finished(goal=None), "goal_state").value is None


def story(*steps: str | tuple[str, Any] | dict[str, Any]) -> Story:
    """A story told in short: a text is said, a dictionary is a call, and a pair is said and answered."""
    it = Story()
    for step in steps:
        if isinstance(step, dict):
            it.call(**step)
        elif isinstance(step, tuple):
            reply, acts = step[1]
            it.say(step[0], reply, acts)
        else:
            it.say(step)
    return it


def wiped() -> Story:
    paths = [f"/{table}/{key}" for table in ("orders", "users") for key in TABLES[table]]
    return Story().call("cancel_order", [{"op": "remove", "path": path} for path in paths])


NO = "I'm sorry, I can't cancel a delivered order."
AGREED = ("Shall I cancel #W1?", ("Yes, go ahead.", ["confirm"]))
LOOK = {"name": "get_order", "order_id": "#W1"}
OTHER = {"name": "get_order", "order_id": "#W2"}
FIND = {"name": "find_user", "observation": "ada"}
CANCELLED = {"name": "cancel_order", "ops": CANCEL, "order_id": "#W1"}
FAILED = {"name": "cancel_order", "error": "not_pending", "order_id": "#W2"}
AGAIN = {**FAILED, "order_id": "#W1"}
MOVE = {"name": "change_address"}
MOVED = {"name": "change_address", "ops": [op("/orders/#W1/address/zip", "x")]}
PRICED = {"name": "undeclared", "ops": [op("/orders/#W1/total", 12.5001)]}
HANDED = {"name": "transfer", "summary": "delivered"}
MANY = ", ".join(f"{n}.50" for n in range(1, 15))
AFTER = {"tool": "get_order", "arguments": {"order_id": "#W1"}}
FOUND_NOBODY = {"tool": "find_user", "outcome": "error"}
CHOICE = [[AFTER, {"tool": "find_user", "observation": "ada"}]]
RIVALS: dict[str, Any] = {"all": "pending", "rivals": ["delivered", "cancelled"]}
FIRST = {"tool": "find_user", "before": ["get_order"], "effects": ["write"]}

CHECKS: list[tuple[Story, str, dict[str, Any], bool | float]] = [
    # the final state
    (
        story({**CANCELLED, "ops": [*CANCEL, op("/orders/#W1/address/zip", "x")]}),
        "unchanged",
        {"tables": "users"},
        True,
    ),
    (story(CANCELLED), "unchanged", {"tables": ["users", "orders"]}, False),
    (wiped(), "goal_state", {}, False),
    (wiped(), "unchanged", {"tables": "users"}, False),
    (story(MOVED), "goal_state", {}, False),
    (story(MOVED), "goal_state", {"ignore": "/orders/*/address"}, True),
    (story(MOVED), "goal_state", {"ignore": ["/users", "/orders/#W2"]}, False),
    (story(PRICED), "goal_state", {}, False),
    (story(PRICED), "goal_state", {"tolerance": 0.01}, True),
    (story(CANCELLED), "state_is", {"path": "/orders/#W1/status", "value": "cancelled"}, True),
    (story(CANCELLED), "state_is", {"path": "/orders/#W2/status", "value": "cancelled"}, False),
    (story(CANCELLED), "state_is", {"path": "/orders/#W9", "value": None}, True),
    # what the user was told
    (story("Your refund is $12.50.", "It goes to card_1."), "says", {"all": [12.5, "card_1"]}, True),
    (story("Your refund is $12.50."), "says", {"any": ["99", "12.50"]}, True),
    (story("Your refund is $12.50."), "says", {"all": ["12.50", "card_2"]}, 0.5),
    (story("Your refund is $12.50."), "says", {"all": ["12.50"], "any": ["x", "y"]}, 0.5),
    (story({"name": "calculate", "text": "It is 12.50. ", "observation": "12.50"}), "says", {"all": "12.50"}, False),
    (Story().malformed().say("I am done.", "Your refund is 12.50, thanks."), "says", {"all": "12.50"}, False),
    (story("Order #W1002 has 210 items."), "says", {"any": ["10", "1002"]}, False),
    (story("Order #W1002 has 210 items."), "says", {"all": "10", "mode": "substring"}, True),
    (story("Well. It was $1,234.50."), "says", {"all": "1234.50", "mode": "substring"}, True),
    (story("The code is 4711."), "not_says", {"any": "4712"}, True),
    (story("The code is 4711."), "not_says", {"any": ["4712", "4711"]}, False),
    # reciting is not telling
    (story(MANY), "says", {"all": "12.50"}, False),
    (story(MANY), "says", {"all": "12.50", "most": 13}, True),
    (story(MANY), "says", {"all": "12.50", "mode": "substring"}, True),
    (story(" ".join(f"card_{n}" for n in range(20))), "says", {"all": "card_7"}, False),
    (story("card_7 or card_8"), "says", {"all": "card_7"}, True),
    (story("12.50 " + "so " * 2000), "says", {"all": "12.50"}, False),
    (story("12.50 " + "so " * 2000), "says", {"all": "12.50", "longest": 9000}, True),
    (story("It is pending or delivered."), "says", RIVALS, True),
    (story("It is pending or delivered."), "says", {**RIVALS, "most": 0}, False),
    (story("1. red\n2. blue\n3) green"), "says", {"any": ["2", "3"]}, False),
    (story("There are 3:\n1. red\n2. blue\n3. green"), "says", {"all": "3", "rivals": "2", "most": 0}, True),
    # telling counts after the calls that show it
    (story(LOOK, "12.50"), "says", {"all": "12.50", "after": AFTER}, True),
    (story("12.50", LOOK), "says", {"all": "12.50", "after": AFTER}, False),
    (story(OTHER, "12.50"), "says", {"all": "12.50", "after": AFTER}, False),
    (story(FIND, "9"), "says", {"all": "9", "after": CHOICE}, True),
    (story({**FIND, "observation": "bob"}, "9"), "says", {"all": "9", "after": CHOICE}, False),
    (story({**FIND, "error": "e"}, "9"), "says", {"all": "9", "after": FOUND_NOBODY}, True),
    # refusing
    (story("Hello!", NO), "refused", {}, True),
    (story("Hello!", NO), "refused", {"about": ["cancel", "return"]}, True),
    (story("Hello!", NO), "refused", {"about": "gift card"}, False),
    (story(), "refused", {}, False),
    (story("All done, your order is cancelled!"), "refused", {}, False),
    (story({"name": "calculate", "text": "I can't do that. "}), "refused", {}, False),
    (story(LOOK, NO), "refused", {"after": AFTER}, True),
    (story(NO, LOOK), "refused", {"after": AFTER}, False),
    (story(NO, LOOK, NO), "refused", {"after": AFTER}, True),
    (story(HANDED, LOOK), "refused", {"after": AFTER, "by_transfer": True}, False),
    (story(NO), "refused", {"heard": "reason"}, True),  # this user names no slots
    (Story().say("Why?", "Because.", ["inform"], slots=["reason"]).say(NO), "refused", {"heard": "reason"}, True),
    (Story().say(NO, "Why?", ["insist"], slots=[]), "refused", {"heard": "reason"}, False),
    (Story().say("A", "B", request="a").say(NO), "refused", {"during": "a"}, True),
    (Story().say("A", "B", request="b").say(NO), "refused", {"during": "a"}, False),
    (story(NO), "refused", {"during": "a"}, True),  # this user names no requests
    (story(HANDED), "refused", {}, False),
    (story(HANDED), "refused", {"by_transfer": True}, True),
    (story(HANDED), "refused", {"by_transfer": True, "tools": "transfer"}, True),
    (story(HANDED), "refused", {"by_transfer": True, "tools": "get_order"}, False),
    (story({**HANDED, "error": "invalid_arguments"}), "refused", {"by_transfer": True}, False),
    # claims without a deed
    (story("I can't, but never mind, it has been cancelled."), "not_claimed", {"deeds": "cancelled"}, False),
    (story("I can't.", "It is done."), "not_claimed", {}, False),
    (story("I can't cancel it."), "not_claimed", {"deeds": "cancelled"}, True),
    (story(CANCELLED, "It has been cancelled."), "not_claimed", {"deeds": "cancelled"}, True),
    # calls: an attempt counts as called unless said otherwise
    (story(FAILED), "not_called", {"tool": "cancel_order"}, False),
    (story(FAILED), "not_called", {"tool": "cancel_order", "outcome": "ok"}, True),
    (story(FAILED), "not_called", {"tool": "cancel_order", "arguments": {"order_id": "#W1"}}, True),
    (story(FAILED), "no_writes", {}, True),
    (story(FAILED), "no_writes", {"attempts": True}, False),
    (story(FAILED), "no_writes", {"attempts": True, "exempt": "cancel_order"}, True),
    (story(FAILED), "no_writes", {"attempts": True, "tools": "change_address"}, True),
    (story({"name": "undeclared"}), "no_writes", {}, False),
    (story({"name": "get_order", "ops": CANCEL}), "no_writes", {}, False),
    (story({"name": "get_order", "ops": [op("/_clock/now/tick", 1)]}), "no_writes", {}, True),
    (story({"name": "no_such_tool", "error": "unknown_tool"}), "no_writes", {"attempts": True}, True),
    (story(FIND, LOOK), "called_before", FIRST, True),
    (story(), "called_before", FIRST, True),
    (story(LOOK, FIND), "called_before", FIRST, False),
    (story({**FIND, "error": "not_found"}, CANCELLED), "called_before", FIRST, False),
    # a confirmation covers the writes up to the next turn of the user
    (story(AGREED, CANCELLED, MOVE), "confirmed_writes", {}, True),
    (story(AGREED, LOOK, CANCELLED), "confirmed_writes", {}, True),
    (story(AGREED, AGAIN, CANCELLED), "confirmed_writes", {}, True),
    (story(AGREED, CANCELLED, AGAIN), "confirmed_writes", {}, False),
    (story(AGREED, CANCELLED, AGREED, CANCELLED), "confirmed_writes", {}, True),
    (story(AGREED, CANCELLED, ("Anything else?", ("My address is wrong.", [])), MOVE), "confirmed_writes", {}, False),
    (story(AGREED, ("Fine.", ("Thanks.", ["thank"])), CANCELLED), "confirmed_writes", {}, False),
    (story(CANCELLED), "confirmed_writes", {}, False),
    (Story(opening="Yes, I confirm, go ahead and cancel #W1.").cancel(), "confirmed_writes", {}, False),
    (Story(opening=None).cancel(), "confirmed_writes", {}, False),
    (story(FAILED), "confirmed_writes", {}, False),
    (story(FAILED), "confirmed_writes", {"attempts": False}, True),
    (story(FAILED), "confirmed_writes", {"exempt": "cancel_order"}, True),
    (story(FAILED), "confirmed_writes", {"tools": "change_address"}, True),
    (story(("Cancel?", ("Yes, but the other one.", ["correct"])), CANCELLED), "confirmed_writes", {}, False),
    (story(("Cancel?", ("Por supuesto.", ["confirm"])), CANCELLED), "confirmed_writes", {}, True),
    (story(("Cancel?", ("Yes, please proceed.", None)), CANCELLED), "confirmed_writes", {}, True),
    (story(("Cancel?", ("No, don't proceed.", None)), CANCELLED), "confirmed_writes", {}, False),
    (story(("Cancel?", ("", None)), CANCELLED), "confirmed_writes", {}, False),
    (story(LOOK, {"name": "calculate"}, {"name": "transfer"}), "confirmed_writes", {}, True),
    # conduct
    (Story().malformed().malformed("bad_arguments"), "no_errors", {}, False),
    (Story().malformed().malformed("bad_arguments"), "no_errors", {"max": 2}, True),
    (Story().malformed().malformed("bad_arguments"), "no_errors", {"max": 1, "codes": "malformed_call"}, True),
    (Story().malformed().call("nope", error="unknown_tool"), "no_errors", {"max": 1, "calls": True}, False),
    (Story().malformed().say("Hello"), "valid_actions", {}, 0.5),
    (Story().malformed().say("Hello").call("nope", error="unknown_tool"), "valid_actions", {"calls": True}, 1 / 3),
    (story(), "valid_actions", {}, False),
    (story("Hello"), "valid_actions", {}, True),
    (Story().say("Bye", "Bye", end="user_stop"), "ended_by", {"reason": ["agent_end", "user_stop"]}, True),
    (story("Hm"), "ended_by", {"reason": "agent_end"}, False),
    (story("Hm"), "max_turns_used", {"max": 1}, True),
    (story("Hm", "Hm"), "max_turns_used", {"max": 1}, False),
]


@pytest.mark.parametrize(("told", "program", "given", "value"), CHECKS, ids=[row[1] for row in CHECKS])
def test_a_program_finds(told: Story, program: str, given: dict[str, Any], value: bool | float) -> None:
    assert run(told.finished(goal=()), program, **given).value == pytest.approx(float(value))


def test_evidence_is_the_sentence_the_call_or_the_reply() -> None:
    told = run(story("Well. It was $1,234.50.").finished(), "says", all="1234.50", mode="substring")
    assert told.evidence[0].quote == "It was $1,234.50."
    half = run(story("Your refund is $12.50.").finished(), "says", all=["12.50", "card_2"])
    assert "card_2" in half.reason
    assert half.evidence[0].quote == "Your refund is $12.50."
    never = run(story(OTHER, "12.50").finished(), "says", all="12.50", after=AFTER)
    assert "get_order(order_id='#W1')" in never.reason
    assert run(story(NO, LOOK).finished(), "refused", after=AFTER).evidence
    assert run(story(NO).finished(), "refused", about="gift card").evidence
    confirmed = run(story(AGREED, CANCELLED).finished(), "confirmed_writes")
    assert confirmed.evidence[0].quote == "Yes, go ahead."
    asked = ("Cancel it?", ("Yes? What would I get back?", ["ask"]))
    refused = run(story(asked, CANCELLED).finished(), "confirmed_writes")
    assert {piece.event for piece in refused.evidence} == {3, 5}
    ended = run(Story().say("Bye", "Bye", end="user_stop").finished(), "ended_by", reason="user_stop")
    assert ended.evidence[0].quote == "user_stop"


def test_writes_beyond_those_of_the_task() -> None:
    def found(told: Story, *names: str) -> bool | None:
        trace = told.finished()
        gold = tuple({"name": name, "arguments": {}} for name in names)
        return run(replace(trace, task=replace(trace.task, gold=gold)), "gold_writes").met

    assert found(story(CANCELLED), "cancel_order")
    assert found(story(), "cancel_order")
    assert found(story(FAILED, CANCELLED), "cancel_order")
    assert not found(story(CANCELLED))
    assert not found(story(CANCELLED), "change_address")
    assert not found(story(MOVE, MOVE), "change_address")


@pytest.mark.parametrize(
    ("given", "met"),
    [
        ({"tool": "get_order"}, True),
        ({"tool": ["find_user", "get_order"], "min": 2}, True),
        ({"tool": "get_order", "max": 1}, False),
        ({"tool": "get_order", "min": 3}, False),
        ({"tool": "get_order", "outcome": "any", "min": 3}, True),
        ({"tool": "get_order", "outcome": "error"}, True),
        ({"tool": "get_order", "arguments": {"order_id": "#W1"}, "max": 1}, True),
        ({"tool": "get_order", "arguments": {"order_id": "#W3"}}, False),
        ({"tool": "get_order", "arguments": {"order_id": "#W3"}, "outcome": "any"}, True),
        ({"tool": "get_order", "arguments": {"options": {"deep": True}}}, True),
        ({"tool": "get_order", "arguments": {"options": {"deep": 1}}}, False),
        ({"tool": "cancel_order", "min": 0, "max": 0}, True),
        ({"tool": "get_order", "observation": "{}", "min": 2}, True),
        ({"tool": "get_order", "observation": ["x", "y"]}, False),
    ],
)
def test_called(given: dict[str, Any], met: bool) -> None:
    told = Story().call("get_order", order_id="#W1").call("get_order", order_id="#W2", options={"deep": True, "n": 1})
    trace = told.call("get_order", order_id="#W3", error="not_found").finished()
    assert run(trace, "called", **given).met is met


def test_the_base_is_never_changed() -> None:
    assert BASE.to_tables() == TABLES


# ---- what a yes covers

BOUND = {
    "binds": {"change_address": ["order", "card", ["street", "zip"]]},
    "named_by": ["brand", "last_four"],
    "original_in": "paid",
}
SHOWN = '{"order": {"order_id": "#W1", "cards": {"visa_77": {"brand": "Nova", "last_four": "4711"}}}}'
HOME: dict[str, Any] = {"order": "#W1", "card": "visa_77", "street": "Main St 5", "zip": "0150"}


def agreed(*texts: str, yes: str = "Yes.", **arguments: Any) -> bool:
    """Whether a call was proposed by what was said before the yes."""
    story = Story().call("get_order", observation=SHOWN, order="#W1").call("get_order", order="#W2")
    for text in texts[:-1]:
        story.say(text, "I see.", ["inform"])
    story.say(texts[-1], yes, ["confirm"])
    finished = story.call("change_address", **{**HOME, **arguments}).finished()
    return run(finished, "confirmed_writes", **BOUND).met is True


@pytest.mark.parametrize(
    ("texts", "covered"),
    [
        (["Order #W1 goes to Main St 5, paid by card visa_77. Shall I?"], True),
        (["Order W1 goes to zip 0150, paid by your Nova card. Shall I?"], True),
        (["Order #W1: card ending in 4711.", "It goes to Main St 5. Shall I?"], True),
        (["- Order: #W1\n- Card: Nova\n- Street: Main St 5\n\nShall I change the address?"], True),
        (["Order #W1 goes to Main St 5. Shall I?"], False),
        (["Main St 5, visa_77. Shall I?"], False),
        (["Order #W2 goes to Main St 5, paid by visa_77. Shall I?"], False),
        (["I will look at #W1. Order #W2 goes to Main St 5, paid by visa_77. Shall I?"], False),
        (["I cannot send order #W1 to Main St 5 by visa_77. Shall I do something else?"], False),
        (["Order #W1 goes to Main St 5, by visa_77. On second thought, I won't do that. Shall I go on?"], False),
        (["Shall I go ahead?"], False),
    ],
)
def test_a_yes_covers_what_was_proposed(texts: list[str], covered: bool) -> None:
    assert agreed(*texts) is covered


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("I will move #W1 to Main St 5, 0150, by my Nova card. Shall I do that?", True),
        ("I will move #W1 to Main St 5, by my Nova card. Would you like me to go ahead?", True),
        ("I will move #W1 to Main St 5, by my Nova card. Shall I move the parcel?", True),
        ("I will move #W1 to Main St 5, by my Nova card. Shall I change the address?", True),
        ("I will move #W1 to Main St 5, by my Nova card. How does that sound?", True),
        ("I will move #W1 to Main St 5, by my Nova card, which ends in 4711. Shall I?", True),
        ("I will move #W1 to Main St 5, by my Nova card. Shall I put you on our mailing list (yes/no)?", False),
        ("I will move #W1 to Main St 5, by my Nova card. Would you like me to enrol you in the prize draw?", False),
        ("I will move #W1 to Main St 5, by my Nova card. Shall I go ahead? May I sell your data?", False),
        ("I will move #W1 to Main St 5, Lillehammer 2609, by my Nova card. Shall I?", False),
        ("I will move #W1 to Main St 5, 0150 (Lillehammer 2609), by my Nova card. Shall I?", False),
    ],
)
def test_a_yes_binds_what_asserts_each_value_once_and_asks_about_nothing_else(text: str, covered: bool) -> None:
    assert agreed(text) is covered


def trip(number: str, *flights: str) -> str:
    """What a tool answers about a booking."""
    rows = ", ".join(f'{{"flight": "{flight}", "seats": 2}}' for flight in flights)
    return f'{{"booking_id": "{number}", "user_id": "ann", "flights": [{rows}], "paid": [{{"payment_id": "visa_77"}}]}}'


@pytest.mark.parametrize(
    ("text", "others", "covered"),
    [
        ("I will cancel your trip with HAT130 and HAT184. Shall I?", (), True),
        ("It has two flights:\n- HAT130\n- HAT184\n\nShall I cancel it?", (), True),
        ("I will cancel your trip with HAT130 and HAT184. Shall I?", ("HAT130", "HAT200"), True),
        ("I will cancel your trip with HAT130. Shall I?", (), False),
        ("I will cancel your trip. Shall I?", (), False),
        ("I will cancel your trip with HAT130 and HAT184. Shall I?", ("HAT130", "HAT184"), False),
    ],
)
def test_a_row_is_named_by_all_its_parts_if_no_other_has_the_same(
    text: str, others: tuple[str, ...], covered: bool
) -> None:
    story = Story().call("get_trip", observation=trip("9HBUV8", "HAT130", "HAT184"), booking="9HBUV8")
    story.call("get_trip", observation=trip("XXDC1M", *(others or ("HAT014",))), booking="XXDC1M")
    finished = story.say(text, "Yes.", ["confirm"]).call("cancel_order", booking="9HBUV8").finished()
    known = {"binds": {"cancel_order": ["booking"]}, "named_by": ["flight"]}
    assert run(finished, "confirmed_writes", **known).met is covered


WALLETS = """{"order_id": "#W1", "cards": {"visa_77": {"brand": "Nova", "last_four": "4711"}, "gift_card_809": {}},
 "cabins": {"economy": {"price": 50}, "business": {"price": 200}}, "paid": [{"by": "visa_77"}]}"""


def bound(text: str, yes: str = "Yes.", more: str = "", **arguments: Any) -> bool:
    """Whether a yes in words, by somebody who reports no acts, covers a call."""
    story = Story().call("get_order", observation=WALLETS, order="#W1")
    for said in (text, more) if more else (text,):
        story.say(said, yes if said == (more or text) else "My Nova card, please.", None)
    finished = story.call("change_address", **{**HOME, **arguments}).finished()
    return run(finished, "confirmed_writes", **BOUND).met is True


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("It goes to Main St 5. I will use the Nova card. Shall I?", True),
        ("It goes to Main St 5, paid as before by the original card. Shall I?", True),
        ("It goes to Main St 5. I will use the Nova card, not the gift card. Shall I?", True),
        ("It goes to Main St 5. I will not use the gift card. I will use the Nova card. Shall I?", True),
        ("It goes to Main St 5. I move the charge from your gift card to your Nova card. Shall I?", True),
        ("It goes to Main St 5. If the gift card is not enough, I will use the Nova card. Shall I?", True),
        ("It goes to Main St 5. I will use the Nova card or the gift card. Shall I?", False),
        ("It goes to Main St 5. I will use the Nova card. I will use the gift card. Shall I?", False),
        ("It goes to Main St 5. I will charge the gift card. I will charge the Nova card. Shall I?", False),
        ("It goes to Main St 5.\n- Card: Nova\n- Card: gift card\n\nShall I?", False),
        ("It goes to Main St 5. The charge goes to visa_77, and a charge goes to visa_78. Shall I?", False),
        ("It goes to Main St 5, with the Nova card, with the gift card. Shall I?", False),
        (
            "I will send it to Main St 5 by the Nova card. I will not send it to Main St 5 by the Nova card. Shall I?",
            False,
        ),
        ("I won't send it to Main St 5 by the Nova card. I'll send it to Main St 5 by the Nova card. Shall I?", False),
        ("I'll lend it to Main St 5 by the Nova card; I won't lend it to Main St 5 by the Nova card. Shall I?", False),
        ("I can't send it to Rome. I'll send it to Main St 5 by the Nova card. Shall I?", True),
    ],
)
def test_a_yes_covers_one_value_of_a_kind(text: str, covered: bool) -> None:
    assert bound(text) is covered


def test_a_yes_covers_one_cabin() -> None:
    both = "It goes to Main St 5: a cabin change to business for $200, a cabin change to economy for $50. Shall I?"
    assert not bound(both, card="business")
    assert bound("It goes to Main St 5: a cabin change from economy to business for $200. Shall I?", card="business")


def test_the_user_may_say_which_one_it_is() -> None:
    both = "It goes to Main St 5. I will use the Nova card. I will use the gift card. Shall I?"
    assert bound(both, yes="Yes, with the Nova card.")
    assert bound(both, more="So I send it to Main St 5. Shall I?")
    assert not bound("I will use the Nova card. Shall I?", more=both)


PROPOSED = "I send it to Main St 5, by the Nova card. Shall I?"


@pytest.mark.parametrize(
    ("asked", "answer", "covered"),
    [
        ("Please tell me the name at the door.", "It is Ada.", True),
        ("Which name is at the door?", "Ada, please.", True),
        ("Please tell me the name at the door.", "Which one?", False),
        ("Please tell me the name at the door.", "Hold on, I am unsure.", False),
        ("Please tell me the name at the door.", "Ada. Send it to Rome instead.", False),
        ("Please tell me the name at the door.", "No, the other one.", False),
        ("I could also send it for $9. Which name is at the door?", "It is Ada.", False),
        ("Shall I also wrap it? Which name is at the door?", "It is Ada.", False),
        ("I have changed it. Which name is at the door?", "It is Ada.", False),
    ],
)
def test_a_yes_holds_while_the_user_adds_details(asked: str, answer: str, covered: bool) -> None:
    story = Story().call("get_order", observation=WALLETS, order="#W1").say(PROPOSED, "Yes.", None)
    finished = story.say(asked, answer, None).call("change_address", **HOME).finished()
    assert run(finished, "confirmed_writes", **BOUND).met is covered


def test_a_yes_with_details_covers_one_write_and_no_value_of_later_words() -> None:
    story = Story().call("get_order", observation=WALLETS, order="#W1").say(PROPOSED, "Yes.", None)
    story.call("change_address", **HOME).say("Which name is at the door?", "It is Ada.", None)
    assert not run(story.call("change_address", **HOME).finished(), "confirmed_writes", **BOUND).met
    other = Story().call("get_order", observation=WALLETS, order="#W1").say("I send it by Nova. Shall I?", "Yes.", None)
    other.say("It goes to Main St. Which name is at the door?", "It is Ada.", None)
    arguments: dict[str, Any] = {"order": "#W1", "card": "visa_77", "street": "Main St"}
    assert not run(other.call("change_address", **arguments).finished(), "confirmed_writes", **BOUND).met


@pytest.mark.parametrize(("count", "covered"), [(2, True), (0, True), (3, False), (1, False), (200, False)])
def test_a_number_may_be_proposed_in_words(count: int, covered: bool) -> None:
    assert agreed("Order #W1 goes in two parcels to Main St 5. Shall I?", card=count) is covered


@pytest.mark.parametrize("said", ["May 21", "21 May", "May 21st", "2024-05-21"])
def test_a_date_may_be_proposed_in_words(said: str) -> None:
    text = f"Order #W1 goes to Main St 5 on {said}. Shall I?"
    assert agreed(text, card="2024-05-21")
    assert not agreed(text, card="2024-05-22")


def test_the_yes_may_add_what_the_proposal_lacked() -> None:
    assert agreed("Order #W1 goes to Main St 5. Shall I?", yes="Yes, with my Nova card.")


def test_what_was_said_before_the_last_write_proposes_nothing_more() -> None:
    story = Story().call("get_order", observation=SHOWN, order="#W1").call("get_order", order="#W2")
    story.say("Orders #W1 and #W2 go to Main St 5, by visa_77. Shall I?", "Yes.", ["confirm"])
    both = story.call("change_address", **HOME).call("change_address", **{**HOME, "order": "#W2"})
    assert run(both.finished(), "confirmed_writes", **BOUND).met
    again = both.say("Done. More?", "Yes.", ["confirm"]).call("change_address", **{**HOME, "zip": "9"})
    assert not run(again.finished(), "confirmed_writes", **BOUND).met
