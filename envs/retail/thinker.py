"""The thinker: the expert, with a note before every action on the customer's request and the progress so far.

The note is training data for small policies. Without it they forget the request while they read profiles and orders,
and do what most customers want. The note is between ``<think>`` and ``</think>``; neither the customer nor the tools
see it.
"""

from __future__ import annotations

from collections.abc import Sequence

from simia_gym.actions.thinking import CLOSE, OPEN
from simia_gym.envs.retail.expert import RetailExpert
from simia_gym.types import Message


class Thinker(RetailExpert):
    """The expert with a note in front of each action."""

    def act(self, messages: Sequence[Message]) -> str:
        """Write the next action behind a note of what it is for."""
        action = self._grammar.render(self._decide(messages))
        return f"{OPEN}{self._note()}{CLOSE}\n{action}"

    def _note(self) -> str:
        """What the customer wants, of which order, what is known, and what this turn does about it."""
        intent = self.intent
        if intent is None:
            return "no wish yet"
        parts = [intent.kind.replace("_", " ")]
        if intent.order_id is not None:
            order = self.case_file.orders.get(intent.order_id)
            parts.append(intent.order_id if order is None else f"{intent.order_id} is {order['status']}")
        known = [question for question in intent.said if question != "yes"]
        if known:
            parts.append(f"told {' and '.join(known)}")
        asked = [question for question in dict.fromkeys(intent.asked) if question not in intent.said]
        if intent.why:
            parts.append("refuse")
        elif self._user_id is None:
            parts.append("identify")
        elif intent.closed:
            parts.append("done")
        elif intent.proposal is not None:
            parts.append("confirmed" if "yes" in intent.said else "propose")
        elif asked:
            parts.append(f"ask {' and '.join(asked)}")
        return ", ".join(parts)
