"""The shop's own database: unambiguous, and original."""

from __future__ import annotations

import json
import re
from pathlib import Path

from simia_gym.envs.retail.build import STATE_FILE, load_tables
from simia_gym.envs.retail.catalogue import TYPES

FOLDER = STATE_FILE.parent


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


def test_no_variant_street_or_product_of_the_public_database_is_in_it(shared_data: Path) -> None:
    public = json.loads((shared_data / "tau2" / "retail" / "db.json").read_text())
    ours = load_tables()
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
