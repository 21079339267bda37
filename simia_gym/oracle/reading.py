"""Parses a request's body: its messages, their data blocks, and the role that the request addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

import orjson

from simia_gym.common.json_encoding import decode
from simia_gym.llm.blocks import Block, read_blocks

Part = Literal["ledger", "reference", "user", "judge", "teacher", "opinion", "plain"]


class Refused(Exception):
    """The oracle refuses this request; the server turns it into an HTTP error.

    Args:
        message: What is wrong with the request.
        status: HTTP status of the response.
        code: ``code`` in the body of the OpenAI-compatible error.
    """

    def __init__(self, message: str, *, status: int = 400, code: str = "oracle_cannot_answer") -> None:
        self.message, self.status, self.code = message, status, code
        super().__init__(message)


class Message(NamedTuple):
    """One message of a prompt."""

    role: str
    text: str


@dataclass(frozen=True)
class Static:
    """The texts of the system messages of a prompt, and the value of the first block of each kind in them."""

    texts: tuple[str, ...]
    blocks: Mapping[str, Any]

    def need(self, kind: str) -> Any:
        """The value of a required block.

        Raises:
            Refused: The system messages have no such block.
        """
        if kind not in self.blocks:
            raise Refused(f"the system message has no block {kind!r}")
        return self.blocks[kind]


@dataclass
class ParsedRequest:
    """A request: its decoded body, the leading system messages, and the messages after them."""

    body: Mapping[str, Any]
    static: Static
    turns: tuple[Message, ...]
    _blocks: dict[int, tuple[Block, ...]] = field(default_factory=dict)

    def blocks(self, index: int) -> tuple[Block, ...]:
        """The data blocks of the turn at an index."""
        index %= len(self.turns)
        if index not in self._blocks:
            self._blocks[index] = blocks_of(self.turns[index])
        return self._blocks[index]

    def last(self, kind: str) -> tuple[int, Any] | None:
        """The index of the turn with the last block of a kind, and the block's value; ``None`` if there is none."""
        for index in range(len(self.turns) - 1, -1, -1):
            for item in reversed(self.blocks(index)):
                if item.kind == kind:
                    return index, item.value
        return None

    @cached_property
    def part(self) -> Part:
        """The role that the prompt addresses.

        Raises:
            Refused: The prompt names a domain, but its blocks address none of the roles.
        """
        known = self.static.blocks
        if not self.turns:
            return "plain"
        last = max((i for i, said in enumerate(self.turns) if said.role == "user"), default=None)
        if last is None:
            return "plain"
        if "customer" in known:
            return "user"
        kinds = {item.kind for item in self.blocks(last)}
        if kinds & {"call", "violations"} and self.last("state") is not None:
            return "ledger"
        if kinds & {"call", "violations"} and "task" in known and self.last("call") is not None:
            return "reference"
        if "policy" in known and kinds & {"vary", "conversation"}:
            return "teacher" if "vary" in kinds else "opinion"
        if "criterion" in kinds or ("domain" in known and self.last("criterion") is not None):
            return "judge"
        if "domain" in known:
            raise Refused(f"the blocks {sorted(kinds)} after {sorted(known)} address none of the oracle's roles")
        return "plain"


def blocks_of(said: Message) -> tuple[Block, ...]:
    """The data blocks of a message; none for the model's own messages.

    Raises:
        Refused: The content of a block is not JSON.
    """
    if said.role == "assistant":
        return ()
    try:
        return tuple(read_blocks(said.text))
    except ValueError as error:
        raise Refused(f"the content of a block is not JSON: {error}") from None


def read_request(raw: bytes) -> ParsedRequest:
    """Parse the body of a request.

    Raises:
        Refused: The body is not a chat-completions request.
    """
    try:
        try:
            body = orjson.loads(raw)
        except orjson.JSONDecodeError:  # orjson rejects integers beyond 64 bits
            body = decode(raw)
    except ValueError as error:
        raise Refused(f"the body is not JSON: {error}", code="invalid_json") from None
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or not messages:
        raise Refused("the body has no list of messages", code="invalid_request_error")
    said = tuple(_said(message) for message in messages)
    count = next((i for i, item in enumerate(said) if item.role not in ("system", "developer")), len(said))
    return ParsedRequest(body, _static(tuple(item.text for item in said[:count])), said[count:])


@lru_cache(maxsize=512)
def _static(texts: tuple[str, ...]) -> Static:
    """Parse system messages. Cached, because every request of an episode repeats them."""
    found: dict[str, Any] = {}
    try:
        for text in texts:
            for item in read_blocks(text):
                found.setdefault(item.kind, item.value)
    except ValueError as error:
        raise Refused(f"the content of a block of the system message is not JSON: {error}") from None
    return Static(texts, found)


def _said(message: Any) -> Message:
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise Refused("a message has no role", code="invalid_request_error")
    content = message.get("content")
    if isinstance(content, Sequence) and not isinstance(content, str):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return Message(message["role"], content if isinstance(content, str) else "")
