"""Requests to models, their replies, and the protocol of everything that answers requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from simia_gym.errors import Role
from simia_gym.llm.prompt import Prompt
from simia_gym.state.frozen import FrozenDict
from simia_gym.types import JsonObject

_NOTHING: Mapping[str, Any] = FrozenDict()


@dataclass(frozen=True, slots=True)
class ReplySchema:
    """The form that a reply must have.

    Attributes:
        name: A short name that servers want, such as ``transition``.
        schema: JSON Schema (draft 2020-12) of the reply, an object.
    """

    name: str
    schema: JsonObject


class ChatRequest(NamedTuple):
    """One question to a model.

    Attributes:
        role: Whose question it is.
        prompt: The messages, already encoded.
        reply: The form of the reply; ``None`` for free text.
        seed: Where the server's sampling starts, for servers that take seeds; ``None`` sends none.
        scope: Which episode asks: task, its content hash and the episode's seed. With `ordinal` and the canonical
            request it names the request in a cassette.
        ordinal: Number of the request among those of this role in the episode, from 0.
        purpose: ``answer``, ``repair`` or ``escalation``; for the record.
        body: Further fields of the request body, such as ``tools``.
    """

    role: Role
    prompt: Prompt
    reply: ReplySchema | None = None
    seed: int | None = None
    scope: str = ""
    ordinal: int = 0
    purpose: str = "answer"
    body: Mapping[str, Any] = _NOTHING


class Usage(NamedTuple):
    """Tokens of one request as counted by the server; 0 if it reports none.

    Attributes:
        prompt: Tokens of the prompt, cached ones included.
        cached: Those of them that the server took from its prefix cache.
        completion: Tokens of the reply, thinking included.
    """

    prompt: int = 0
    cached: int = 0
    completion: int = 0


class Reply(NamedTuple):
    """A model's answer.

    Attributes:
        text: What it said, without its thinking.
        raw: What it said, to the letter.
        data: The decoded reply, where the request had a form; it meets the form.
        message: The assistant message as it came, with tool calls where there are some.
        finish_reason: Why the model stopped, as the server says.
        model: The model that answered, as the server says.
        usage: What it took.
    """

    text: str
    raw: str
    data: Any = None
    message: Mapping[str, Any] = _NOTHING
    finish_reason: str | None = None
    model: str = ""
    usage: Usage = Usage()


class ChatModel(Protocol):
    """A source of answers: an endpoint, a cassette, a record."""

    async def complete(self, request: ChatRequest) -> Reply:
        """Answer one request.

        Args:
            request: The question.

        Returns:
            The answer. Where the request has a form, ``data`` meets it.

        Raises:
            Fault: No trustworthy answer could be had, with the request's role. Never a made-up answer.
        """
        ...
