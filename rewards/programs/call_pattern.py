"""Patterns of tool calls: for checks of calls, and for checks of words that count only after certain calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from simia_gym.actions.signatures import function_of
from simia_gym.record.finished_episode import CallMade, FinishedEpisode
from simia_gym.rewards.programs.program import Args, Texts, ToolNames
from simia_gym.state import strict_equal
from simia_gym.types import JsonObject

Outcome = Literal["ok", "error", "any"]


class CallPattern(Args):
    """A pattern that selects tool calls."""

    tool: ToolNames = Field(description="The tool, or several of which any counts.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="Arguments that the call must have, at least.")
    outcome: Outcome = Field(default="ok", description="Which calls count: `ok`, `error` or `any`.")
    observation: Texts = Field(default=(), description="If given, only calls that got one of these observations count.")


def matching(finished: FinishedEpisode, pattern: CallPattern) -> Iterable[CallMade]:
    """The calls that match a pattern, in order."""
    for call in finished.calls:
        if call.name not in pattern.tool or (pattern.outcome != "any" and call.ok != (pattern.outcome == "ok")):
            continue
        if not has(call.arguments, pattern.arguments):
            continue
        if not pattern.observation or str(finished.events[call.event].get("observation", "")) in pattern.observation:
            yield call


def unknown_arguments(args: Any, tools: Mapping[str, JsonObject]) -> Iterator[tuple[str, str, list[str]]]:
    """The arguments that patterns of calls name and that the tools do not have.

    Args:
        args: A program's arguments, and what is inside them.
        tools: Tool name to its ``tools.json`` entry.

    Yields:
        A tool, the argument, and those that the tool has.
    """
    if isinstance(args, CallPattern):
        for name in (name for name in args.tool if name in tools):
            schema = function_of(tools[name]).get("parameters", {})
            known = schema.get("properties", {})
            if known and not schema.get("additionalProperties"):
                yield from ((name, given, [*known]) for given in args.arguments if given not in known)
    inside = args if isinstance(args, tuple) else [value for _, value in args] if isinstance(args, Args) else ()
    for value in inside:
        yield from unknown_arguments(value, tools)


def has(given: Any, wanted: Any) -> bool:
    """Whether a value contains the wanted one: objects may have further keys, other values must be equal."""
    if isinstance(wanted, dict) and isinstance(given, Mapping):
        return all(key in given and has(given[key], value) for key, value in wanted.items())
    return strict_equal(given, wanted)


def _after(value: Any) -> Any:
    items = value if isinstance(value, list | tuple) else [value]
    return tuple(tuple(item) if isinstance(item, list | tuple) else (item,) for item in items)


After: TypeAlias = Annotated[
    tuple[tuple[CallPattern, ...], ...],
    BeforeValidator(_after, json_schema_input_type=CallPattern | tuple[CallPattern | tuple[CallPattern, ...], ...]),
]
"""Calls that must all have come first; of a list inside it, one call is enough."""


def ready_at(finished: FinishedEpisode, after: After) -> tuple[int, str]:
    """The event at which all the calls have been made.

    Returns:
        The event's number and ``""``; or the number of all events and a description of the first missing call.
    """
    ready = -1
    for choice in after:
        events = (next((call.event for call in matching(finished, pattern)), None) for pattern in choice)
        first = min((event for event in events if event is not None), default=None)
        if first is None:
            return len(finished.events), " or ".join(_named(pattern) for pattern in choice)
        ready = max(ready, first)
    return ready, ""


def _named(pattern: CallPattern) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in pattern.arguments.items())
    result = f" that gives {' or '.join(pattern.observation)}" if pattern.observation else ""
    failed = " that fails" if pattern.outcome == "error" else ""
    return f"{' or '.join(pattern.tool)}({given}){result}{failed}"
