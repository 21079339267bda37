"""What a grammar is: the one place where the text of a policy becomes an action, and back."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, Protocol

from simia_gym.types import Action, JsonObject, Message

Replies = Literal["user", "end", "error"]
"""What a reply without calls does in a domain: it reaches the user, ends the episode, or is an error."""


class Grammar(Protocol):
    """How a domain's policies write actions.

    A domain names its grammar in ``domain.yaml``: ``grammar: tools``, or a class of its own that has these attributes
    and methods and can be made without arguments, as ``module:Class`` or ``file.py:Class``. One object serves all
    episodes, also at the same time, so it must keep no state. Its methods may raise what is listed here and nothing
    else; any other exception is a bug of the grammar.

    Attributes:
        name: A word for lists, such as ``tools``.
        observation_role: The chat role in which results of calls come back. With ``tool``, calls have ids, and
            `render` keeps them; with ``user``, texts of actions have none.
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
