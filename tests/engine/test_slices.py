"""Selectors of what a call can touch, and the slices that they give."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simia_gym.errors import Fault, InputError
from simia_gym.state import State
from simia_gym.types import JsonObject, ToolCall
from simia_gym.views.slices import Slice, compile_reads

TABLES: dict[str, dict[str, JsonObject]] = {
    "orders": {
        "#W1": {"user": "ann", "items": [{"product": "p1", "n": 1}, {"product": "p2", "n": 2}], "tags": ["a", "b"]},
        "#W/~2": {"user": "bob", "items": [], "tags": []},
    },
    "users": {
        "ann": {"email": "Ann@X.org", "name": {"first": "Ann", "last": "Lee"}, "vip": True, "age": 1},
        "bob": {"email": "bob@x.org", "name": {"first": "Ann", "last": "Bo"}, "vip": False, "age": 1.0},
    },
    "products": {
        "p1": {"name": "mug", "variants": {"v1": {"price": 1, "stock": True}, "v2": {"price": 2, "stock": False}}},
        "p2": {"name": "pot", "variants": {"v3": {"price": 3, "stock": True}}},
    },
    "_user": {"memory": {"secret": "ann"}},
}
STATE = State.from_tables(TABLES)
LEE = {"first": "Ann", "last": "Lee"}


def take(reads: list[Any], state: State = STATE, /, **arguments: Any) -> Slice:
    return compile_reads(reads, "tool t")(state, ToolCall("t", arguments))


W1, ANN = TABLES["orders"]["#W1"], TABLES["users"]["ann"]
NAMES = {"p1": {"name": "mug"}, "p2": {"name": "pot"}}
AGES = {"ann": {"age": 1}, "bob": {"age": 1.0}}
USERS = {"#W/~2": {"user": "bob"}, "#W1": {"user": "ann"}}
KEYED = {"table": "orders", "key": "#W{n}", "columns": ["user"]}
BOB = {"age": 1.0, "vip": False}
PRICES = {"v1": {"price": 1}, "v2": {"price": 2}}


@pytest.mark.parametrize(
    ("reads", "arguments", "tables"),
    [
        ([], {}, {}),
        (["users"], {}, {"users": TABLES["users"]}),
        (["orders/{id}"], {"id": "#W1"}, {"orders": {"#W1": W1}}),
        (["orders/#W1#user"], {}, None),
        (["orders/{id}#user"], {"id": ["#W/~2", "#W1"]}, {"orders": USERS}),
        (["orders/{ids/1}#user"], {"ids": ["x", "#W1"]}, {"orders": {"#W1": {"user": "ann"}}}),
        (["orders/{ids/*/id}#user"], {"ids": [{"id": "#W1"}, {}]}, {"orders": {"#W1": {"user": "ann"}}}),
        (["orders/#W{n}#user"], {"n": 1}, None),
        ([KEYED], {"n": 1}, {"orders": {"#W1": {"user": "ann"}}}),
        (["users/{/orders/{id}/user}#age"], {"id": "#W1"}, {"users": {"ann": {"age": 1}}}),
        (["products/{/orders/{id}/items/*/product}#name"], {"id": "#W1"}, {"products": NAMES}),
        (["users/{/orders/*/user}#age"], {}, {"users": AGES}),
        (["products/{/orders/{id}/items/1/product}#name"], {"id": "#W1"}, {"products": {"p2": {"name": "pot"}}}),
        (["users/{/orders/{id}/user}"], {"id": "none"}, {"users": {}}),
        (["users/{/_user/memory/secret}"], {}, {"users": {}}),
        (["users/{id}"], {}, {"users": {}}),
        (["users/{id}"], {"id": 7}, {"users": {}}),
        (["users?email={e}#age"], {"e": "ANN@x.ORG"}, {"users": {"ann": {"age": 1}}}),
        (["users?email={e}#age"], {"e": ["bob@x.org", "ann@x.org"]}, {"users": AGES}),
        (["users?name/first=ann&name/last={l}#age"], {"l": "lee"}, {"users": {"ann": {"age": 1}}}),
        (["users?vip={v}#age"], {"v": True}, {"users": {"ann": {"age": 1}}}),
        (["users?age={v}#vip"], {"v": 1}, {"users": {"ann": {"vip": True}, "bob": {"vip": False}}}),
        (["users?age={v}#vip"], {"v": True}, {"users": {}}),
        (["users?age={v}#vip"], {"v": "1"}, {"users": {}}),
        (["orders?tags/*={tag}#user"], {"tag": "b"}, {"orders": {"#W1": {"user": "ann"}}}),
        (["orders?items/0#user"], {}, {"orders": {"#W1": {"user": "ann"}}}),
        (["orders?items/{n}#user"], {"n": 1}, {"orders": {"#W1": {"user": "ann"}}}),
        (["orders?{field}/0/product=p1#user"], {"field": "items"}, {"orders": {"#W1": {"user": "ann"}}}),
        (["products?variants/{v}#name"], {"v": "v3"}, {"products": {"p2": {"name": "pot"}}}),
        (["products?variants/{v}#name"], {"v": ["v3", "v2"]}, {"products": NAMES}),
        (["products/{p}?variants/{v}#name"], {"p": "p1", "v": "v3"}, {"products": {}}),
        (["users/{u}#name/last,name/first"], {"u": "ann"}, {"users": {"ann": {"name": LEE}}}),
        (["users/{u}#name/last,none"], {"u": "ann"}, {"users": {"ann": {"name": {"last": "Lee"}}}}),
        (["products/{p}#variants/*/price"], {"p": "p1"}, {"products": {"p1": {"variants": PRICES}}}),
        (["products/{p}#variants/{v}"], {"p": "p1", "v": "none"}, {"products": {"p1": {"variants": {}}}}),
        (["orders/{o}#items/*/n"], {"o": "#W1"}, {"orders": {"#W1": {"items": [{"n": 1}, {"n": 2}]}}}),
        (["orders/{o}#items/1"], {"o": "#W1"}, {"orders": {"#W1": {"items": W1["items"]}}}),
        (
            ["orders/{o}#items/*/n", "orders/{o}#items/*/product"],
            {"o": "#W1"},
            {"orders": {"#W1": {"items": W1["items"]}}},
        ),
        (["users/{u}#age", "users#vip"], {"u": "bob"}, {"users": {"bob": BOB, "ann": {"vip": True}}}),
        (["users/{u}#age", "users/{u}"], {"u": "ann"}, {"users": {"ann": ANN}}),
        (["users/{u}", "users/{u}#age"], {"u": "ann"}, {"users": {"ann": ANN}}),
        ([{"table": "users", "where": ["email=a#b?c"]}], {}, {"users": {}}),
        (["nothing/{u}"], {"u": "x"}, {"nothing": {}}),
    ],
    ids=str,
)
def test_selectors(reads: list[Any], arguments: JsonObject, tables: JsonObject | None) -> None:
    if tables is None:
        with pytest.raises(InputError):
            take(reads, **arguments)
        return
    part = take(reads, **arguments)
    assert json.dumps(part.tables, sort_keys=True) == json.dumps(tables, sort_keys=True)
    assert [list(rows) for rows in part.tables.values()] == [list(rows) for rows in tables.values()]
    assert json.loads(part.encoded) == part.value
    assert part.size == len(part.encoded)
    assert part.state().to_tables() == part.tables


WRONG_TEXTS = (
    "/x _user users/ users/{ users/} users/{} users/{/} users/{/users} users/{/*/x} users/{*} users/{a//b} "
    "users? users?=x users?a& users?a?b users# users#a#b users#a, us*rs"
)
WRONG_OBJECTS: list[Any] = [
    {},
    {"table": "users", "keys": "a"},
    {"table": "users", "columns": "a"},
    {"table": "users", "where": [1]},
    {"table": "users", "key": 1},
    {"table": "_x", "view": "a:b"},
    {"table": "x", "view": "a"},
    {"table": "x", "view": "a:b", "columns": ["c"]},
    {"table": "x", "view": "json:nothing_like_it"},
    {"table": "x", "view": "json:__name__"},
]


@pytest.mark.parametrize("reads", [*WRONG_TEXTS.split(), "", 7, None, *WRONG_OBJECTS], ids=str)
def test_wrong_selectors_are_refused_by_name(reads: Any) -> None:
    with pytest.raises(InputError) as caught:
        compile_reads([reads], "tool t")
    assert "tool t" in caught.value.where
    assert caught.value.fix


@given(st.text(alphabet="ab/{}?#=&,*_~ ", max_size=24))
@example("a/{/b/{c}/*}?d/{e}=f&g#h,i/*")
def test_any_text_is_a_selector_or_an_input_error(text: str) -> None:
    try:
        slicer = compile_reads([text], "t")
    except InputError:
        return
    part = slicer(STATE, ToolCall("t", {"a": "ann", "b": ["p1"]}))
    assert "_user" not in part.tables


def test_rows_that_do_not_exist_are_named() -> None:
    part = take(["orders/{id}", "users/{/orders/{id}/user}", "users/{u}?age=9"], id=["#W/1~", "#W1"], u="ann")
    assert part.missing == ("/orders/#W~11~0",)
    assert part.tables["users"] == {"ann": TABLES["users"]["ann"]}
    assert take(["users?email={e}"], e="none").missing == ()


def test_a_slice_that_is_too_large_is_a_fault() -> None:
    call = ToolCall("t", {})
    size = compile_reads(["products"], "t")(STATE, call).size
    assert compile_reads(["products"], "t", cap=size)(STATE, call).size == size
    with pytest.raises(Fault) as caught:
        compile_reads(["products"], "tool t", cap=size - 1)(STATE, call)
    assert (caught.value.kind, caught.value.role) == ("slice_too_large", "simulator")
    assert "tool t" in caught.value.message


def shelf(state: State, call: ToolCall) -> dict[str, JsonObject]:
    """A view: two product ids under the word of the call."""
    return {call.arguments["word"]: {"ids": ["p2"]}}


def broken(state: State, call: ToolCall) -> dict[str, JsonObject]:
    raise RuntimeError("no shelf")


def test_a_view_is_a_table_that_other_selectors_can_look_into() -> None:
    view = {"view": f"{__name__}:shelf", "table": "shelf"}
    part = take([view, "products/{/shelf/{word}/ids/*}#name"], word="pot")
    assert part.tables == {"shelf": {"pot": {"ids": ["p2"]}}, "products": {"p2": {"name": "pot"}}}
    with pytest.raises(Fault, match="no shelf") as caught:
        take([{"view": f"{__name__}:broken", "table": "shelf"}])
    assert caught.value.kind == "bug"


@given(seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_an_index_finds_what_a_search_of_all_rows_finds(seed: int) -> None:
    """Whatever was changed, added and removed since the state began, in row order."""
    rng = random.Random(seed)
    words = ["a", "A", "b", "C"]

    def row() -> JsonObject:
        return {"word": rng.choice(words), "parts": {name: 1 for name in words if rng.random() < 0.4}}

    state = State.from_tables({"rows": {str(n): row() for n in range(8)}})
    slicers = {
        "equal": compile_reads(["rows?word={w}"], "t"),
        "exists": compile_reads(["rows?parts/{w}"], "t"),
        "both": compile_reads(["rows?word={w}&parts/a"], "t"),
    }
    for _ in range(30):
        key = str(rng.randrange(12))
        if not state.has("rows", key):
            state = state.apply([{"op": "add", "path": f"/rows/{key}", "value": row()}])
        elif rng.random() < 0.3:
            state = state.apply([{"op": "remove", "path": f"/rows/{key}"}])
        else:
            state = state.apply([{"op": "replace", "path": f"/rows/{key}", "value": row()}])
        word = rng.choice(words)
        call = ToolCall("t", {"w": word})
        same = [key for key, each in state.rows("rows") if each["word"].lower() == word.lower()]
        assert list(slicers["equal"](state, call).tables["rows"]) == same
        have = [key for key, each in state.rows("rows") if word in each["parts"]]
        assert list(slicers["exists"](state, call).tables["rows"]) == have
        both = [key for key in same if "a" in state.at(f"/rows/{key}/parts")]
        assert list(slicers["both"](state, call).tables["rows"]) == both
