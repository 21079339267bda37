"""Names the dialect of a reply that is wholly a tool call in the format of another model family.

Such a reply must not be sent to the user. Prose that quotes a call is no such reply: the call has to begin the reply,
or its last mark has to end it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator

Dialect = Literal[
    "deepseek", "kimi", "harmony", "pythonic", "minimax", "cohere", "gemma", "tool_code", "react", "bare", "invoke"
]

NAMES: Mapping[Dialect, str] = {
    "deepseek": "DeepSeek",
    "kimi": "Kimi K2",
    "harmony": "harmony",
    "pythonic": "Llama 4 (pythonic)",
    "minimax": "MiniMax",
    "cohere": "Cohere",
    "gemma": "Gemma",
    "tool_code": "tool_code",
    "react": "ReAct",
    "bare": 'name(argument="...")',
    "invoke": '<invoke name="...">',
}
"""The dialects, and what errors call them."""

_KEYS = {name.lower(): key for key, name in NAMES.items()}


def _key_of(given: Any) -> Any:
    """The dialect of a name, also of one that an error has."""
    return _KEYS.get(given.lower(), given.lower()) if isinstance(given, str) else given


DialectSetting = Annotated[Dialect | None, BeforeValidator(_key_of)]
"""A dialect by its name, or by what errors call it; case does not matter."""


class Marks(NamedTuple):
    """The marks that begin and end the calls of a dialect."""

    openings: tuple[str, ...]
    closings: tuple[str, ...] = ()


MARKS: Mapping[Dialect, Marks] = {
    "deepseek": Marks(
        ("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜DSML｜", "<|tool▁calls▁begin|>"),
        ("<｜tool▁calls▁end｜>", "<｜tool▁call▁end｜>", "</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"),
    ),
    "kimi": Marks(
        ("<|tool_calls_section_begin|>", "<|tool_call_begin|>"),
        ("<|tool_calls_section_end|>", "<|tool_call_end|>"),
    ),
    "harmony": Marks(
        (
            "<|start|>assistant<|channel|>commentary to=",
            "<|channel|>commentary to=",
            "<|start|>assistant to=",
            "to=functions.",
        ),
        ("<|call|>",),
    ),
    "pythonic": Marks(("<|python_start|>", "<|python_tag|>"), ("<|python_end|>",)),
    "minimax": Marks(("<minimax:tool_call>",), ("</minimax:tool_call>",)),
    "cohere": Marks(("<|START_ACTION|>",), ("<|END_ACTION|>",)),
    "gemma": Marks(("<|tool_call>", "<start_function_call>"), ("<tool_call|>", "<end_function_call>")),
    "tool_code": Marks(("```tool_code",)),
    "invoke": Marks(("<function_calls>", "<invoke name="), ("</function_calls>", "</invoke>")),
}
_OPENINGS = {opening: key for key, marks in MARKS.items() for opening in marks.openings}
_CLOSINGS = {closing: key for key, marks in MARKS.items() for closing in marks.closings}
_STARTS, _ENDS = tuple(_OPENINGS), tuple(_CLOSINGS)
_REACT = re.compile(r"(?:Thought:[^\n]*+\n\s*+)?+Action:[ \t]*+[\w.-]++[ \t]*+\n\s*+Action Input:")
_CALL = r"[A-Za-z_][\w.]*+\((?:[A-Za-z_]\w*+[ ]?=[^=]|\))"
_BARE, _LISTED = re.compile(_CALL), re.compile(r"\[\s*+" + _CALL)


def dialect_of(said: str) -> Dialect | None:
    """The dialect in which a reply is wholly calls.

    Args:
        said: The reply without thinking and without white space around it.

    Returns:
        The dialect; ``None`` if the reply is a message.
    """
    if said.startswith(_STARTS):
        return next(key for opening, key in _OPENINGS.items() if said.startswith(opening))
    if said.endswith(_ENDS):
        return next(key for closing, key in _CLOSINGS.items() if said.endswith(closing))
    if said.endswith(")") and _BARE.match(said):
        return "bare"
    if said.startswith("[") and said.endswith(")]") and _LISTED.match(said):
        return "pythonic"
    if said.startswith(("Action:", "Thought:")) and _REACT.match(said):
        return "react"
    return None
