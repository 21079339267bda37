"""Tool specifications, made from the typed methods of a world or read from ``tools.json``.

For a method, the decorator `tool` declares what the signature cannot express (effect, read and write sets, whether it
ends the episode); the JSON Schema comes from the annotations, the descriptions from the docstring. ``tools.json`` is
generated from these.
"""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

import jsonschema_rs
from pydantic import ConfigDict, Field, PydanticUserError, StrictBool, TypeAdapter, create_model
from pydantic.dataclasses import dataclass
from pydantic.json_schema import SkipJsonSchema

from simia_gym.actions.signatures import without_keywords
from simia_gym.common.dotted_names import load_function
from simia_gym.common.files import dotted
from simia_gym.common.schema_errors import json_schema_validator
from simia_gym.common.validation import Where, validated
from simia_gym.domain.limits import TOO_LARGE, Limits
from simia_gym.errors import InputError, did_you_mean
from simia_gym.state import State
from simia_gym.state.frozen import freeze, thaw
from simia_gym.state.pointer import covers, pointer_parts
from simia_gym.types import JsonObject, ToolCall
from simia_gym.views.placeholders import Context, parse_template

Effect = Literal["read", "write", "none"]
Route = Literal["any", "world", "llm"]
Answers = Literal["text", "json"]
F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__simia_tool__"
_PLAIN = (str, int, float, bool)
MASK = "<masked>"
"""What stands in a masked text for everything that a mask matches."""
Condition = Callable[[State, Mapping[str, Any]], bool]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class DeclaredError:
    """An error that a tool may answer with.

    Attributes:
        code: Its code, in snake_case.
        text: What the policy reads after ``Error: ``, with placeholders as in a rendering rule: ``{order_id}``.
            Without it, whoever plays the tool words the error.
        when: A function of state and arguments that is true if this error occurs; in ``tools.json`` its name,
            ``file.py:function`` or ``package.module:function``. A model that gives this error in any other case is
            wrong. With a text, code answers the call, whoever plays the tool; such a function must be quick. Without
            it, whoever plays the tool decides.
    """

    code: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
    text: str | None = None
    when: str | SkipJsonSchema[Condition] | None = None
    condition: SkipJsonSchema[Condition | None] = field(default=None, init=False, repr=False, compare=False)

    @property
    def by_code(self) -> bool:
        """Whether code answers the calls that meet it, so that no model is asked."""
        return self.text is not None and self.condition is not None

    def message(self, state: State, call: ToolCall) -> str:
        """The text with its placeholders filled; raises `KeyError` if the state lacks a value."""
        return parse_template(self.text or "", "errors").text(Context(state, call))

    @property
    def entry(self) -> JsonObject:
        """The entry of ``tools.json``."""
        name = self.when if self.when is None or isinstance(self.when, str) else self.when.__qualname__
        further = {"text": self.text, "when": name}
        return {"code": self.code, **{key: value for key, value in further.items() if value is not None}}


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class ToolSpec:
    """The specification of one tool.

    Attributes:
        name: The tool's name.
        description: The description that the policy sees.
        parameters: JSON Schema of its arguments.
        effect: ``read``, ``write`` or ``none``.
        reads: Selectors of the rows that it may read, see `simia_gym.views.selectors`; a model that simulates the tool
            sees only these rows.
        writes: Patterns of the values that it may change: ``table``, ``table/*`` or ``table/*/field``; ``*`` stands
            for one pointer segment, inside a segment for any characters (``files/~1tmp~1*``); a pattern covers
            everything below it.
        terminal: Whether a successful call ends the episode.
        render: Rule by which code writes the observation from the state after the call, see `simia_gym.views.render`;
            ``None`` if the simulator writes the observation. A world's tool that declares it may return nothing.
        render_errors: Whether the rule also writes the observation of errors, such as the page that stays open: alone
            with terse feedback, after the explanation with ``explain``.
        route: What may simulate the tool in a hybrid: ``world``, ``llm`` or ``any``.
        errors: The errors that a valid call may get, in the order in which they are checked; if there are any, no
            other code is accepted.
        limits: Sizes that differ from the domain's, such as ``{"value": 1_000_000}``.
        masks: Regular expressions of what cannot be repeated in its answers, such as a process id. A comparison ignores
            what they match, in the observation and in the texts that the call writes.
        always_changes: Whether every successful call writes something, be it the value that is there already. A model
            that answers with success and without an operation is then wrong.
        answers: ``json`` if what a successful call returns is JSON, or its JSON Schema; a model that writes anything
            else is then wrong.
    """

    name: str
    description: str
    parameters: JsonObject
    effect: Effect = "read"
    reads: tuple[str | JsonObject, ...] = ()
    writes: tuple[Annotated[str, Field(pattern="^[^/]+(/[^/]+)*$")], ...] = ()
    terminal: StrictBool = False
    render: str | JsonObject | None = None
    render_errors: StrictBool = False
    route: Route = "any"
    errors: tuple[DeclaredError, ...] = ()
    limits: Limits | None = None
    masks: tuple[str, ...] = ()
    always_changes: StrictBool = False
    answers: Answers | JsonObject = "text"

    @cached_property
    def schema(self) -> JsonObject:
        """The OpenAI tool dictionary, without ``x-simia``; read-only, because episodes share it."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return cast("JsonObject", freeze({"type": "function", "function": function}))

    @cached_property
    def entry(self) -> JsonObject:
        """The entry of ``tools.json``: the schema and the ``x-simia`` part."""
        marks: JsonObject = {"effect": self.effect, "reads": list(self.reads), "writes": list(self.writes)}
        further: JsonObject = {
            "terminal": self.terminal,
            "render": self.render,
            "render_errors": self.render_errors,
            "route": self.route if self.route != "any" else None,
            "errors": [error.entry for error in self.errors],
            "limits": self.limits and self.limits.model_dump(exclude_unset=True),
            "masks": list(self.masks),
            "always_changes": self.always_changes,
            "answers": self.answers if self.answers != "text" else None,
        }
        marks |= {name: value for name, value in further.items() if value}
        return cast("JsonObject", freeze({**self.schema, "x-simia": marks}))

    def __getstate__(self) -> dict[str, Any]:
        """Omit the compiled validators, which cannot be pickled and are rebuilt on demand."""
        return {name: value for name, value in self.__dict__.items() if name not in ("validator", "answer_validator")}

    @cached_property
    def validator(self) -> jsonschema_rs.Validator:
        """The compiled schema of the arguments."""
        return json_schema_validator(thaw(self.parameters))

    @cached_property
    def answer_validator(self) -> jsonschema_rs.Validator | None:
        """The compiled schema of what a success returns, if the tool has one."""
        return None if isinstance(self.answers, str) else json_schema_validator(thaw(self.answers))

    def problem(self, arguments: JsonObject) -> str:
        """Name the first invalid argument of a call in one sentence for the policy; some argument must be invalid."""
        first = next(iter(self.validator.iter_errors(arguments)))
        place = dotted(first.instance_path)
        return f"{place}: {first.message}" if place else str(first.message)

    @cached_property
    def signature(self) -> str:
        """The call signature: ``name(order_id: string, item_ids: array of string)``."""
        properties = self.parameters.get("properties", {})
        required = self.parameters.get("required", ())
        parts = [
            f"{name}: {_kind(schema)}" if name in required else f"{name}: {_kind(schema)}, optional"
            for name, schema in properties.items()
        ]
        return f"{self.name}({'; '.join(parts) if any(', ' in part for part in parts) else ', '.join(parts)})"

    def may_write(self, segments: Sequence[str]) -> bool:
        """Whether the pointer (as decoded segments) lies inside the declared write set."""
        return any(covers(pattern, segments) for pattern in self._write_patterns)

    def wrong_error(self, code: str, *, asked: bool = True) -> str:
        """Why the tool cannot have failed with an error; empty if it can, or if it declares none.

        Args:
            code: The error's code.
            asked: Whether code has asked the conditions in this state, and none was true.
        """
        possible = [error.code for error in self.errors if not (asked and error.by_code)]
        if not self.errors or code in (*possible, TOO_LARGE):
            return ""
        known = any(error.code == code for error in self.errors)
        what = "does not occur here" if known else f"is no error of {self.name}"
        return f"error_code {code!r} {what}; possible: {', '.join(possible) or 'none, so the call succeeds'}"

    def masked(self, value: Any) -> Any:
        """A JSON value with a mark for everything in its texts that `masks` match."""
        return masked(value, self.masks)

    @cached_property
    def _write_patterns(self) -> tuple[tuple[str, ...], ...]:
        return tuple(pointer_parts(f"/{pattern}") for pattern in self.writes)


def masked(value: Any, masks: Sequence[str]) -> Any:
    """A JSON value with a mark for everything in its texts that these regular expressions match."""
    if isinstance(value, str):
        for pattern in masks:
            value = re.sub(pattern, MASK, value)
        return value
    if isinstance(value, Mapping):
        return {masked(key, masks): masked(item, masks) for key, item in value.items()}
    return [masked(item, masks) for item in value] if isinstance(value, Sequence) else value


def _kind(schema: Any) -> str:
    """A JSON Schema in a few words."""
    if not isinstance(schema, Mapping):
        return "any value"
    if "enum" in schema:
        return f"one of {json.dumps(list(schema['enum']), ensure_ascii=False)}"
    if isinstance(schema.get("anyOf"), Sequence):
        return " or ".join(_kind(each) for each in schema["anyOf"])
    kind = schema.get("type", "any value")
    if kind == "array" and "items" in schema:
        return f"array of {_kind(schema['items'])}"
    return kind if isinstance(kind, str) else " or ".join(map(str, kind))


def tool(
    *,
    effect: Effect = "read",
    reads: Iterable[str | JsonObject] = (),
    writes: Iterable[str] = (),
    terminal: bool = False,
    render: str | JsonObject | None = None,
    render_errors: bool = False,
    route: Route = "any",
    errors: Iterable[DeclaredError] = (),
    limits: Mapping[str, int] | None = None,
    masks: Iterable[str] = (),
    always_changes: bool = False,
) -> Callable[[F], F]:
    """Declare a world's method as a tool.

    Args:
        effect: ``read`` (reads the state), ``write`` (may change it), ``none`` (neither).
        reads: See `ToolSpec.reads`.
        writes: See `ToolSpec.writes`; only for the effect ``write``.
        terminal: A successful call ends the episode.
        render: See `ToolSpec.render`.
        render_errors: See `ToolSpec.render_errors`.
        route: See `ToolSpec.route`.
        errors: See `ToolSpec.errors`.
        limits: See `ToolSpec.limits`.
        masks: See `ToolSpec.masks`.
        always_changes: See `ToolSpec.always_changes`.

    Returns:
        The decorator. The method's first argument after ``self`` is the `Draft`. `ToolSpec.answers` follows from what
        the method is annotated to return.
    """

    def mark(function: F) -> F:
        lists: JsonObject = {"reads": reads, "writes": writes, "errors": errors, "masks": masks}
        marks: JsonObject = {"effect": effect, "terminal": terminal, "render": render, "limits": limits}
        marks |= {"render_errors": render_errors, "route": route, "always_changes": always_changes}
        marks |= {key: given if isinstance(given, str) else tuple(given) for key, given in lists.items()}
        setattr(function, _MARK, marks)
        return function

    return mark


def declared_tools(cls: type) -> dict[str, ToolSpec]:
    """Collect the tools of a world class by name, in order of definition, those of base classes last.

    Raises:
        InputError: A tool's declaration is inconsistent or lacks a docstring or annotation.
    """
    names: dict[str, None] = {}
    for base in cls.__mro__:
        names.update(dict.fromkeys(name for name, value in vars(base).items() if hasattr(value, _MARK)))
    return {name: _specify(cls, name, getattr(cls, name)) for name in names}


def _specify(cls: type, name: str, function: Callable[..., Any]) -> ToolSpec:
    code = inspect.unwrap(function).__code__
    where = f"{code.co_filename}:{code.co_firstlineno}: {cls.__qualname__}.{name}"
    marks = getattr(function, _MARK)
    for key in ("reads", "writes", "errors", "masks"):
        if isinstance(marks[key], str):
            raise InputError(f"{key} is the text {marks[key]!r}", where=where, fix=f"Write {key}=[{marks[key]!r}].")
    if marks["writes"] and marks["effect"] != "write":
        raise InputError("a tool with a write set must have effect='write'", where=where, fix="Change its declaration.")
    description, notes = _read_docstring(function.__doc__ or "", where)
    parameters = _parameters(function, notes, where)
    plain = {"name": name, "description": description, "parameters": parameters, "answers": _answers(function)}
    return _made({**plain, **marks}, lambda path: where)


def _answers(function: Callable[..., Any]) -> Answers | JsonObject:
    """The JSON Schema of what a method is annotated to return; ``text`` if it may return a text or nothing."""
    returned = typing.get_type_hints(function, include_extras=True).get("return", Any)
    kinds = typing.get_args(returned) if typing.get_origin(returned) in (typing.Union, types.UnionType) else (returned,)
    if any(kind in (Any, str, bytes, type(None)) for kind in kinds):
        return "text"
    try:
        schema = TypeAdapter(returned).json_schema()
    except PydanticUserError:  # a class of the domain's own
        return "json"
    return without_keywords(schema, ("title", "additionalProperties")) or "json"


def _parameters(function: Callable[..., Any], notes: Mapping[str, str], where: str) -> JsonObject:
    hints = typing.get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    declared = list(inspect.signature(function).parameters.values())
    if len(declared) < 2 or hints.get(declared[1].name) in _PLAIN:
        what = "its first argument after self is not the draft of the state"
        raise InputError(what, where=where, fix="Write def tool(self, db: Draft, ...).")
    for parameter in declared[2:]:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            what = f"parameter {str(parameter)!r} cannot be given by its name"
            raise InputError(what, where=where, fix="Declare each argument by itself, as name: type.")
        if parameter.name not in hints:
            raise InputError(f"parameter {parameter.name!r} has no annotation", where=where, fix="Annotate it.")
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], Field(default, description=notes.get(parameter.name)))
    unknown = set(notes) - set(fields)
    if unknown:
        what = f"the docstring describes {sorted(unknown)}, which are no parameters"
        raise InputError(what, where=where, fix=f"The parameters are: {', '.join(fields) or 'none'}.")
    model = create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a default that is no JSON value is refused below
        schema = without_keywords(model.model_json_schema(), "title")
    _check_defaults(fields, schema, where)
    return {
        "type": "object",
        "properties": schema.get("properties", {}),
        "required": schema.get("required", []),
        "additionalProperties": False,
        **({"$defs": schema["$defs"]} if "$defs" in schema else {}),
    }


def _check_defaults(fields: Mapping[str, Any], schema: JsonObject, where: str) -> None:
    for name, part in schema.get("properties", {}).items():
        if fields[name][1].default is ... or fields[name][1].is_required():
            continue
        rules = {**part, **({"$defs": schema["$defs"]} if "$defs" in schema else {})}
        if "default" not in part or not json_schema_validator(rules).is_valid(part["default"]):
            what = f"the default of {name!r} is none that its annotation allows"
            raise InputError(what, where=where, fix="Change one of them.")


_SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Example|Examples|Note):\s*$")
_ENTRY = re.compile(r"^(\w+)(?: \([^)]*\))?:\s*(.*)$")


def _read_docstring(text: str, where: str) -> tuple[str, dict[str, str]]:
    """Split a Google-style docstring into its description and the entries of its ``Args`` section."""
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


def spec_from_entry(entry: Any, where: Where, folder: Path | None = None) -> ToolSpec:
    """Read one entry of ``tools.json``; missing fields of ``x-simia`` get restrictive defaults.

    By default, the effect is ``write`` with an empty write set, so that a simulator may answer but cannot change the
    state, and ``reads`` is empty, so that a model which simulates the tool sees no rows. Names of errors' conditions
    are relative to ``folder``; ``where`` gives the place of a part of the entry.

    Raises:
        InputError: The entry is not a tool, its parameters are not a JSON Schema, or a part of ``x-simia`` is wrong.
    """
    function = entry.get("function", entry) if isinstance(entry, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise InputError("not a tool: it has no function.name", where=where(()), fix="Use the OpenAI tool layout.")
    name, inside = function["name"], ("function",) if "function" in entry else ()
    if not re.fullmatch(r"[\w.-]{1,64}", name):
        what = f"the tool's name {name!r} is none that models can call"
        raise InputError(what, where=where((*inside, "name")), fix="Write letters, digits, _ and -, at most 64.")
    parameters = function.get("parameters", {"type": "object", "properties": {}})
    try:
        json_schema_validator(parameters)
    except ValueError as error:
        place, fix = where((*inside, "parameters")), "Write a JSON Schema, as in OpenAI's tools."
        raise InputError(f"parameters of {name!r}: {error}", where=place, fix=fix) from error
    if not isinstance(parameters, Mapping) or parameters.get("type", "object") != "object":
        place, fix = where((*inside, "parameters")), 'Write {"type": "object", "properties": {...}}.'
        raise InputError(f"parameters of {name!r} describe no object", where=place, fix=fix)
    marks = entry.get("x-simia", {})
    if not isinstance(marks, Mapping):
        raise InputError(f"x-simia of {name!r} is {marks!r}", where=where(("x-simia",)), fix="Write an object.")
    plain = {"name": name, "description": str(function.get("description", "")), "parameters": parameters}

    def place_of(path: Sequence[str | int]) -> str:
        return ": ".join(filter(None, (where(("x-simia", *path)), f"tool {name!r}: x-simia", dotted(path))))

    allowed = [key for key in ToolSpec.__dataclass_fields__ if key not in plain]
    unknown = [key for key in marks if key not in allowed]
    if unknown:
        fix = f"{did_you_mean(unknown[0], allowed) or 'Remove it. '}The keys are: {', '.join(allowed)}."
        raise InputError(f"there is no key {unknown[0]!r}", where=place_of((unknown[0],)), fix=fix)
    return _made({"effect": "write", **marks, **plain}, place_of, folder)


def _made(parts: JsonObject, where: Where, folder: Path | None = None) -> ToolSpec:
    """Check a declaration. Its selectors and its rendering rule are checked when the domain is loaded."""
    spec = validated(ToolSpec, parts, where=where)
    if spec.render_errors and spec.render is None:
        fix = "Give x-simia.render, or leave render_errors out."
        raise InputError("x-simia.render_errors has no rule to render by", where=where(("render_errors",)), fix=fix)
    if spec.always_changes and not spec.writes:
        fix = "Give x-simia.writes, or leave always_changes out."
        what = "x-simia.always_changes is set, but there is nothing that the tool may write"
        raise InputError(what, where=where(("always_changes",)), fix=fix)
    for number, pattern in enumerate(spec.masks):
        try:
            wrong = "it matches the empty text" if re.search(pattern, "") else ""
        except re.error as error_:
            wrong = str(error_)
        if wrong:
            fix = "Write a regular expression that matches what cannot be repeated."
            raise InputError(f"the mask {pattern!r} cannot be used: {wrong}", where=where(("masks", number)), fix=fix)
    for number, error in enumerate(spec.errors):
        place = f"{where(('errors', number))}, error {error.code}"
        shown = parse_template(error.text or "", place).arguments()
        unknown = set(shown) - set(spec.parameters.get("properties", {}))
        if unknown:
            fix = f"It has: {', '.join(spec.parameters.get('properties', {})) or 'none'}."
            raise InputError(f"text shows {sorted(unknown)}, which the tool does not take", where=place, fix=fix)
        condition = load_function(error.when, folder=folder, where=place) if isinstance(error.when, str) else error.when
        object.__setattr__(error, "condition", condition)
    return spec
