"""What a policy is: something that reads the transcript and writes the next action."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from simia_gym.actions import Grammar
from simia_gym.common.settings import setting
from simia_gym.llm.settings import ModelSettings
from simia_gym.types import JsonObject, Message, PolicyAction


@dataclass(frozen=True)
class PolicyStart:
    """What a policy gets before an episode.

    Attributes:
        env: The environment's id.
        seed: The episode's seed; the only source of chance that a policy should use.
        tools: OpenAI tool dictionaries; a copy of the policy's own.
        grammar: How actions are written here.
        samples: Typical action texts of the domain.
    """

    env: str
    seed: int
    tools: Sequence[JsonObject]
    grammar: Grammar
    samples: tuple[str, ...] = ()


@runtime_checkable
class Policy(Protocol):
    """One agent in one episode at a time.

    A policy may also have ``start(self, start: PolicyStart) -> None``, which is called before each episode.
    """

    def act(self, messages: Sequence[Message]) -> PolicyAction | Awaitable[PolicyAction]:
        """Write the next action.

        Args:
            messages: The whole transcript so far in the OpenAI layout: system, user, assistant, tool. The messages are
                read-only; ``dict(message)`` is a copy of your own.

        Returns:
            The action: text in the domain's grammar, or an assistant message in OpenAI's layout; or an awaitable
            of it.

        Raises:
            Fault: What the policy runs on failed, with role ``policy``.
            Cut: The policy can say no more, for instance because its context is full; the episode is judged as it
                stands.
        """
        ...


class PolicyOptions(ModelSettings):
    """Settings of the policy that asks a language model: those of every model, and where it is asked."""

    retries: int = setting(4, "Further tries after a failure that may pass.", ge=0)
    native_tools: bool = setting(
        False, "Send the tool schemas in the request too, for servers that parse tool calls themselves."
    )
    base_url: str | None = setting(
        None, "The endpoint; else SIMIA_POLICY_BASE_URL or OPENAI_BASE_URL.", option="", repr=False
    )
    api_key: str | None = setting(
        None, "Its key; else SIMIA_POLICY_API_KEY or OPENAI_API_KEY. Never shown or stored.", option="", repr=False
    )
    client: Any = setting(
        None, "An openai.AsyncOpenAI or AsyncAzureOpenAI, in place of address and key.", option="", repr=False
    )
