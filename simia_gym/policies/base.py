"""What a policy is: something that reads the transcript and writes the next action."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from simia_gym.actions import Grammar
from simia_gym.types import JsonObject, Message, PolicyAction


@dataclass(frozen=True)
class PolicyStart:
    """What a policy gets before an episode.

    Attributes:
        env: The environment's id.
        seed: The episode's seed; the only source of chance that a policy should use.
        tools: OpenAI tool dictionaries, read-only.
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


@dataclass(frozen=True)
class PolicyOptions:
    """Settings of the policy that asks a language model.

    Attributes:
        model: The model's name; else ``SIMIA_POLICY_MODEL``.
        base_url: The endpoint, such as ``http://127.0.0.1:8000/v1``; else ``SIMIA_POLICY_BASE_URL`` or
            ``OPENAI_BASE_URL``.
        api_key: Its key; else ``SIMIA_POLICY_API_KEY`` or ``OPENAI_API_KEY``. Never shown or stored.
        temperature: Sampling temperature; ``None`` leaves it to the server.
        max_tokens: Longest reply; ``None`` leaves it to the server.
        timeout: Seconds that one request may take.
        retries: Further tries after a failure that may pass.
        backoff: Seconds before the first further try; doubled each time.
        native_tools: Send the tool schemas in the request too, for servers that parse tool calls themselves.
        extra: Further fields of the request body.
        client: An ``openai.AsyncOpenAI`` or ``AsyncAzureOpenAI`` that is used in place of address and key.
        concurrency: Most requests in flight to the model; ``None`` for no ceiling.
        price_in: USD per million prompt tokens.
        price_cached: USD per million prompt tokens that came from the server's cache; else `price_in`.
        price_out: USD per million completion tokens.
    """

    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float = 120.0
    retries: int = 4
    backoff: float = 0.5
    native_tools: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    client: Any = field(default=None, repr=False)
    concurrency: int | None = None
    price_in: float | None = None
    price_cached: float | None = None
    price_out: float | None = None
