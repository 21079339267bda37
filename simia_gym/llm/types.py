"""Requests to models, their replies, and the protocol of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from simia_gym.errors import Role
from simia_gym.llm.prompt import Prompt
from simia_gym.state.frozen import FrozenDict
from simia_gym.types import JsonObject

_NOTHING: Mapping[str, Any] = FrozenDict()

ANY_VALUE: JsonObject = {"type": ["string", "number", "boolean", "null", "object", "array"]}
"""The schema of a value of any kind in a reply. It names the types, because some engines that hold a model to a schema
can write hardly any value where it names none."""


@dataclass(frozen=True)
class Habits:
    """Other ways of writing a reply that have one sound reading, beside those that hold for every reply.

    All names and words are in lower case with underscores.

    Attributes:
        names: Other names of keys.
        words: By key, other words for its enumerated ones.
        defaults: By key, the value of one that is missing or null.
        json_texts: Keys of texts that may hold JSON, so that JSON in their place is its text.
        loose: Keys of plain words; what stands beside them under another name is dropped.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    json_texts: frozenset[str] = frozenset()
    loose: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False, slots=True)
class SentForm:
    """The form that a server is asked to hold the model to, where it is narrower than what is read.

    Attributes:
        schema: JSON Schema of the reply as the server is asked for it.
        key: The one key of the reply under which its content stands; empty if it stands by itself.
        missing: By key, the value of one that the content leaves out.
    """

    schema: JsonObject
    key: str = ""
    missing: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class ReplySchema:
    """The schema that a reply must meet; the same object for all requests, because it is compiled once per object.

    Attributes:
        name: Short name for the ``response_format`` field, such as ``transition``.
        schema: JSON Schema (draft 2020-12) of the reply, which is a JSON object.
        habits: Other ways of writing it.
        sent: The form that is asked for, if it is another one.
    """

    name: str
    schema: JsonObject
    habits: Habits = Habits()
    sent: SentForm | None = None


class ChatRequest(NamedTuple):
    """One request to a model.

    Attributes:
        role: Role that sends the request.
        prompt: The encoded messages.
        reply: Schema of the reply; ``None`` for free text.
        seed: Sampling seed for the server; ``None`` sends none.
        scope: The episode that sends the request: task id, task hash and episode seed. A cassette finds a reply by
            scope, `ordinal` and the request itself.
        ordinal: Number of the request among the requests of this role in the episode, from 0.
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
    """Token counts of one request as reported by the server; 0 if it reports none.

    Attributes:
        prompt: Prompt tokens, cached ones included.
        cached: Prompt tokens that the server took from its prefix cache.
        completion: Tokens of the reply, thinking included.
    """

    prompt: int = 0
    cached: int = 0
    completion: int = 0


UNREADABLE = frozenset({"bad_reply", "empty_reply"})
"""Kinds of faults of a model that replied, but not so that it could be read."""


class Unread(NamedTuple):
    """A reply that could not be read.

    Attributes:
        text: What the model wrote.
        problem: Why it could not be read.
        model: The model that replied.
        usage: Token counts.
    """

    text: str
    problem: str
    model: str
    usage: Usage


class Sampled(NamedTuple):
    """The tokens of one reply, as far as the server gives them; asked for with fields of the request.

    vLLM gives all of them with ``"logprobs": true, "return_token_ids": true``.

    Attributes:
        prompt_ids: Ids of the prompt's tokens; ``None`` if the server gives none.
        ids: Ids of the sampled tokens; ``None`` if the server gives none.
        logprobs: Log-probabilities of the sampled tokens, in nats; ``None`` if the server gives none.
    """

    prompt_ids: tuple[int, ...] | None = None
    ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None


class Reply(NamedTuple):
    """A model's reply.

    Attributes:
        text: The text without the model's thinking.
        raw: The unchanged text.
        data: The decoded JSON value, valid under the request's schema; ``None`` if the request has no schema.
        message: The assistant message as received, with its tool calls.
        finish_reason: Why the model stopped, as reported by the server.
        model: The model that replied, as reported by the server.
        usage: Token counts.
        read: The kinds of what was put right to read the data, sorted; ``None`` if it is read strictly, and nothing
            may be put right later either.
        unread: Earlier replies to the same request that could not be read.
        sampled: Its tokens; ``None`` if the server gives none.
    """

    text: str
    raw: str
    data: Any = None
    message: Mapping[str, Any] = _NOTHING
    finish_reason: str | None = None
    model: str = ""
    usage: Usage = Usage()
    read: tuple[str, ...] | None = None
    unread: tuple[Unread, ...] = ()
    sampled: Sampled | None = None

    def put_right(self, data: Any, *kinds: str) -> Reply:
        """The reply with other data, and what was put right in it."""
        return self._replace(data=data, read=tuple(sorted({*(self.read or ()), *kinds})))


class ChatModel(Protocol):
    """Anything that replies to requests: an endpoint, a cassette or the record of an episode."""

    async def complete(self, request: ChatRequest) -> Reply:
        """Reply to one request. If the request has a reply schema, the reply's ``data`` is valid under it.

        Raises:
            Fault: There is no valid reply; names the request's role. Implementations never make up a reply.
        """
        ...
