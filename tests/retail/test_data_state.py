"""The embedded database: reproducible, original and sound."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from simia_gym.common.dotted_names import load_object
from simia_gym.envs._tau2.domain_files import state_text, tools_text
from simia_gym.envs.retail.build import STATE_FILE, build, load_tables
from simia_gym.envs.retail.catalogue import TYPES
from simia_gym.envs.retail.world import RetailWorld
from simia_gym.state import State
from simia_gym.state.schema import read_state_schema

FOLDER = STATE_FILE.parent


def test_state_file_is_what_the_seed_gives() -> None:
    assert STATE_FILE.read_text(encoding="utf-8") == state_text(build())


def test_tools_file_is_what_the_world_declares() -> None:
    assert STATE_FILE.with_name("tools.json").read_text(encoding="utf-8") == tools_text(RetailWorld)


def test_the_database_fits_its_schema_and_keeps_its_invariants() -> None:
    state = State.from_tables(load_tables())
    touched = [(table, key) for table in state.tables for key in state.keys(table)]
    assert len(touched) == 160
    assert list(read_state_schema(FOLDER / "state.schema.json").problems(state, touched)) == []


def test_variants_differ_in_options_and_price() -> None:
    for product in load_tables()["products"].values():
        variants = product["variants"].values()
        assert len({json.dumps(variant["options"]) for variant in variants}) == len(variants)
        assert len({variant["price"] for variant in variants}) == len(variants)
        assert len(variants) > sum(variant["available"] for variant in variants) >= 2


def test_options_of_a_type_are_unambiguous() -> None:
    """Sizes and the like may recur (``yes``, ``none``), but a color is never also a lining."""
    for kind in TYPES:
        words = [value for values in kind.axes.values() for value in values if value not in ("yes", "no", "none")]
        assert len(words) - len(set(words)) <= words.count("included"), kind.name


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
    assert len(list(check(State.from_tables(tables), touched))) == 1


def test_nothing_of_the_public_database_is_in_it(shared_data: Path) -> None:
    public = json.loads((shared_data / "tau2" / "retail" / "db.json").read_text())
    ours = load_tables()
    for table in ("products", "users", "orders"):
        assert not set(ours[table]) & set(public[table])
    variants = [{key for one in data["products"].values() for key in one["variants"]} for data in (ours, public)]
    assert not variants[0] & variants[1]
    streets = {user["address"]["address1"].split(" ", 1)[1] for user in public["users"].values()}
    assert not streets & {user["address"]["address1"].split(" ", 1)[1] for user in ours["users"].values()}
    assert not {p["name"] for p in public["products"].values()} & {p["name"] for p in ours["products"].values()}


def test_the_policy_shares_no_sentence_with_the_public_one(shared_data: Path) -> None:
    def sentences(text: str) -> set[str]:
        parts = re.split(r"[.\n:;|]+", text.lower())
        return {" ".join(re.sub(r"[^a-z ]+", " ", part).split()) for part in parts if len(part.split()) > 4}

    public = (shared_data / "tau2" / "retail" / "policy.md").read_text()
    for name in ("policy.md", "policy.compact.md"):
        assert not sentences(public) & sentences((FOLDER / name).read_text())
