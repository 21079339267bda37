"""What may play: a policy or its name, a model behind an address, or a function of messages and tools."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from simia_gym.assembly.suite import Suite
from simia_gym.errors import InputError
from simia_gym.policies import Policy, PolicyOptions, PolicyStart
from simia_gym.policies.load import HUMAN, checked_class
from simia_gym.policies.openai_messages import openai_messages
from simia_gym.types import JsonObject, Message, PolicyAction

AgentFunction: TypeAlias = Callable[[list[JsonObject], list[JsonObject]], Any | Awaitable[Any]]
"""Takes messages and tools in OpenAI's format; returns a text or an assistant message, as dictionary or SDK object."""

Agent: TypeAlias = str | PolicyOptions | type[Policy] | Policy | AgentFunction
"""The name of a policy; a model behind an OpenAI-compatible endpoint; a policy class or object; or a function."""


def policies_of(agent: object, suite: Suite) -> tuple[str, Callable[[], Policy], int]:
    """The agent's name, a factory of policies, and the maximum number of concurrent episodes.

    Raises:
        InputError: There is no such policy, or the object cannot play.
    """
    if isinstance(agent, str):
        return agent, suite.load_policy(agent), 1 if agent == HUMAN else sys.maxsize
    if isinstance(agent, PolicyOptions):
        return "llm", suite.load_policy("llm", agent), sys.maxsize
    name = str(getattr(agent, "__qualname__", type(agent).__qualname__))
    if inspect.isclass(agent):
        return name, checked_class(agent, name), sys.maxsize
    if isinstance(agent, Policy):
        return name, _Policies(lambda: agent, getattr(agent, "native_tools", False)), 1
    if callable(agent):
        return name, _Policies(lambda: _FunctionPolicy(agent), True), sys.maxsize
    fix = "Give a function agent(messages, tools), or an object or class with a method act(messages)."
    raise InputError(f"a {name} is not an agent", where="agent", fix=fix)


class _FunctionPolicy:
    """Calls an agent function for every action; a plain one in a thread, so that it may block."""

    native_tools = True

    def __init__(self, function: AgentFunction) -> None:
        self._function = function
        self._tools: list[JsonObject] = []

    def start(self, start: PolicyStart) -> None:
        self._tools = list(start.tools)

    async def act(self, messages: Sequence[Message]) -> PolicyAction:
        given = openai_messages(messages), self._tools
        plain = not inspect.iscoroutinefunction(self._function)
        said = await asyncio.to_thread(self._function, *given) if plain else self._function(*given)
        if inspect.isawaitable(said):
            said = await said
        action: PolicyAction = said  # of any shape that an episode reads
        return action


class _Policies:
    """Makes the policies of an agent, and says whether it gives its model the tools beside the messages."""

    def __init__(self, make: Callable[[], Policy], native_tools: bool) -> None:
        self._make, self.native_tools = make, native_tools

    def __call__(self) -> Policy:
        return self._make()
