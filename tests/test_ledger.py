from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simia_gym.common.json_encoding import decode, encode
from simia_gym.errors import InputError
from simia_gym.record.ledger import Ledger, first_divergence


def filled() -> Ledger:
    ledger = Ledger()
    ledger.append("start", env="simia/x-v0", seed=7, task="t1")
    ledger.append("action", turn=1, text="hello")
    ledger.append("transition", turn=1, call={"name": "f", "arguments": {"a": [1, 2]}}, observation="ok", ops=[])
    ledger.append("end", reason="user_stop", turn=1, truncated=False)
    return ledger


def plain(ledger: Ledger) -> list[dict[str, Any]]:
    return [decode(encode(event)) for event in ledger.events]


def test_events_are_numbered_and_stay_as_they_are() -> None:
    ledger = Ledger()
    before = ledger.events
    ledger.append("a")
    assert ledger.append("b", env="e") == 1
    events = ledger.events
    assert events == ({"i": 0, "type": "a"}, {"i": 1, "type": "b", "env": "e"})
    assert before == ()
    assert list(events[1]) == ["i", "type", "env"]
    assert len(ledger) == len(events) == 2


def test_later_changes_of_the_values_do_not_reach_the_record() -> None:
    ledger = Ledger()
    call: dict[str, Any] = {"arguments": {"ids": [1]}}
    ledger.append("transition", call=call)
    head = ledger.head
    call["arguments"]["ids"].append(2)
    assert ledger.events[0]["call"] == {"arguments": {"ids": [1]}}
    with pytest.raises(TypeError):
        ledger.events[0]["call"]["arguments"]["ids"].append(2)
    Ledger.verify(ledger.events, head)


def test_bad_events_are_refused_and_leave_nothing() -> None:
    ledger = Ledger()
    for name in ("i", "blobs"):
        with pytest.raises(InputError, match="'i' and 'blobs'"):
            ledger.append("x", **{name: 5})
    with pytest.raises(InputError, match=r"event 'x', /value/0") as caught:
        ledger.append("x", value=[{1}])
    assert "not a JSON value" in caught.value.what
    assert len(ledger) == 0
    assert ledger.head == "0" * 64


def test_the_head_depends_on_the_events_alone() -> None:
    eager, lazy = Ledger(), filled()
    for event in lazy.events:
        fields = dict(event)
        del fields["i"]
        eager.append(fields.pop("type"), **fields)
        assert len(eager.head) == 64
    assert eager.head == lazy.head
    assert pickle.loads(pickle.dumps(lazy)).head == lazy.head


def test_what_was_written_is_verified_and_does_not_diverge() -> None:
    odd = Ledger()
    odd.append("action", text="bad \ud800", big=2**70)
    for ledger in (filled(), odd, Ledger()):
        Ledger.verify(plain(ledger), ledger.head)
        assert first_divergence(ledger.events, plain(ledger)) is None


ALTERATIONS: dict[str, Callable[[list[dict[str, Any]], int, int], object]] = {
    "type": lambda events, at, other: events[at].update(type="x"),
    "value": lambda events, at, other: events[at].update({[*events[at]][2]: [None]}),
    "key": lambda events, at, other: events[at].update(new=None),
    "no key": lambda events, at, other: events[at].popitem(),
    "order": lambda events, at, other: events.__setitem__(at, dict(reversed(events[at].items()))),
    "repeat": lambda events, at, other: events.insert(at, dict(events[at])),
    "remove": lambda events, at, other: events.pop(at),
    "swap": lambda events, at, other: events.insert(at, events.pop(other)),
    "cut": lambda events, at, other: events.__delitem__(slice(at, None)),
}


@settings(deadline=None, database=None, max_examples=150)
@given(st.sampled_from(sorted(ALTERATIONS)), st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_any_single_change_removal_or_swap_is_detected(kind: str, at: int, other: int, renumber: bool) -> None:
    ledger = filled()
    events = plain(ledger)
    ALTERATIONS[kind](events, at, other)
    assume(encode(events) != encode(plain(ledger)))
    if renumber:
        for position, event in enumerate(events):
            event["i"] = position
    assume(encode(events) != encode(plain(ledger)))
    with pytest.raises(InputError):
        Ledger.verify(events, ledger.head)


KEYS = '1 (action): expected keys in the order ["i","type","turn","text"], got ["text","turn","type","i"]'


def arguments(events: list[dict[str, Any]]) -> list[Any]:
    return cast("list[Any]", events[2]["call"]["arguments"]["a"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda events: arguments(events).__setitem__(1, 2.0), "2 (transition) at {}/1: expected 2, got 2.0"),
        (lambda events: arguments(events).append(3), "2 (transition) at {}/2: expected nothing, got 3"),
        (lambda events: arguments(events).clear(), "2 (transition) at {}/0: expected 1, got nothing"),
        (lambda events: events[1].pop("text"), '1 (action) at /text: expected "hello", got nothing'),
        (lambda events: events[1].__setitem__("a/b", 1), "1 (action) at /a~1b: expected nothing, got 1"),
        (lambda events: events.__setitem__(1, dict(reversed(events[1].items()))), KEYS),
        (lambda events: events[:2], "2 (transition): expected, but the record ends before it"),
        (lambda events: [*events, {"type": "x"}], "4 (x): not expected, the record should have ended before it"),
    ],
)
def test_the_first_difference_is_found(change: Callable[[list[dict[str, Any]]], object], words: str) -> None:
    events = plain(filled())
    result = change(events)
    found = first_divergence(filled().events, result if isinstance(result, list) else events)
    assert found is not None
    assert found.describe() == f"event {words.format('/call/arguments/a')}"


def test_long_texts_are_cut_around_the_difference() -> None:
    one, other = ([{"i": 0, "type": "message", "text": "word " * 200 + last}] for last in ("end", "and"))
    found = first_divergence(one, other)
    assert found is not None
    assert "character 1000: expected ..." in found.describe()
    assert 'word end", got' in found.describe()
    assert len(found.describe()) < 200
