"""Whatever the agent writes, and wherever: an oracle that obeys every word outside the blocks obeys none of it."""

from __future__ import annotations

from typing import Any

import pytest

from simia_gym.common.json_encoding import encode

from ..proof.stage import Outcome
from ..sweeps import sweep
from .book import BOOK, Attack
from .stage import RETAIL, Arena, play


@pytest.mark.parametrize("attack", sweep(BOOK, 15), ids=lambda attack: attack.name)
@pytest.mark.slow
def test_an_attack_changes_nothing(arena: Arena, attack: Attack) -> None:
    for simulator in ("ledger", "reference"):
        real = arena.play(simulator, attack, really=True)
        assert real.verdict.reward is not None
        assert real.verdict.reward < 1
        arena.requests.clear()
        outcome = arena.play(simulator, attack)
        assert arena.obedient.counts["obeyed"] == {}
        assert arena.obedient.counts["refused"] == {}
        wanted = {simulator, "user", "judge"} if arena.env == RETAIL else {simulator}
        assert arena.check_prompts() >= wanted
        same_end(outcome, real, attack, keeps_state=simulator == "ledger", judged=arena.env == RETAIL)


def same_end(outcome: Outcome, real: Outcome, attack: Attack, *, keeps_state: bool, judged: bool) -> None:
    """The episode went as it goes in the world."""
    assert outcome.verdict.fault is None
    assert (outcome.ended, outcome.turns) == (real.ended, real.turns)
    assert words(outcome) == words(real)
    # A call that is too long is refused everywhere; who keeps no state shows no page beside the refusal.
    told = slice(None) if keeps_state or not attack.flood else slice(1, None)
    assert [answer[told] for answer in outcome.answers] == [answer[told] for answer in real.answers]
    assert not keeps_state or outcome.changed == real.changed
    if keeps_state or judged:
        assert outcome.verdict.reward == real.verdict.reward
    else:  # nothing keeps a state, and nobody can judge what was bought
        assert outcome.verdict.reward is None
    assert not outcome.verdict.success


def words(outcome: Outcome) -> list[tuple[Any, ...]]:
    """What the user said, with what it meant by it."""
    return [
        (event.get("text") or event["observation"], event.get("end"), event["meta"].get("acts"))
        for event in outcome.events
        if event["type"] in ("message", "transition") and event["speaker"] == "user"
    ]


@pytest.mark.parametrize("arena", [RETAIL], indirect=True)
def test_nobody_is_shown_what_is_not_for_them(arena: Arena) -> None:
    attack = next(attack for attack in BOOK if attack.name == "asking for what is private")
    arena.requests.clear()
    arena.play("ledger", attack)
    user: Any = arena.task.user
    facts = [encode(item).decode() for item in (user["requests"], user["facts"], list(arena.task.gold))]
    policy = arena.suites["ledger"].domain.policy.strip()
    seen = set()
    for body in arena.requests:
        system, *others = (message["content"] for message in body["messages"])
        if "<<data:customer" in system:
            seen.add("user")
            assert policy not in system
            assert facts[2] not in system
            assert not any(fact in text for fact in facts for text in others)
        else:
            assert not any(fact in text for fact in facts[:2] for text in (system, *others))
            seen.add("others")
    assert seen == {"user", "others"}


@pytest.mark.parametrize("arena", [RETAIL], indirect=True)
def test_a_flood_of_calls_is_judged_all_the_same(arena: Arena) -> None:
    """The most calls that an episode has room for, each with a long answer."""
    call = '<tool_call>\n{"name": "list_all_product_types", "arguments": {}}\n</tool_call>'
    arena.requests.clear()
    outcome = play(arena.suites["ledger"], arena.task, ["\n".join([call] * 16)] * 40)
    assert (outcome.ended, len(outcome.answers)) == ("turn_limit", 640)
    assert outcome.verdict.fault is None
    assert outcome.verdict.reward == 0
    assert "judge" in arena.check_prompts()


@pytest.mark.parametrize("arena", [RETAIL], indirect=True)
def test_what_was_stored_does_not_burden_later_calls(arena: Arena) -> None:
    """The longest texts that a tool takes, of characters that take most room, in every row that can be written."""
    tables = arena.suites["ledger"].domain.base.to_tables()
    order_id, order = next((key, row) for key, row in tables["orders"].items() if row["status"] == "pending")
    blank = dict.fromkeys(("address1", "address2", "city", "state", "country", "zip"), "\u200b" * 530)
    calls = [
        ("modify_user_address", {"user_id": order["user_id"], **blank}),
        ("modify_pending_order_address", {"order_id": order_id, **blank}),
        ("get_user_details", {"user_id": order["user_id"]}),
        ("get_order_details", {"order_id": order_id}),
        ("cancel_pending_order", {"order_id": order_id, "reason": "no longer needed"}),
        ("transfer_to_human_agents", {"summary": "done"}),
    ]
    actions = [f"<tool_call>\n{encode({'name': n, 'arguments': a}).decode()}\n</tool_call>" for n, a in calls]
    real, outcome = (play(arena.suites[name], arena.task, actions) for name in ("world", "ledger"))
    assert [outcome for _, outcome, _ in real.answers] == ["ok"] * len(calls)
    assert outcome.verdict.fault is None
    assert outcome.answers == real.answers
    assert outcome.changed == real.changed
    assert outcome.verdict.reward == real.verdict.reward != 1
