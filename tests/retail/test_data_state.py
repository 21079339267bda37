"""The embedded database: reproducible, original, sound, and its generator's parts are usable one by one."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path

import jsonschema_rs
import pytest

from simia_gym.common.dotted_names import load_object
from simia_gym.envs.retail.build import STATE_FILE, TOOLS_FILE, build, load_tables, to_text, tools_text
from simia_gym.envs.retail.catalogue import LINES, TYPES, fresh_name, get_type, make_product
from simia_gym.envs.retail.ids import ids_in_use
from simia_gym.envs.retail.orders import OPTIONAL_FIELDS, make_order
from simia_gym.envs.retail.people import make_payment_method, make_user
from simia_gym.state import State

SCHEMA = json.loads(STATE_FILE.with_name("state.schema.json").read_text())


def test_state_file_is_what_the_seed_gives() -> None:
    assert STATE_FILE.read_text(encoding="utf-8") == to_text(build())


def test_tools_file_is_what_the_world_declares() -> None:
    assert TOOLS_FILE.read_text(encoding="utf-8") == tools_text()


def test_size() -> None:
    tables = load_tables()
    assert [len(tables[name]) for name in ("products", "users", "orders")] == [20, 40, 100]
    assert sum(len(product["variants"]) for product in tables["products"].values()) == 150
    assert set(Counter(order["status"] for order in tables["orders"].values())) == {
        "pending",
        "delivered",
        "processed",
        "cancelled",
    }


def test_id_shapes() -> None:
    tables = load_tables()
    assert all(re.fullmatch(r"#W\d{7}", key) for key in tables["orders"])
    assert all(re.fullmatch(r"\d{10}", key) for key in tables["products"])
    assert all(re.fullmatch(r"[a-z]+_[a-z]+_\d{4}", key) for key in tables["users"])
    for user in tables["users"].values():
        assert user["email"].endswith("@example.com")
        for key, method in user["payment_methods"].items():
            assert re.fullmatch(rf"{method['source']}_\d{{7}}", key)


def test_ids_are_used_once() -> None:
    tables = load_tables()
    items = [item for product in tables["products"].values() for item in product["variants"]]
    methods = [method for user in tables["users"].values() for method in user["payment_methods"]]
    every = [*items, *methods, *tables["products"], *tables["users"], *tables["orders"]]
    assert len(every) == len(set(every))
    assert set(every) <= ids_in_use(tables)


def test_variants_differ_in_options_and_price() -> None:
    for product in load_tables()["products"].values():
        variants = product["variants"].values()
        assert len({json.dumps(variant["options"]) for variant in variants}) == len(variants)
        assert len({variant["price"] for variant in variants}) == len(variants)
        assert any(not variant["available"] for variant in variants)
        assert sum(variant["available"] for variant in variants) >= 2


def test_options_of_a_type_are_unambiguous() -> None:
    """Sizes and the like may recur (``yes``, ``none``), but a color is never also a lining."""
    for kind in TYPES:
        words = [value for values in kind.axes.values() for value in values if value not in ("yes", "no", "none")]
        assert len(words) - len(set(words)) <= words.count("included"), kind.name


@pytest.mark.parametrize("table", ["products", "users", "orders"])
def test_rows_fit_the_schema(table: str) -> None:
    validator = jsonschema_rs.validator_for(SCHEMA["tables"][table]["row"])
    for row in load_tables()[table].values():
        validator.validate(row)


def _refers(tables: dict[str, dict[str, dict[str, object]]], row: object, parts: list[str], target: str) -> bool:
    if not parts:
        return row in tables[target]
    if parts[0] == "*":
        assert isinstance(row, list)
        return all(_refers(tables, item, parts[1:], target) for item in row)
    assert isinstance(row, dict)
    return _refers(tables, row[parts[0]], parts[1:], target)


def test_foreign_keys() -> None:
    tables = load_tables()
    for name, table in SCHEMA["tables"].items():
        for pointer, target in table["foreign_keys"].items():
            assert all(_refers(tables, row, pointer.split("/")[1:], target) for row in tables[name].values())


@pytest.mark.parametrize("invariant", SCHEMA["invariants"], ids=lambda item: str(item["id"]))
def test_invariants_hold(invariant: dict[str, str]) -> None:
    check = load_object(invariant["check"])
    tables = load_tables()
    touched = [(name, key) for name, rows in tables.items() for key in rows]
    assert callable(check)
    assert check(State.from_tables(tables), touched) == []


BROKEN = {
    "money_adds_up": lambda order, user: order["payment_history"].append(
        {"transaction_type": "refund", "amount": 1.0, "payment_method_id": "x"}
    ),
    "balances_not_negative": lambda order, user: user["payment_methods"].update(
        g={"source": "gift_card", "id": "g", "balance": -0.01}
    ),
    "items_are_variants": lambda order, user: order["items"][0].update(options={"color": "sky"}),
    "payment_methods_are_owned": lambda order, user: order["payment_history"][0].update(payment_method_id="paypal_1"),
    "status_fits_fields": lambda order, user: order.update(return_items=["1"]),
    "orders_are_listed": lambda order, user: user["orders"].clear(),
}


@pytest.mark.parametrize("name", BROKEN)
def test_invariants_notice(name: str) -> None:
    tables = load_tables()
    order = next(order for order in tables["orders"].values() if order["status"] == "pending")
    BROKEN[name](order, tables["users"][order["user_id"]])
    check = load_object(f"simia_gym.envs.retail.invariants:{name}")
    assert callable(check)
    touched = [("orders", order["order_id"]), ("users", order["user_id"])]
    assert len(check(State.from_tables(tables), touched)) == 1


def test_nothing_of_the_public_database_is_in_it(shared_data: Path) -> None:
    public = json.loads((shared_data / "tau2" / "retail" / "db.json").read_text())
    ours = load_tables()
    assert not ids_in_use(ours) & ids_in_use(public)
    streets = {user["address"]["address1"].split(" ", 1)[1] for user in public["users"].values()}
    assert not streets & {user["address"]["address1"].split(" ", 1)[1] for user in ours["users"].values()}
    assert not {p["name"] for p in public["products"].values()} & {p["name"] for p in ours["products"].values()}


def test_the_policy_shares_no_sentence_with_the_public_one(shared_data: Path) -> None:
    def sentences(text: str) -> set[str]:
        parts = re.split(r"[.\n:;|]+", text.lower())
        return {" ".join(re.sub(r"[^a-z ]+", " ", part).split()) for part in parts if len(part.split()) > 4}

    public = (shared_data / "tau2" / "retail" / "policy.md").read_text()
    for name in ("policy.md", "policy.compact.md"):
        assert not sentences(public) & sentences(STATE_FILE.with_name(name).read_text())


def test_parts_can_be_drawn_for_one_task() -> None:
    rng = random.Random(5)
    tables = load_tables()
    taken = ids_in_use(tables)
    before = set(taken)
    name = fresh_name(rng, {product["name"] for product in tables["products"].values()})
    assert name.split(" ")[0] in LINES
    product = make_product(rng, name, 6, taken)
    user = make_user(rng, taken, sources=("gift_card", "paypal"), gift_balance=12)
    item = next(iter(product["variants"]))
    pairs = [(product["product_id"], item)] * 2
    order = make_order(rng, user, {product["product_id"]: product}, taken, status="delivered", items=pairs)
    assert tuple(product["variants"][item]["options"]) == tuple(get_type(name).axes)
    assert [method["source"] for method in user["payment_methods"].values()] == ["gift_card", "paypal"]
    assert next(iter(user["payment_methods"].values()))["balance"] == 12.0
    assert user["orders"] == [order["order_id"]]
    assert order["payment_history"][0]["amount"] == round(2 * product["variants"][item]["price"], 2)
    assert order["fulfillments"][0]["item_ids"] == [item, item]
    assert tuple(order)[-7:] == OPTIONAL_FIELDS
    new = ids_in_use({"products": {"p": product}, "users": {"u": user}, "orders": {"o": order}})
    assert not new & before
    assert new <= taken


def test_more_variants_than_there_can_be() -> None:
    kind = TYPES[0]
    product = make_product(random.Random(1), kind.name, 10_000, set())
    assert len(product["variants"]) == kind.combinations


@pytest.mark.parametrize("source", ["credit_card", "gift_card", "paypal"])
def test_payment_methods(source: str) -> None:
    method = make_payment_method(random.Random(2), source, set())
    extra = {"credit_card": {"brand", "last_four"}, "gift_card": {"balance"}, "paypal": set()}[source]
    assert set(method) == {"source", "id"} | extra
