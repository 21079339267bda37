"""A world's tools are declared once: a typed method with a docstring.

The decorator records what the signature cannot say (effect, read and write sets, whether it ends the episode); the
JSON Schema comes from the annotations, the descriptions from the docstring. ``tools.json`` is written from this.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar, cast

import jsonschema_rs
from pydantic import ConfigDict, Field, create_model

from simia_gym.errors import InputError
from simia_gym.state.frozen import freeze, thaw
from simia_gym.types import JsonObject

Effect = Literal["read", "write", "none"]
F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__simia_tool__"


@dataclass(frozen=True)
class ToolSpec:
    """One tool, as the policy sees it and as the engine treats it.

    Attributes:
        name: The tool's name.
        description: What it does.
        parameters: JSON Schema of its arguments.
        effect: ``read``, ``write`` or ``none``.
        reads: Tables it may look at.
        writes: Patterns of what it may change: ``table``, ``table/*`` or ``table/*/field``; ``*`` stands for one
            pointer segment and a pattern covers everything below it.
        terminal: Whether a successful call ends the episode.
    """

    name: str
    description: str
    parameters: JsonObject
    effect: Effect = "read"
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    terminal: bool = False

    @cached_property
    def schema(self) -> JsonObject:
        """The OpenAI tool dictionary, without engine marks; read-only, since all episodes share it."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return cast("JsonObject", freeze({"type": "function", "function": function}))

    @cached_property
    def entry(self) -> JsonObject:
        """The entry of ``tools.json``: the schema and the ``x-simia`` part."""
        marks: JsonObject = {"effect": self.effect, "reads": list(self.reads), "writes": list(self.writes)}
        if self.terminal:
            marks["terminal"] = True
        return cast("JsonObject", freeze({**self.schema, "x-simia": marks}))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the compiled validator, which cannot travel between processes and is made again."""
        return {name: value for name, value in self.__dict__.items() if name != "_validator"}

    @cached_property
    def _validator(self) -> jsonschema_rs.Validator:
        return jsonschema_rs.validator_for(thaw(self.parameters))

    def problem(self, arguments: JsonObject) -> str | None:
        """Say what is wrong with the arguments, or ``None``.

        Args:
            arguments: Decoded arguments of a call.

        Returns:
            One sentence for the policy, naming the argument.
        """
        if self._validator.is_valid(arguments):
            return None
        first = next(iter(self._validator.iter_errors(arguments)))
        place = "".join(f"[{part!r}]" if isinstance(part, int) else f".{part}" for part in first.instance_path)
        return f"{place.lstrip('.')}: {first.message}" if place else str(first.message)

    def may_write(self, segments: Sequence[str]) -> bool:
        """Whether the pointer (as decoded segments) lies inside the declared write set."""
        return any(_covers(pattern.split("/"), segments) for pattern in self.writes)


def _covers(pattern: Sequence[str], segments: Sequence[str]) -> bool:
    if len(pattern) > len(segments):
        return False
    return all(want in ("*", have) for want, have in zip(pattern, segments, strict=False))


def tool(
    *, effect: Effect = "read", reads: Iterable[str] = (), writes: Iterable[str] = (), terminal: bool = False
) -> Callable[[F], F]:
    """Declare a world's method as a tool.

    Args:
        effect: ``read`` (looks at state), ``write`` (may change it), ``none`` (neither).
        reads: Tables it looks at.
        writes: What it may change, as in `ToolSpec.writes`; only for ``write``.
        terminal: A successful call ends the episode.

    Returns:
        The decorator. The method's first argument after ``self`` is the `Draft`.
    """

    def mark(function: F) -> F:
        marks = {"effect": effect, "reads": tuple(reads), "writes": tuple(writes), "terminal": terminal}
        setattr(function, _MARK, marks)
        return function

    return mark


def declared_tools(cls: type) -> dict[str, ToolSpec]:
    """Collect the tools of a world class, in order of definition (base classes first).

    Args:
        cls: The world class.

    Returns:
        Tool name to specification.

    Raises:
        InputError: A tool's declaration is inconsistent or lacks a docstring or annotation.
    """
    names: dict[str, None] = {}
    for base in reversed(cls.__mro__):
        names.update(dict.fromkeys(name for name, value in vars(base).items() if hasattr(value, _MARK)))
    return {name: _specify(cls, name, getattr(cls, name)) for name in names}


def _specify(cls: type, name: str, function: Callable[..., Any]) -> ToolSpec:
    where = f"{cls.__module__}.{cls.__qualname__}.{name}"
    marks = getattr(function, _MARK)
    if marks["writes"] and marks["effect"] != "write":
        raise InputError("a tool with a write set must have effect='write'", where=where, fix="Change its declaration.")
    description, notes = _read_docstring(function.__doc__ or "", where)
    return ToolSpec(name=name, description=description, parameters=_parameters(function, notes, where), **marks)


def _parameters(function: Callable[..., Any], notes: Mapping[str, str], where: str) -> JsonObject:
    hints = typing.get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in list(inspect.signature(function).parameters.values())[2:]:
        if parameter.name not in hints:
            raise InputError(f"parameter {parameter.name!r} has no annotation", where=where, fix="Annotate it.")
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], Field(default, description=notes.get(parameter.name)))
    unknown = set(notes) - set(fields)
    if unknown:
        raise InputError(f"the docstring describes {sorted(unknown)}, which are no parameters", where=where)
    model = create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
    schema = _without_titles(model.model_json_schema())
    return {
        "type": "object",
        "properties": schema.get("properties", {}),
        "required": schema.get("required", []),
        "additionalProperties": False,
        **({"$defs": schema["$defs"]} if "$defs" in schema else {}),
    }


def _without_titles(node: Any, *, names: bool = False) -> Any:
    """Drop pydantic's ``title`` keywords; under ``properties`` and ``$defs`` keys are names and stay."""
    if isinstance(node, dict):
        kept = {key: value for key, value in node.items() if names or key != "title"}
        return {
            key: _without_titles(value, names=not names and key in ("properties", "$defs"))
            for key, value in kept.items()
        }
    if isinstance(node, list):
        return [_without_titles(item) for item in node]
    return node


_SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Example|Examples|Note):\s*$")
_ENTRY = re.compile(r"^(\w+)(?: \([^)]*\))?:\s*(.*)$")


def _read_docstring(text: str, where: str) -> tuple[str, dict[str, str]]:
    """Split a Google-style docstring into its prose and the notes of its ``Args`` section."""
    prose: list[str] = []
    notes: dict[str, str] = {}
    section, current = "", ""
    for line in inspect.cleandoc(text).splitlines():
        heading = _SECTION.match(line)
        if heading:
            section = heading.group(1)
        elif not section:
            prose.append(line.strip())
        elif section == "Args" and line.strip():
            indent = len(line) - len(line.lstrip())
            entry = _ENTRY.match(line.strip()) if indent <= 4 else None
            if entry:
                current = entry.group(1)
                notes[current] = entry.group(2)
            else:
                notes[current] = f"{notes.get(current, '')} {line.strip()}".strip()
    paragraphs = "\n".join(prose).strip().split("\n\n")
    description = "\n\n".join(" ".join(part.split()) for part in paragraphs)
    if not description:
        raise InputError("a tool needs a docstring", where=where, fix="Say in one sentence what it does.")
    return description, notes


def spec_from_entry(entry: Mapping[str, Any], where: str) -> ToolSpec:
    """Read one entry of ``tools.json``; missing ``x-simia`` parts get cautious defaults.

    The defaults: an unknown effect counts as ``write`` with nothing in its write set, so that a simulator may answer
    but not change anything until the declaration says what.

    Args:
        entry: The OpenAI tool dictionary with an optional ``x-simia`` part.
        where: File and place for error messages.

    Returns:
        The specification.

    Raises:
        InputError: The entry is not a tool, or its parameters are not a JSON Schema.
    """
    function = entry.get("function", entry)
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise InputError("not a tool: it has no function.name", where=where, fix="Use the OpenAI tool layout.")
    parameters = function.get("parameters", {"type": "object", "properties": {}})
    try:
        jsonschema_rs.validator_for(parameters)
    except (ValueError, TypeError) as error:
        raise InputError(f"parameters of {function['name']!r} are not a JSON Schema: {error}", where=where) from error
    marks = entry.get("x-simia", {})
    effect = marks.get("effect", "write")
    if effect not in ("read", "write", "none"):
        raise InputError(
            f"x-simia.effect of {function['name']!r} is {effect!r}", where=where, fix="Use read, write or none."
        )
    return ToolSpec(
        name=function["name"],
        description=str(function.get("description", "")),
        parameters=dict(parameters),
        effect=effect,
        reads=tuple(marks.get("reads", ())),
        writes=tuple(marks.get("writes", ())),
        terminal=bool(marks.get("terminal", False)),
    )
