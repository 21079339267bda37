"""What a grammar is: the one place where the text of a policy becomes an action, and back."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, Protocol

from simia_gym.errors import InputError
from simia_gym.types import Action, JsonObject, Message

Replies = Literal["user", "end", "error"]
"""What a reply without calls does in a domain: it reaches the user, ends the episode, or is an error."""


class Grammar(Protocol):
    """How a domain's policies write actions.

    Attributes:
        name: The name that ``domain.yaml`` uses.
        observation_role: The chat role in which answers to calls come back.
    """

    name: str
    observation_role: Literal["tool", "user"]

    def parse(self, text: str) -> Action:
        """Read one action; thinking is stripped first.

        Args:
            text: What the policy wrote, as it came.

        Returns:
            A message to the user, an ordered list of calls, or an end.

        Raises:
            ActionError: The text is no valid action. The message is meant for the policy.
        """
        ...

    def instructions(
        self, tools: Sequence[JsonObject], compact: bool = False, parallel: bool = True, replies: Replies = "user"
    ) -> str:
        """Write the part of the system prompt that explains how to act.

        Args:
            tools: OpenAI tool dictionaries; keys that start with ``x-`` are left out.
            compact: One line for each tool instead of its JSON Schema.
            parallel: Whether one reply may hold several calls.
            replies: What a reply without calls does.

        Returns:
            Plain text without a final newline.
        """
        ...

    def render(self, action: Action) -> str:
        """Write an action in canonical form, so that ``parse(render(action)) == action``.

        Args:
            action: The action.

        Returns:
            Its text.

        Raises:
            InputError: The grammar has no way to say this.
        """
        ...

    def sample(
        self,
        rng: random.Random,
        tools: Sequence[JsonObject],
        pool: Sequence[str] = (),
        messages: Sequence[Message] = (),
    ) -> str:
        """Write a plausible action.

        Args:
            rng: The only source of chance.
            tools: OpenAI tool dictionaries.
            pool: Whole action texts that are typical of the domain.
            messages: The transcript so far, where there is one; values in it may be used.

        Returns:
            The text of an action.
        """
        ...


_GRAMMARS: dict[str, Grammar] = {}


def register_grammar(grammar: Grammar) -> None:
    """Make a grammar known under its name; the same name again replaces it.

    Args:
        grammar: The grammar.
    """
    _GRAMMARS[grammar.name] = grammar


def grammar_names() -> list[str]:
    """The known names, sorted."""
    return sorted(_GRAMMARS)


def get_grammar(name: str) -> Grammar:
    """Look a grammar up.

    Args:
        name: Its name.

    Returns:
        The grammar; it has no state, so one object serves everybody.

    Raises:
        InputError: No grammar has this name.
    """
    try:
        return _GRAMMARS[name]
    except KeyError:
        known = ", ".join(grammar_names())
        raise InputError(f"unknown grammar {name!r}", fix=f"Known grammars: {known}.") from None
