"""The floor of graded rewards: searches for the request's words, opens the first product and buys it as it is.

It reads nothing and chooses nothing, yet earns part of the graded reward; what a policy earns means something above it.
"""

from __future__ import annotations

from collections.abc import Sequence

from simia_gym.envs.webshop.expert import read_page
from simia_gym.types import Message


class FirstResult:
    """Buys the first result; it needs no memory, because each page says what comes next."""

    def act(self, messages: Sequence[Message]) -> str:
        """Return the next action."""
        page = read_page(str(messages[-1]["content"]))
        if page.kind == "start":
            return f"search[{page.parts[2]}]" if len(page.parts) > 2 else "search[product]"
        if page.kind == "item":
            return "click[buy now]"
        if page.kind == "results":
            products = [part.lower() for part in page.parts if part.lower() in page.clickables]
            first = next((name for name in products if name not in ("next >", "< prev", "back to search")), None)
            if first is not None:
                return f"click[{first}]"
        return "click[back to search]"
