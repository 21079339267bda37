"""Names the dialect of a reply that is wholly a tool call in the format of another model family.

Such a reply must not be sent to the user. Prose that quotes a call is no such reply: the call has to begin the reply,
or its last mark has to end it.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class _Dialect(NamedTuple):
    name: str
    openings: tuple[str, ...]
    closings: tuple[str, ...] = ()


_DIALECTS = (
    _Dialect(
        "DeepSeek",
        ("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜DSML｜", "<|tool▁calls▁begin|>"),
        ("<｜tool▁calls▁end｜>", "<｜tool▁call▁end｜>", "</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"),
    ),
    _Dialect(
        "Kimi K2",
        ("<|tool_calls_section_begin|>", "<|tool_call_begin|>"),
        ("<|tool_calls_section_end|>", "<|tool_call_end|>"),
    ),
    _Dialect(
        "harmony",
        (
            "<|start|>assistant<|channel|>commentary to=",
            "<|channel|>commentary to=",
            "<|start|>assistant to=",
            "to=functions.",
        ),
        ("<|call|>",),
    ),
    _Dialect("Llama 4 (pythonic)", ("<|python_start|>", "<|python_tag|>"), ("<|python_end|>",)),
    _Dialect("MiniMax", ("<minimax:tool_call>",), ("</minimax:tool_call>",)),
    _Dialect("Cohere", ("<|START_ACTION|>",), ("<|END_ACTION|>",)),
    _Dialect("Gemma", ("<|tool_call>", "<start_function_call>"), ("<tool_call|>", "<end_function_call>")),
    _Dialect("tool_code", ("```tool_code",)),
)
_OPENINGS = {opening: one.name for one in _DIALECTS for opening in one.openings}
_CLOSINGS = {closing: one.name for one in _DIALECTS for closing in one.closings}
_STARTS, _ENDS = tuple(_OPENINGS), tuple(_CLOSINGS)
_REACT = re.compile(r"(?:Thought:[^\n]*+\n\s*+)?+Action:[ \t]*+[\w.-]++[ \t]*+\n\s*+Action Input:")
_CALL = r"[A-Za-z_][\w.]*+\((?:[A-Za-z_]\w*+[ ]?=[^=]|\))"
_BARE, _LISTED = re.compile(_CALL), re.compile(r"\[\s*+" + _CALL)


def dialect_of(said: str) -> str | None:
    """The name of the dialect in which a reply is wholly calls.

    Args:
        said: The reply without thinking and without white space around it.

    Returns:
        The name; ``None`` if the reply is a message.
    """
    if said.startswith(_STARTS):
        return next(name for opening, name in _OPENINGS.items() if said.startswith(opening))
    if said.endswith(_ENDS):
        return next(name for closing, name in _CLOSINGS.items() if said.endswith(closing))
    if said.endswith(")") and _BARE.match(said):
        return 'name(argument="...")'
    if said.startswith("[") and said.endswith(")]") and _LISTED.match(said):
        return "Llama 4 (pythonic)"
    if said.startswith(("Action:", "Thought:")) and _REACT.match(said):
        return "ReAct"
    return None
