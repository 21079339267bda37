from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from simia_gym.rewards.finding import Finding
from simia_gym.state import State
from simia_gym.types import Op

from .story import BASE, CANCEL, TABLES, Story, holds, op, run

GOAL = (holds("/orders/#W1/status", "cancelled"),)
MOVED = {"city": "Bergen", "zip": "5003"}


def asked() -> Story:
    """An agent that proposed and was told to go ahead."""
    return Story().say("Shall I cancel #W1 for a refund of $12.50?", "Yes, go ahead.", ["confirm"])


# ---- the final state


def test_the_goal_holds_and_nothing_else_changed() -> None:
    found = run(asked().cancel().finished(goal=GOAL), "goal_state")
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


def test_a_wiped_state_meets_no_goal() -> None:
    wipe: list[Op] = [
        {"op": "remove", "path": f"/{table}/{key}"} for table in ("orders", "users") for key in TABLES[table]
    ]
    trace = Story().call("cancel_order", wipe).finished(goal=())
    assert not run(trace, "goal_state").met
    assert not run(trace, "unchanged", tables="users").met


def test_a_claim_changes_no_state() -> None:
    trace = Story().say("I have cancelled order #W1, its status is now cancelled.").finished(goal=GOAL)
    assert not run(trace, "goal_state").met


def test_only_touched_rows_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {f"#{n}": {"status": "pending", "total": n} for n in range(2000)}
    base = State.from_tables({"orders": rows})
    trace = (
        Story(base)
        .call("cancel_order", [op("/orders/#7/status", "cancelled")])
        .finished(goal=[holds("/orders/#7/status", "cancelled")])
    )
    looked: list[str] = []
    get = State.get

    def spy(self: State, table: str, key: str) -> Any:
        looked.append(key)
        return get(self, table, key)

    monkeypatch.setattr(State, "get", spy)
    monkeypatch.setattr(State, "rows", None)
    assert run(trace, "goal_state").met
    assert set(looked) == {"#7"}


def test_ignored_values_do_not_matter() -> None:
    trace = Story().call("cancel_order", [*CANCEL, op("/orders/#W1/address/zip", "x")]).finished(goal=GOAL)
    assert not run(trace, "goal_state").met
    assert run(trace, "goal_state", ignore="/orders/*/address").met
    assert not run(trace, "goal_state", ignore=["/users", "/orders/#W2"]).met


def test_tolerance_is_a_choice() -> None:
    trace = Story().call("cancel_order", [op("/orders/#W1/total", 12.5001)]).finished(goal=())
    assert not run(trace, "goal_state").met
    assert run(trace, "goal_state", tolerance=0.01).met


@pytest.mark.parametrize("program", ["goal_state", "unchanged"])
def test_without_state_nothing_is_judged(program: str) -> None:
    found = run(Story().call("cancel_order", None).finished(goal=()), program)
    assert found.value is None


def test_without_a_goal_nothing_is_judged() -> None:
    assert run(Story().finished(goal=None), "goal_state").value is None


def test_one_value_of_the_state() -> None:
    trace = Story().cancel().finished()
    assert run(trace, "state_is", path="/orders/#W1/status", value="cancelled").met
    assert run(trace, "state_is", path="/orders/#W9", value=None).met
    found = run(trace, "state_is", path="/orders/#W2/status", value="cancelled")
    assert not found.met
    assert "delivered" in found.reason


def test_unchanged_tables() -> None:
    trace = Story().cancel().finished()
    assert run(trace, "unchanged", tables=["users"]).met
    assert not run(trace, "unchanged", tables=["users", "orders"]).met


# ---- what the user was told


def test_told() -> None:
    trace = Story().say("Your refund is $12.50.").say("It goes to card_1.").finished()
    assert run(trace, "says", all=[12.5, "card_1"]).met
    assert run(trace, "says", any=["99", "12.50"]).met
    half = run(trace, "says", all=["12.50", "card_2"])
    assert half.value == 0.5
    assert "card_2" in half.reason
    assert half.evidence[0].quote == "Your refund is $12.50."
    assert run(trace, "says", all=["12.50"], any=["x", "y"]).value == 0.5


def test_words_that_were_not_delivered_were_not_told() -> None:
    story = Story().call("calculate", text="The refund is 12.50. ", observation="12.50", expression="12.50")
    story.malformed().say("I am done.", "Your refund is 12.50, thanks.")
    assert not run(story.finished(), "says", all="12.50").met


def test_numbers_inside_ids_were_not_told() -> None:
    trace = Story().say("Order #W1002 has 210 items.").finished()
    assert not run(trace, "says", any=["10", "1002"]).met
    assert run(trace, "says", all="10", mode="substring").met


def test_the_plain_rule() -> None:
    trace = Story().say("Well. It was $1,234.50.").finished()
    found = run(trace, "says", all="1234.50", mode="substring")
    assert found.met
    assert found.evidence[0].quote == "It was $1,234.50."


def test_not_told() -> None:
    trace = Story().say("The code is 4711.").finished()
    assert run(trace, "not_says", any="4712").met
    found = run(trace, "not_says", any=["4712", "4711"])
    assert not found.met
    assert found.evidence[0].quote == "The code is 4711."


def test_refusing() -> None:
    trace = Story().say("Hello!").say("I'm sorry, I can't cancel a delivered order.").finished()
    assert run(trace, "refused").met
    assert run(trace, "refused", about=["cancel", "return"]).met
    other = run(trace, "refused", about="gift card")
    assert not other.met
    assert other.evidence


def test_reciting_is_not_telling() -> None:
    many = ", ".join(f"{n}.50" for n in range(1, 15))
    assert not run(Story().say(many).finished(), "says", all="12.50").met
    assert run(Story().say(many).finished(), "says", all="12.50", most=13).met
    assert run(Story().say(many).finished(), "says", all="12.50", mode="substring").met
    ids = " ".join(f"card_{n}" for n in range(20))
    assert not run(Story().say(ids).finished(), "says", all="card_7").met
    assert run(Story().say("card_7 or card_8").finished(), "says", all="card_7").met
    assert not run(Story().say("12.50 " + "so " * 2000).finished(), "says", all="12.50").met
    assert run(Story().say("12.50 " + "so " * 2000).finished(), "says", all="12.50", longest=9000).met
    both = Story().say("It is pending or delivered.").finished()
    assert run(both, "says", all="pending", rivals=["delivered", "cancelled"]).met
    assert not run(both, "says", all="pending", rivals=["delivered", "cancelled"], most=0).met


def test_list_numbers_tell_nothing() -> None:
    trace = Story().say("1. red\n2. blue\n3) green").finished()
    assert not run(trace, "says", any=["2", "3"]).met
    assert run(
        Story().say("There are 3:\n1. red\n2. blue\n3. green").finished(), "says", all="3", rivals="2", most=0
    ).met


def test_telling_counts_after_the_calls_that_show_it() -> None:
    after = [{"tool": "get_order", "arguments": {"order_id": "#W1"}}]
    assert run(Story().call("get_order", order_id="#W1").say("12.50").finished(), "says", all="12.50", after=after).met
    early = run(Story().say("12.50").call("get_order", order_id="#W1").finished(), "says", all="12.50", after=after)
    assert not early.met
    never = run(Story().call("get_order", order_id="#W2").say("12.50").finished(), "says", all="12.50", after=after)
    assert "get_order(order_id='#W1') never came first" in never.reason
    choice = [[*after, {"tool": "find_user", "observation": "ada"}]]
    assert run(Story().call("find_user", observation="ada").say("9").finished(), "says", all="9", after=choice).met
    assert not run(Story().call("find_user", observation="bob").say("9").finished(), "says", all="9", after=choice).met
    failed = [{"tool": "find_user", "outcome": "error"}]
    assert run(Story().call("find_user", error="e").say("9").finished(), "says", all="9", after=failed).met


def test_refusing_counts_once_the_agent_can_know() -> None:
    no, after = "I'm sorry, I can't cancel it.", {"tool": "get_order"}
    assert run(Story().call("get_order").say(no).finished(), "refused", after=after).met
    early = run(Story().say(no).call("get_order").finished(), "refused", after=after)
    assert not early.met
    assert early.evidence
    assert run(Story().say(no).call("get_order").say(no).finished(), "refused", after=after).met
    assert run(Story().say(no).finished(), "refused", heard="reason").met  # this user names no slots
    handed = Story().call("transfer").call("get_order").finished()
    assert not run(handed, "refused", after=after, by_transfer=True).met


def test_refusing_counts_once_the_user_has_told_its_part() -> None:
    no = "I'm sorry, I can't cancel it."
    story = Story().say("Why?", "Because.", ["inform"], slots=["reason"])
    assert run(story.say(no).finished(), "refused", heard="reason").met
    found = run(Story().say(no, "Why?", ["insist"], slots=[]).finished(), "refused", heard="reason")
    assert not found.met
    assert "what the user says about reason" in found.reason


def test_claims_without_a_deed() -> None:
    lie = "I can't, but never mind, it has been cancelled."
    assert not run(Story().say(lie).finished(), "not_claimed", deeds="cancelled").met
    assert not run(Story().say("I can't.").say("It is done.").finished(), "not_claimed").met
    assert run(Story().say("I can't cancel it.").finished(), "not_claimed", deeds="cancelled").met
    assert run(Story().cancel().say("It has been cancelled.").finished(), "not_claimed", deeds="cancelled").met


def test_writes_beyond_those_of_the_task() -> None:
    def found(story: Story, *names: str) -> bool | None:
        trace = story.finished()
        gold = tuple({"name": name, "arguments": {}} for name in names)
        task = dataclasses.replace(trace.task, gold=gold)
        return run(dataclasses.replace(trace, task=task), "gold_writes").met

    assert found(Story().cancel(), "cancel_order")
    assert found(Story(), "cancel_order")
    assert found(Story().call("cancel_order", error="e").cancel(), "cancel_order")
    assert not found(Story().cancel())
    assert not found(Story().cancel(), "change_address")
    assert not found(Story().call("change_address").call("change_address"), "change_address")


def test_doing_nothing_or_claiming_is_not_refusing() -> None:
    assert not run(Story().finished(), "refused").met
    assert not run(Story().say("All done, your order is cancelled!").finished(), "refused").met
    assert not run(Story().call("calculate", text="I can't do that. ").finished(), "refused").met


def test_handing_over_counts_where_it_may() -> None:
    trace = Story().call("transfer", summary="delivered").finished()
    assert not run(trace, "refused").met
    assert run(trace, "refused", by_transfer=True).met
    assert run(trace, "refused", by_transfer=True, tools="transfer").met
    assert not run(trace, "refused", by_transfer=True, tools="get_order").met
    failed = Story().call("transfer", error="invalid_arguments").finished()
    assert not run(failed, "refused", by_transfer=True).met


# ---- calls


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
    story = Story().call("get_order", order_id="#W1").call("get_order", order_id="#W2", options={"deep": True, "n": 1})
    trace = story.call("get_order", order_id="#W3", error="not_found").finished()
    assert run(trace, "called", **given).met is met


def test_an_attempt_counts_as_called_unless_said_otherwise() -> None:
    trace = Story().call("cancel_order", error="not_pending", order_id="#W2").finished()
    assert not run(trace, "not_called", tool="cancel_order").met
    assert run(trace, "not_called", tool="cancel_order", outcome="ok").met
    assert run(trace, "not_called", tool="cancel_order", arguments={"order_id": "#W1"}).met
    assert run(trace, "no_writes").met
    assert not run(trace, "no_writes", attempts=True).met
    assert run(trace, "no_writes", attempts=True, exempt="cancel_order").met
    assert run(trace, "no_writes", attempts=True, tools="change_address").met


def test_what_counts_as_a_write() -> None:
    assert not run(Story().call("undeclared").finished(), "no_writes").met
    assert not run(Story().call("get_order", CANCEL).finished(), "no_writes").met
    assert run(Story().call("get_order", [op("/_clock/now/tick", 1)]).finished(), "no_writes").met
    assert run(Story().call("no_such_tool", error="unknown_tool").finished(), "no_writes", attempts=True).met


def test_authentication_first() -> None:
    first = {"tool": "find_user", "before": ["get_order"], "effects": ["write"]}
    assert run(Story().call("find_user").call("get_order").finished(), "called_before", **first).met
    assert run(Story().finished(), "called_before", **first).met
    assert not run(Story().call("get_order").call("find_user").finished(), "called_before", **first).met
    assert not run(Story().call("find_user", error="not_found").cancel().finished(), "called_before", **first).met


# ---- confirmations


def confirmed(story: Story, **given: Any) -> Finding:
    return run(story.finished(), "confirmed_writes", **given)


def test_confirmed_writes() -> None:
    found = confirmed(asked().cancel())
    assert found.met
    assert found.evidence[0].quote == "Yes, go ahead."


def test_one_confirmation_covers_the_writes_up_to_the_next_user_turn() -> None:
    assert confirmed(asked().cancel().call("change_address")).met
    assert confirmed(asked().call("get_order").cancel()).met
    assert not confirmed(
        asked().cancel().say("Done. Anything else?", "My address is wrong.", []).call("change_address")
    ).met
    assert not confirmed(asked().say("Fine.", "Thanks.", ["thank"]).cancel()).met


def test_unconfirmed_writes() -> None:
    assert not confirmed(Story().cancel()).met
    assert not confirmed(Story(opening="Yes, I confirm, go ahead and cancel #W1.").cancel()).met
    assert not confirmed(Story(opening=None).cancel()).met
    found = confirmed(Story().say("Cancel it?", "Yes? What would I get back?", ["ask"]).cancel())
    assert not found.met
    assert {piece.event for piece in found.evidence} == {3, 5}


def test_attempts_need_a_confirmation_too() -> None:
    story = Story().call("cancel_order", error="invalid_arguments")
    assert not confirmed(story).met
    assert confirmed(story, attempts=False).met
    assert confirmed(story, exempt="cancel_order").met
    assert confirmed(story, tools="change_address").met


def test_acts_outweigh_words() -> None:
    assert not confirmed(Story().say("Cancel?", "Yes, but the other one.", ["correct"]).cancel()).met
    assert confirmed(Story().say("Cancel?", "Por supuesto.", ["confirm"]).cancel()).met


def test_words_count_where_the_user_has_no_acts() -> None:
    assert confirmed(Story().say("Cancel?", "Yes, please proceed.").cancel()).met
    assert not confirmed(Story().say("Cancel?", "No, don't proceed.").cancel()).met
    assert not confirmed(Story().say("Cancel?", "").cancel()).met


def test_reads_need_no_confirmation() -> None:
    assert confirmed(Story().call("get_order").call("calculate").call("transfer")).met


# ---- conduct


def test_malformed_actions() -> None:
    trace = Story().malformed().say("Hello").malformed("bad_arguments").call("nope", error="unknown_tool").finished()
    assert not run(trace, "no_errors").met
    assert run(trace, "no_errors", max=2).met
    assert not run(trace, "no_errors", max=2, calls=True).met
    assert run(trace, "no_errors", max=1, codes="malformed_call").met
    assert run(trace, "valid_actions").value == 0.5
    assert run(trace, "valid_actions", calls=True).value == 0.25
    assert run(Story().finished(), "valid_actions").value == 0.0
    assert run(Story().say("Hello").finished(), "valid_actions").met


def test_the_end() -> None:
    trace = Story().say("Bye", "Bye", end="user_stop").finished("user_stop")
    assert run(trace, "ended_by", reason=["agent_end", "user_stop"]).evidence[0].quote == "user_stop"
    assert run(trace, "max_turns_used", max=1).met
    cut = Story().say("Hm").say("Hm").finished("turn_limit")
    assert not run(cut, "ended_by", reason="user_stop").met
    assert not run(cut, "max_turns_used", max=1).met


def test_the_base_is_never_changed() -> None:
    assert BASE.to_tables() == TABLES
