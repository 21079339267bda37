"""A policy that calls a user's function with the messages and the tools."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from simia_gym.policies.base import PolicyStart
from simia_gym.policies.openai_messages import openai_messages
from simia_gym.types import JsonObject, Message, PolicyAction

AgentFunction: TypeAlias = Callable[[list[JsonObject], list[JsonObject]], Any | Awaitable[Any]]
"""Takes messages and tools in OpenAI's format; returns a text or an assistant message, as dictionary or SDK object."""


class FunctionPolicy:
    """Calls a function for every action.

    Args:
        function: A plain or async function. A plain one is called in a thread, so that it may block.
    """

    def __init__(self, function: AgentFunction) -> None:
        self._function = function
        self._is_async = inspect.iscoroutinefunction(function)
        self._tools: list[JsonObject] = []

    def start(self, start: PolicyStart) -> None:
        """Store the tools for the function's calls."""
        self._tools = list(start.tools)

    async def act(self, messages: Sequence[Message]) -> PolicyAction:
        """Call the function and return its result as an action."""
        given = openai_messages(messages), self._tools
        said = self._function(*given) if self._is_async else await asyncio.to_thread(self._function, *given)
        if inspect.isawaitable(said):
            said = await said
        dump = getattr(said, "model_dump", None)
        action: PolicyAction = said if dump is None else dump(exclude_none=True)
        return action
