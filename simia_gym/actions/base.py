"""The interface of grammars, which parse the text of a policy into an action and render actions as text."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, Protocol

from simia_gym.types import Action, JsonObject, Message

Replies = Literal["user", "end", "error"]
"""Effect of a reply without tool calls: it is sent to the user, ends the episode, or is an error."""


class Grammar(Protocol):
    """The text format of a domain's actions.

    A domain names its grammar in ``domain.yaml``: ``grammar: tools``, or its own class, as ``module:Class`` or
    ``file.py:Class``. Such a class has these attributes and methods and a constructor without arguments. One object
    serves all episodes concurrently, so it must be stateless. Its methods may raise only the exceptions listed here.
    A grammar that depends on the domain's options also has ``with_options(options)``, which returns the one to use.

    Attributes:
        name: Name of the grammar, such as ``tools``.
        observation_role: Chat role of tool results. With ``tool``, calls have ids, and `render` keeps them; with
            ``user``, calls have no ids.
    """

    name: str
    observation_role: Literal["tool", "user"]

    def parse(self, text: str) -> Action:
        """Parse one action; thinking is stripped first.

        Args:
            text: The policy's unmodified output.

        Returns:
            A message to the user, an ordered list of calls, or an end.

        Raises:
            ActionError: The text is not a valid action. The policy sees the message.
        """
        ...

    def instructions(
        self, tools: Sequence[JsonObject], compact: bool = False, parallel: bool = True, replies: Replies = "user"
    ) -> str:
        """Write the part of the system prompt that explains how to act.

        Args:
            tools: OpenAI tool dictionaries; keys that start with ``x-`` are left out.
            compact: Describe each tool in one line instead of by its JSON Schema.
            parallel: Whether one reply may hold several calls.
            replies: Effect of a reply without tool calls.

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
            InputError: The grammar cannot express this action.
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
            rng: The only source of randomness.
            tools: OpenAI tool dictionaries.
            pool: Action texts that are typical of the domain.
            messages: The transcript so far, if any; arguments may be taken from it.

        Returns:
            The text of an action.
        """
        ...
