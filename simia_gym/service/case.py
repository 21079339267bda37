"""What a rule sees: tool results and what the customer said; what is not known yet raises `Need`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from simia_gym.types import ToolCall


class Need(Exception):
    """Something that is not known yet: the result of a ``call``, or the value of a ``slot``."""

    def __init__(self, *, call: ToolCall | None = None, slot: str = "") -> None:
        super().__init__(f"there is no slot {slot!r}" if call is None else f"{call.name} has not been called")
        self.call, self.slot = call, slot


@dataclass(frozen=True)
class No:
    """A rule's objection, with values for the words of its refusal; maybe the customer is handed over instead."""

    values: Mapping[str, Any] = field(default_factory=dict)
    handover: bool = False


@dataclass(frozen=True)
class Option:
    """A value that a slot may take.

    Attributes:
        say: How customers of tasks say it.
        forms: How a proposal may name it; as customers say it, if not given.
        heard: Further words by which the expert reads it.
    """

    say: tuple[str, ...]
    forms: tuple[str, ...] = ()
    heard: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """Texts of which a proposal has one."""
        return self.forms or self.say


Reader: TypeAlias = Callable[[ToolCall], Any]
"""Gives the decoded result of a call; ``None`` if the call fails; raises `Need` if it is not known."""


class Case:
    """One wish of one customer.

    Args:
        who: The customer's id.
        reader: Where tool results come from.
        slots: What the customer wants, as far as it is known.
        find: Looks for a slot that is not known, given the case; a value that it finds is known from then on.
        before: Where the results of tools come from as they were when the conversation began; as now if not given.

    Attributes:
        known: What the customer wants, as far as it is known.
        wished: The slots of the wish that is decided.
        reads: The calls at whose results the present rule has looked.
        used: The slots that the present rule has looked at.
    """

    def __init__(
        self,
        who: str,
        reader: Reader,
        slots: dict[str, Any],
        find: Callable[[str, Case], Any] | None = None,
        before: Reader | None = None,
    ) -> None:
        self.who, self._before = who, before or reader
        self.reader, self.known, self._find = reader, slots, find
        self.wished: tuple[str, ...] = ()
        self.reads: list[ToolCall] = []
        self.used: dict[str, None] = {}

    def begin_step(self) -> None:
        """Forget what the rule before has looked at."""
        self.reads, self.used = [], {}

    def read(self, tool: str, **arguments: Any) -> Any:
        """The result of a reading tool, decoded; ``None`` if the tool declines.

        Raises:
            Need: It has not been called yet.
        """
        return self._seen(self.reader, ToolCall(tool, arguments))

    def read_first(self, tool: str, **arguments: Any) -> Any:
        """What `read` gave when the conversation began, before any wish of the customer was granted.

        Raises:
            Need: It has not been called yet.
        """
        return self._seen(self._before, ToolCall(tool, arguments))

    def _seen(self, reader: Reader, call: ToolCall) -> Any:
        result = reader(call)
        if call not in self.reads:
            self.reads.append(call)
        return result

    def has(self, name: str) -> bool:
        """Whether the wish has a slot, told or not yet; so one function can serve wishes with different slots."""
        return name in self.wished or name in self.known

    def slot(self, name: str) -> Any:
        """What the customer wants.

        Raises:
            Need: The customer has not told it yet.
        """
        if name not in self.known:
            value = None if self._find is None else self._find(name, self)
            if value is None:
                raise Need(slot=name)
            self.known[name] = value
        self.used[name] = None
        return self.known[name]


def key_of(call: ToolCall) -> str:
    """A call as a text, equal for equal calls."""
    return f"{call.name} {json.dumps(call.arguments, sort_keys=True)}"


def decoded(observation: str) -> Any:
    """A tool's result: the JSON value, or the text if it is none."""
    try:
        return json.loads(observation)
    except ValueError:
        return observation
