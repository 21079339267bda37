"""Swapping items for other variants of the same product, shared by the tools that modify and exchange items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simia_gym.envs._tau2.calls import check_hashable
from simia_gym.envs.retail import error_hints
from simia_gym.errors import ToolError
from simia_gym.state import Draft
from simia_gym.types import Row


@dataclass(frozen=True, slots=True)
class Swap:
    """A swap that has passed all checks.

    Attributes:
        steps: Index of each old item among the order's items, its id, and the new variant, in the order of the call.
        difference: Price of the new items minus that of the old ones, in dollars.
    """

    steps: tuple[tuple[int, str, Row], ...]
    difference: float


def check_items(order: Row, item_ids: list[str], absent: str) -> list[str]:
    """The item ids of an order, which holds each of some others as often as it is given; ``{}`` in the error is its id.

    Raises:
        ToolError: It does not.
    """
    have = [item["item_id"] for item in order["items"]]
    for item_id in item_ids:
        if item_ids.count(item_id) > have.count(item_id):
            raise ToolError(absent.format(item_id), "not_found", error_hints.LINES)
    return have


def plan_swaps(
    db: Draft,
    order: Row,
    item_ids: list[str],
    new_item_ids: list[str],
    *,
    absent: str,
    stop: str = "",
    must_differ: bool = False,
    tau2: bool = False,
) -> Swap:
    """Check a swap and work out its price difference; nothing changes yet.

    Args:
        db: The draft.
        order: The order's row.
        item_ids: Old item ids.
        new_item_ids: New item ids, one for each old one.
        absent: The error text for an item that is not in the order (often enough), with ``{}`` for its id.
        stop: End of the error text for lists of unequal length.
        must_differ: Whether an item may not be swapped for itself.
        tau2: Leave the difference unrounded, and let an empty swap pass.

    Raises:
        ToolError: The swap is not possible.
    """
    items = order["items"]
    have = check_items(order, item_ids, absent)
    if len(item_ids) != len(new_item_ids):
        why = error_hints.lengths(len(item_ids), len(new_item_ids))
        raise ToolError(f"The number of items to be exchanged should match{stop}", "mismatch", why)
    if not item_ids and not tau2:
        raise ToolError("There is no item to be exchanged", "nothing_to_do", error_hints.NOTHING_TO_SWAP)
    steps: list[tuple[int, str, Row]] = []
    difference: float = 0
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        if must_differ and item_id == new_item_id:
            raise ToolError(
                "The new item id should be different from the old item id", "same_item", error_hints.SAME_ITEM
            )
        taken = [] if tau2 else [step[0] for step in steps]
        position = next(i for i, held in enumerate(have) if held == item_id and i not in taken)
        variant = _variant(db, items[position]["product_id"], new_item_id)
        if not variant["available"]:
            raise ToolError(f"New item {new_item_id} not found or available", "unavailable", error_hints.STOCK)
        difference += variant["price"] - items[position]["price"]
        steps.append((position, item_id, variant))
    return Swap(tuple(steps), difference if tau2 else round(float(difference), 2) + 0.0)


def _variant(db: Draft, product_id: str, item_id: object) -> Row:
    product = db.get("products", product_id)
    if product is None:
        raise ToolError("Product not found", "not_found", error_hints.ABSENT["products"])
    check_hashable(item_id)
    variant: Row | None = product["variants"].get(item_id)
    if variant is None:
        raise ToolError("Variant not found", "not_found", error_hints.VARIANT)
    return variant


def apply_swap(items: list[dict[str, Any]], swap: Swap, *, tau2: bool = False) -> None:
    """Put every new variant in the place of its own item among the order's lines, with its own price and options.

    With ``tau2``, as in the public benchmark's code, every new item gets the price and options of the last one, and
    each old item is found by its id after the items before it have been replaced.
    """
    for position, item_id, variant in swap.steps:
        line = next(line for line in items if line["item_id"] == item_id) if tau2 else items[position]
        priced = swap.steps[-1][2] if tau2 else variant
        line.update(item_id=variant["item_id"], price=priced["price"], options=dict(priced["options"]))
