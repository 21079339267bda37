"""Reads the body of a request: its messages, their blocks, and which role is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

import orjson

from simia_gym.common.json_encoding import decode
from simia_gym.llm.blocks import Block, read_blocks

Part = Literal["ledger", "reference", "user", "judge", "plain"]


class Refused(Exception):
    """The oracle does not answer this request; becomes a status and an error body.

    Args:
        message: What is wrong.
        status: The HTTP status.
        code: The error's code, as OpenAI-compatible servers name it.
    """

    def __init__(self, message: str, *, status: int = 400, code: str = "oracle_cannot_answer") -> None:
        self.message, self.status, self.code = message, status, code
        super().__init__(message)


class Said(NamedTuple):
    """One message of a prompt."""

    role: str
    text: str


@dataclass(frozen=True)
class Static:
    """The system messages of a prompt.

    Attributes:
        texts: The messages.
        blocks: The value of the first block of each kind.
    """

    texts: tuple[str, ...]
    blocks: Mapping[str, Any]

    def need(self, kind: str) -> Any:
        """The value of a required block.

        Raises:
            Refused: It is not.
        """
        if kind not in self.blocks:
            raise Refused(f"the system message has no block {kind!r}")
        return self.blocks[kind]


@dataclass
class Asked:
    """A parsed request.

    Attributes:
        body: The decoded body.
        static: Its system messages.
        turns: The messages after them.
    """

    body: Mapping[str, Any]
    static: Static
    turns: tuple[Said, ...]
    _blocks: dict[int, tuple[Block, ...]] = field(default_factory=dict)

    def blocks(self, index: int) -> tuple[Block, ...]:
        """The blocks of one of the turns."""
        index %= len(self.turns)
        if index not in self._blocks:
            self._blocks[index] = blocks_of(self.turns[index])
        return self._blocks[index]

    def last(self, kind: str) -> tuple[int, Any] | None:
        """The last block of a kind among the turns: the position of its turn, and its value."""
        for index in range(len(self.turns) - 1, -1, -1):
            for item in reversed(self.blocks(index)):
                if item.kind == kind:
                    return index, item.value
        return None

    @cached_property
    def part(self) -> Part:
        """The role that the prompt asks for."""
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
        if "criterion" in kinds or ("domain" in known and self.last("criterion") is not None):
            return "judge"
        if "domain" in known:
            raise Refused(f"the blocks {sorted(kinds)} after {sorted(known)} ask for no part that an oracle plays")
        return "plain"


def blocks_of(said: Said) -> tuple[Block, ...]:
    """The blocks of a message that is not the model's own.

    Raises:
        Refused: A block holds no JSON.
    """
    if said.role == "assistant":
        return ()
    try:
        return tuple(read_blocks(said.text))
    except ValueError as error:
        raise Refused(f"a block holds no JSON: {error}") from None


def read_request(raw: bytes) -> Asked:
    """Read the body of a request.

    Raises:
        Refused: It is no chat-completions request.
    """
    try:
        try:
            body = orjson.loads(raw)
        except orjson.JSONDecodeError:  # integers beyond 64 bits
            body = decode(raw)
    except ValueError as error:
        raise Refused(f"the body is no JSON: {error}", code="invalid_json") from None
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or not messages:
        raise Refused("the body has no list of messages", code="invalid_request_error")
    said = tuple(_said(message) for message in messages)
    count = next((i for i, item in enumerate(said) if item.role not in ("system", "developer")), len(said))
    return Asked(body, _static(tuple(item.text for item in said[:count])), said[count:])


@lru_cache(maxsize=512)
def _static(texts: tuple[str, ...]) -> Static:
    """Read system messages; the same ones come with every request of an episode, and are read once."""
    found: dict[str, Any] = {}
    try:
        for text in texts:
            for item in read_blocks(text):
                found.setdefault(item.kind, item.value)
    except ValueError as error:
        raise Refused(f"a block of the system message holds no JSON: {error}") from None
    return Static(texts, found)


def _said(message: Any) -> Said:
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise Refused("a message has no role", code="invalid_request_error")
    content = message.get("content")
    if isinstance(content, Sequence) and not isinstance(content, str):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return Said(message["role"], content if isinstance(content, str) else "")
