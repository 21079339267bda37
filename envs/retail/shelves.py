"""Finding variants and listing products at a cost that does not grow with the catalogue.

The index of a table of products is kept until the table changes, which is rare during an episode.
"""

from __future__ import annotations

import json

from simia_gym.state import State
from simia_gym.types import Row

_TABLE = "products"


class Shelves:
    """An index of the table of products; one for a world, shared by all its episodes."""

    __slots__ = ("_listed",)

    def __init__(self) -> None:
        self._listed: tuple[object, str] = (None, "{}")

    def variant(self, state: State, item_id: str) -> Row | None:
        """Find a variant by its item id.

        Args:
            state: The present state.
            item_id: The item id.

        Returns:
            The variant, or ``None`` where no product has it.
        """
        table = state.table(_TABLE)
        if table is None:
            return None
        keys = table.base.index("variants", lambda key, row: row["variants"]).get(item_id, ())
        for row in (*(table.get(key) for key in keys), *(row for _, row in table.entries.values())):
            if row is not None and item_id in row["variants"]:
                variant: Row = row["variants"][item_id]
                return variant
        return None

    def listing(self, state: State) -> str:
        """Names and ids of all products as a JSON object, sorted by name."""
        table = state.table(_TABLE)
        known, text = self._listed
        if table is not known:
            text = json.dumps({row["name"]: row["product_id"] for _, row in state.rows(_TABLE)}, sort_keys=True)
            self._listed = (table, text)
        return text
