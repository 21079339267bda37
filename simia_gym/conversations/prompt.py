"""A system message with the tools inside, and without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import get_args

from simia_gym.actions import Replies, ToolsGrammar, native_instructions
from simia_gym.actions.signatures import hermes_block
from simia_gym.common.json_encoding import decode, encode
from simia_gym.types import JsonObject

_GRAMMAR = ToolsGrammar()
_HEAD = "# Tools\n\nThese are the tools, one JSON Schema a line:\n\n"
_FOOT = (
    "\n\nTo call a tool, write a JSON object with its name and its arguments between <tool_call> and </tool_call>, "
    "once for each call. The answers come back between <tool_response> and </tool_response>."
)


def with_tools(system: str | None, tools: Sequence[JsonObject]) -> str | None:
    """The system message with the tools and the format of calls inside.

    Where it says how to act when the tools stand beside the messages, it becomes the one that policies see when they do
    not. Any other gets a section about the tools; none if it has the block ``<tools>`` already.
    """
    system = without_tools(system, tools)
    if not tools or (system is not None and "<tools>" in system):
        return system
    text = system or ""
    for native, (full, _) in _instructions(encode(tools)):
        if text.endswith(native):
            return text.removesuffix(native) + full
    block = f"{_HEAD}{hermes_block(tools)}{_FOOT}"
    return block if system is None else f"{system}\n\n{block}"


def without_tools(system: str | None, tools: Sequence[JsonObject]) -> str | None:
    """The inverse of `with_tools`; it leaves a message alone that was not made by it or by this package's prompts."""
    if system is None or not tools:
        return system
    for native, written in _instructions(encode(tools)):
        for text in written:
            if system.endswith(text):
                return system.removesuffix(text) + native
    block = f"{_HEAD}{hermes_block(tools)}{_FOOT}"
    return None if system == block else system.removesuffix(f"\n\n{block}")


@lru_cache(maxsize=32)
def _instructions(encoded: bytes) -> list[tuple[str, tuple[str, str]]]:
    """For each way to act, how it is told when the tools stand beside the messages, and inside, full and compact."""
    return list(_made(encoded))


def _made(encoded: bytes) -> Iterator[tuple[str, tuple[str, str]]]:
    tools = decode(encoded)
    for parallel, replies in product((True, False), get_args(Replies)):
        full, compact = (_GRAMMAR.instructions(tools, short, parallel, replies).strip() for short in (False, True))
        yield native_instructions(parallel, replies), (full, compact)
