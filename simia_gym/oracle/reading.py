"""From the body of a request to what an oracle needs: messages, blocks, and whose part is asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import orjson

from simia_gym.llm.blocks import Block, read_blocks

Part = Literal["ledger", "reference", "user", "judge", "plain"]

_MOST_KEPT = 512


class Refused(Exception):
    """A request that the oracle does not answer, as a status and an error body.

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
    """The system messages of a prompt, read once however often they come.

    Attributes:
        texts: The messages.
        memo: A place for what else was worked out from them.
    """

    texts: tuple[str, ...]
    memo: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def blocks(self) -> Mapping[str, Any]:
        """The first block of each kind."""
        found: dict[str, Any] = {}
        for text in self.texts:
            for item in read_blocks(text):
                found.setdefault(item.kind, item.value)
        return found

    def need(self, kind: str) -> Any:
        """The value of a block that must be there.

        Raises:
            Refused: It is not.
        """
        if kind not in self.blocks:
            raise Refused(f"the system message has no block {kind!r}")
        return self.blocks[kind]


@dataclass
class Asked:
    """A request, read.

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
        """Whose part the prompt asks for."""
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


class Reader:
    """Reads request bodies; remembers the system messages that it has read."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], Static] = {}

    def read(self, raw: bytes) -> Asked:
        """Read a body.

        Raises:
            Refused: It is no chat-completions request.
        """
        try:
            body = _decode(raw)
        except ValueError as error:
            raise Refused(f"the body is no JSON: {error}", code="invalid_json") from None
        messages = body.get("messages") if isinstance(body, dict) else None
        if not isinstance(messages, list) or not messages:
            raise Refused("the body has no list of messages", code="invalid_request_error")
        said = [_said(message) for message in messages]
        count = 0
        while count < len(said) and said[count].role in ("system", "developer"):
            count += 1
        texts = tuple(item.text for item in said[:count])
        static = self._known.get(texts)
        if static is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            static = self._known[texts] = Static(texts)
            try:
                _ = static.blocks
            except ValueError as error:
                raise Refused(f"a block of the system message holds no JSON: {error}") from None
        return Asked(body, static, tuple(said[count:]))


def _decode(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return json.loads(raw)  # integers beyond 64 bits


def _said(message: Any) -> Said:
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise Refused("a message has no role", code="invalid_request_error")
    content = message.get("content")
    if isinstance(content, Sequence) and not isinstance(content, str):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return Said(message["role"], content if isinstance(content, str) else "")
