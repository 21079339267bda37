from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simia_gym.domain.domain import Domain
from simia_gym.domain.tools import ToolSpec
from simia_gym.errors import Fault
from simia_gym.simulators.checking import DEFAULT_LIMITS, Rejected, check_answer
from simia_gym.state import identical
from simia_gym.state.schema import StateSchema, read_state_schema

from .desk import LAKE, MEMBER, failed, ok, put


def checked(domain: Domain, tool: str, data: dict[str, Any], **given: Any) -> Any:
    whole = {"state": domain.base, "schema": domain.state_schema, **given}
    return check_answer(data, domain.specs[tool], **whole)


def violations(domain: Domain, tool: str, data: dict[str, Any], **given: Any) -> list[str]:
    with pytest.raises(Rejected) as caught:
        checked(domain, tool, data, **given)
    return list(caught.value.violations)


@pytest.mark.parametrize(
    ("tool", "data", "words"),
    [
        ("rename", failed("Error: no", "not_allowed", LAKE), "an error changes nothing"),
        ("rename", {**failed(), "reveals": [MEMBER]}, "reveals must be empty"),
        ("get_book", ok("x", LAKE), "get_book is 'read'"),
        ("think", ok("x", LAKE), "think is 'none'"),
        ("get_book", ok("x", put("/books/b1/title", "Sea")), "get_book is 'read'"),
        ("poke", ok("x", LAKE), "outside what poke may write (nothing)"),
        ("rename", ok("x", put("/books/b1/copies", 3)), "outside what rename may write (books/*/title)"),
        ("rename", ok("x", put("/books/b1", {"id": "b1"})), "outside what rename may write"),
        ("rename", ok("x", {"op": "remove", "path": "/books/b1"}), "outside what rename may write"),
        ("rename", ok("x", put("/loans/l1/book_id", "b1")), "outside what rename may write"),
        ("rename", ok("x", put("/books/b1/title/", "x")), "has no member"),
        ("rename", ok("x", put("/books/b9/title", "x")), "no row 'b9'"),
        ("rename", ok("x", put("/books/b1/title", 5)), "/books/b1/title: 5 is not of type"),
        ("rename", ok("x", put("/books/b1/title", "")), "/books/b1/title"),
        ("rename", ok("x", put("books/b1/title", "x")), "begins with '/'"),
        ("rename", ok("x", put("/books/b1/ti~2tle", "x")), "'~' must be written"),
        ("rename", ok("x", put("/books", {})), "must name a row"),
        ("rename", ok("x", put("", {})), "must name a row"),
        ("rename", ok("x", {"op": "replace", "path": "/books/b1/title"}), "needs a 'value'"),
        ("rename", ok("x", put("/books/b1/title", "Hill", "test")), "test failed"),
        ("rename", ok("x", put("/books/b1/title", "x" * (DEFAULT_LIMITS.value + 1))), "bytes; "),
        ("rename", ok("x", put("/books/" + "b" * 2000 + "/title", "x")), "characters; 1000 are the most"),
        ("rename", ok("x", *[LAKE] * (DEFAULT_LIMITS.operations + 1)), "operations"),
        ("wipe", ok("x", put("/_clock/now/day", 9)), "private"),
        ("wipe", ok("x", put("/_clock/now/day", 3, "test")), "private"),
        ("wipe", ok("x", put("/_user/me", {}, "add")), "private"),
        ("wipe", ok("x", put("/planets/p1", {"id": "p1"}, "add")), "no table 'planets'"),
        ("lend", ok("x", put("/loans/l2", {"id": "l2", "book_id": "b7"}, "add")), "'b7' is no key of table 'books'"),
        ("lend", ok("x", put("/loans/l2", {"id": "l3", "book_id": "b1"}, "add")), "must be the row's key"),
        ("lend", ok("x", put("/books/b1/available", 3)), "invariant 'shelf' is broken"),
        ("lend", ok("x", put("/books/b1/tags/7", "x", "add")), "outside a list"),
        ("lend", ok("x", put("/loans/l2", "text", "add")), "a row is an object"),
        ("discard", ok("x", put("/books/b1", None)), "a row is an object"),
        ("discard", ok("x", put("/loans/l9", None, "add")), "a row is an object"),
        ("find_member", ok("x", reveals=(put("/members/m9", None, "add"),)), "a row is an object"),
        ("discard", ok("x", {"op": "remove", "path": "/books/b2"}), "/loans/l1 refers to it"),
        ("find_member", ok("x", reveals=(put("/books/b3", {"id": "b3"}, "add"),)), "is not open"),
        ("find_member", ok("x", reveals=(put("/members/m1", {"id": "m1", "name": "X"}, "add"),)), "there already"),
        ("find_member", ok("x", reveals=(MEMBER, MEMBER)), "there already"),
        ("find_member", ok("x", reveals=(put("/members/m9", {"id": "m9"}),)), "is an 'add' of a whole row"),
        ("find_member", ok("x", reveals=(put("/members/m1/age", 5, "add"),)), "an 'add' of a whole row"),
        ("find_member", ok("x", reveals=({"op": "remove", "path": "/members/m1"},)), "an 'add' of a whole row"),
        ("find_member", ok("x", reveals=(put("/_clock/then", {}, "add"),)), "private"),
        ("find_member", ok("x", reveals=(put("/members/m9", {"id": "m9"}, "add"),)), '"name" is a required property'),
        ("find_member", ok("x", reveals=(put("/members/m9", [1], "add"),)), "a row is an object"),
        ("get_book", {**ok(), "error_code": "not_found"}, "error_code must be null"),
        ("get_book", failed(code=None), "snake_case"),
        ("get_book", failed(code="Not Found"), "snake_case"),
        ("get_book", failed(code="x" * 61), "snake_case"),
        ("get_book", failed(code="not__found"), "snake_case"),
        ("get_book", failed("Error: "), "must say what is wrong"),
        ("get_book", failed("  "), "must say what is wrong"),
        ("get_book", ok("x" * (DEFAULT_LIMITS.observation + 1)), "are the most"),
        ("get_book", ok("\ud800"), "cannot be written as JSON"),
        ("rename", ok("x", put("/books/b1/title", 2**70)), "cannot be written as JSON"),
    ],
)
def test_every_broken_rule_is_named(domain: Domain, tool: str, data: dict[str, Any], words: str) -> None:
    found = violations(domain, tool, data)
    assert any(words in text for text in found), found


def test_what_was_removed_cannot_be_revealed(domain: Domain) -> None:
    found = violations(domain, "find_member", ok("x", reveals=(MEMBER,)), removed=("/members/m9",))
    assert "cannot come back" in found[0]
    gone = domain.base.apply([{"op": "remove", "path": "/members/m1"}])
    back = put("/members/m1", {"id": "m1", "name": "Ada"}, "add")
    assert "cannot come back" in violations(domain, "find_member", ok("x", reveals=(back,)), state=gone)[0]


@pytest.mark.parametrize(
    ("tool", "op"),
    [
        ("rename", put("/books/b2/title", "Lake")),
        ("lend", put("/loans/l1", {"id": "l1", "book_id": "b1", "member": "m1"}, "add")),
        ("lend", put("/loans/l1/member", "m1", "add")),
        ("discard", {"op": "remove", "path": "/books/b2/title"}),
    ],
)
def test_rows_that_were_not_shown_stay_as_they_are(domain: Domain, tool: str, op: Any) -> None:
    found = violations(domain, tool, ok("x", op), shown={"books": {"b1": {}}})
    assert any("was not shown to you" in text for text in found)


def test_new_rows_and_tests_need_not_have_been_shown(domain: Domain) -> None:
    fresh = put("/loans/l9", {"id": "l9", "book_id": "b1", "member": "m1"}, "add")
    data = ok("x", put("/books/b2/title", "Hill", "test"), fresh)
    assert checked(domain, "lend", data, shown={"books": {"b1": {}}}).ops == (fresh,)


def test_without_a_schema_no_table_is_open(domain: Domain) -> None:
    assert "not open" in violations(domain, "find_member", ok("x", reveals=(MEMBER,)), schema=None)[0]


def test_all_violations_are_told_and_long_ones_shortened(domain: Domain) -> None:
    many = [put(f"/books/b1/{'f' * 400}{i}", 1) for i in range(30)]
    found = violations(domain, "rename", ok("x", *many))
    assert len(found) == 13
    assert found[-1] == "and 18 more"
    assert max(map(len, found)) < 310


def test_operations_apply_in_order_and_idle_ones_and_tests_are_dropped(domain: Domain) -> None:
    ops = (
        put("/books/b1/available", 2, "test"),
        put("/books/b1/available", 2),
        put("/books/b1/available", 1),
        put("/books/b1/available", 1),
        put("/books/b1/tags/-", "lent", "add"),
        put("/books/b1/tags/-", "lent", "add"),
        put("/loans/l2", {"id": "l2", "book_id": "b1", "member": "m1"}, "add"),
        put("/loans/l2", {"id": "l2", "book_id": "b1", "member": "m1"}, "add"),
    )
    answer = checked(domain, "lend", ok("lent", *ops))
    assert list(answer.ops) == [ops[2], ops[4], ops[5], ops[6]]
    assert answer.state.at("/books/b1/tags") == ["old", "lent", "lent"]
    assert answer.state.touched_since(domain.base.apply(answer.ops)) == []


def test_numbers_of_another_kind_are_a_change(domain: Domain) -> None:
    assert len(checked(domain, "lend", ok("x", put("/books/b1/available", 2.0))).ops) == 1


def test_a_revealed_row_can_be_used_at_once(domain: Domain) -> None:
    loan = put("/loans/l2", {"id": "l2", "book_id": "b1", "member": "m9"}, "add")
    answer = checked(domain, "lend", ok("x", loan, reveals=(MEMBER,)))
    assert answer.state.at("/loans/l2/member") == "m9"
    assert answer.reveals == (MEMBER,)
    assert answer.ops == (loan,)


def test_errors_begin_as_errors_do(domain: Domain) -> None:
    answer = checked(domain, "get_book", failed("no such book"))
    assert answer.observation == "Error: no such book"
    assert answer.state is domain.base


def test_what_was_wrong_before_is_not_the_models_doing(domain: Domain) -> None:
    crooked = domain.base.apply([put("/books/b1/available", 9)])
    assert checked(domain, "rename", ok("x", LAKE), state=crooked).state.at("/books/b1/title") == "Lake"
    assert "shelf" in violations(domain, "lend", ok("x", put("/books/b1/available", 8)), state=crooked)[0]


def tripping(folder: Path, title: str) -> StateSchema:
    """A schema whose check trips over a title."""
    tripped = f"if state.at('/books/b1/title') == {title!r}: raise KeyError('days')"
    (folder / "rules.py").write_text(f"def check(state, touched):\n    {tripped}\n    return []\n")
    rules = {"tables": {"books": {}}, "invariants": [{"id": "days", "check": "rules.py:check"}]}
    (folder / "s.json").write_text(json.dumps(rules))
    return read_state_schema(folder / "s.json")


def test_a_check_that_trips_over_the_answer_rejects_it(tmp_path: Path, domain: Domain) -> None:
    schema = tripping(tmp_path, "Lake")
    assert "KeyError" in violations(domain, "rename", ok("x", LAKE), schema=schema)[0]
    other = put("/books/b1/title", "Moor")
    assert checked(domain, "rename", ok("x", other), schema=schema).ops == (other,)


def test_a_check_that_trips_anyway_is_a_fault(tmp_path: Path, domain: Domain) -> None:
    broken = domain.base.apply([put("/books/b1/title", "Lake"), put("/books/b1/available", 1)])
    answer = ok("x", put("/books/b1/available", 0))
    with pytest.raises(Fault, match="KeyError"):
        checked(domain, "lend", answer, state=broken, schema=tripping(tmp_path, "Lake"))


_TABLES = ["books", "loans", "members", "desk", "_clock", "planets"]
_KEYS = ["b1", "b2", "l1", "m1", "m9", "main", "now"]
_FIELDS = ["title", "tags", "available", "closed", "day", "-", "0", "~", "a/b"]
_PLACES = st.sampled_from([*_TABLES, *_KEYS, *_FIELDS])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 5) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["id", "name", "x"]), inner, max_size=3)
    ),
    max_leaves=4,
)
_OPS = st.builds(
    lambda op, parts, value: {"op": op, "path": "".join(f"/{part}" for part in parts), "value": value},
    st.sampled_from(["add", "replace", "remove", "test"]),
    st.lists(_PLACES, max_size=4),
    _VALUES,
)
_ANSWERS = st.fixed_dictionaries(
    {
        "outcome": st.sampled_from(["ok", "error"]),
        "error_code": st.sampled_from([None, "not_found", "Bad"]),
        "reveals": st.lists(_OPS, max_size=2),
        "ops": st.lists(_OPS, max_size=3),
        "observation": st.text(max_size=5),
    }
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=_ANSWERS, tool=st.sampled_from(["get_book", "rename", "lend", "discard", "poke", "wipe", "find_member"]))
@pytest.mark.slow
def test_whatever_a_model_says_an_accepted_answer_keeps_the_rules(domain: Domain, data: Any, tool: str) -> None:
    spec: ToolSpec = domain.specs[tool]
    schema = domain.state_schema
    assert schema is not None
    try:
        answer: Any = check_answer(data, spec, domain.base, schema)
    except Rejected:
        return
    assert (data["outcome"] == "error") == (answer.error_code is not None)
    if answer.outcome == "error" or spec.effect != "write":
        assert not answer.ops
    for op in answer.ops:
        assert spec.may_write(op["path"][1:].split("/"))
    for op in answer.reveals:
        assert op["path"].startswith("/members/")
        assert not domain.base.has("members", op["path"].removeprefix("/members/"))
    again = domain.base.apply(answer.reveals).apply(answer.ops)
    assert identical(again.to_tables(), answer.state.to_tables())
    assert list(schema.problems(answer.state)) == []
    assert answer.state.get("_clock", "now") == domain.base.get("_clock", "now")
