"""Templates with placeholders, for the selectors and rendering rules of tools.

``{order_id}`` is an argument of the call, ``{payment/0}`` a value inside an argument, ``{/orders/{order_id}/user_id}``
a value in the state; a step of the path may contain placeholders. A step ``*`` stands for every element. A placeholder
may have several values: a list counts as its elements, and a missing value as no value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from simia_gym.errors import InputError
from simia_gym.state import State
from simia_gym.types import Row, ToolCall

STAR = "*"


@dataclass(slots=True)
class Context:
    """The sources of the values of placeholders.

    Attributes:
        state: The state.
        call: The tool call.
        computed: Rows of computed tables; they take precedence over rows of the state.
    """

    state: State
    call: ToolCall
    computed: dict[str, dict[str, Row]] = field(default_factory=dict)

    def row(self, table: str, key: str) -> Row | None:
        """A row, or ``None``; tables whose name starts with ``_`` are treated as empty."""
        if table.startswith("_"):
            return None
        made = self.computed.get(table, {})
        return made[key] if key in made else self.state.get(table, key)

    def rows(self, table: str) -> Iterator[Row]:
        """Every row of a table."""
        if not table.startswith("_"):
            yield from self.computed.get(table, {}).values()
            yield from (row for _, row in self.state.rows(table))


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One placeholder.

    Attributes:
        root: The argument's name; ``None`` for a value in the state.
        steps: The path inside the argument, or in the state (table, key and further).
    """

    root: str | None
    steps: tuple[Step, ...]

    def values(self, context: Context) -> list[Any]:
        """Its values, in order; a list counts as its elements."""
        return [item for each in self.found(context) for item in (each if isinstance(each, list) else (each,))]

    def found(self, context: Context) -> list[Any]:
        """The values at its paths, in order; a list is one value."""
        if self.root is None:
            return self._in_state(context)
        arguments = context.call.arguments
        if self.root not in arguments:
            return []
        return walk([arguments[self.root]], self.steps, context)

    def _in_state(self, context: Context) -> list[Any]:
        table, key, *inner = self.steps
        found: list[Any] = []
        for name in _tokens(table, context):
            if key == STAR:
                found += context.rows(name)
            else:
                rows = (context.row(name, token) for token in _tokens(key, context))
                found += [row for row in rows if row is not None]
        return walk(found, inner, context)


@dataclass(frozen=True, slots=True)
class Template:
    """A text with placeholders.

    Attributes:
        source: The text as written in the declaration.
        parts: Plain texts and placeholders, in order.
    """

    source: str
    parts: tuple[str | Placeholder, ...]

    def values(self, context: Context) -> list[Any]:
        """All its values: of any JSON type if it is a single placeholder, otherwise texts."""
        parts = self.parts
        if len(parts) == 1 and isinstance(parts[0], Placeholder):
            return parts[0].values(context)
        texts = [""]
        for part in parts:
            pieces = [part] if isinstance(part, str) else [as_text(value) for value in part.values(context)]
            texts = [text + piece for text in texts for piece in pieces]
        return texts

    def text(self, context: Context) -> str:
        """The text with all placeholders filled in.

        Raises:
            KeyError: A placeholder has no value.
        """
        made = []
        for part in self.parts:
            if isinstance(part, str):
                made.append(part)
                continue
            values = part.values(context)
            if not values:
                raise KeyError(self.source)
            made.append(", ".join(as_text(value) for value in values))
        return "".join(made)

    def arguments(self) -> Iterator[str]:
        """Names of the arguments that it uses."""
        for part in self.parts:
            if isinstance(part, Placeholder):
                if part.root is not None:
                    yield part.root
                yield from arguments_of(part.steps)

    def tables(self) -> Iterator[str]:
        """Names of the tables that it reads, except those that are placeholders themselves."""
        for part in self.parts:
            if isinstance(part, Placeholder):
                if part.root is None and isinstance(part.steps[0], str):
                    yield part.steps[0]
                for step in part.steps:
                    if isinstance(step, Template):
                        yield from step.tables()


Step: TypeAlias = str | Template


def arguments_of(steps: Iterable[Step]) -> Iterator[str]:
    """Names of the arguments that steps use."""
    for step in steps:
        if isinstance(step, Template):
            yield from step.arguments()


def as_text(value: Any) -> str:
    """A value as part of a text: a string unchanged, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _tokens(step: Step, context: Context) -> list[str]:
    if isinstance(step, str):
        return [step]
    return [value for value in step.values(context) if isinstance(value, str)]


def walk(found: list[Any], steps: Iterable[Step], context: Context) -> list[Any]:
    """The values that are reached from the given ones by a path; missing values are left out."""
    for step in steps:
        if step == STAR:
            found = [item for value in found for item in _children(value)]
        elif isinstance(step, str):
            found = [item for value in found for item in _child(value, step)]
        else:
            tokens = [as_text(value) for value in step.values(context)]
            found = [item for value in found for token in tokens for item in _child(value, token)]
    return found


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _child(value: Any, token: str) -> tuple[Any, ...]:
    if isinstance(value, dict):
        return (value[token],) if token in value else ()
    if isinstance(value, list) and token.isascii() and token.isdigit() and len(token) < 10 and int(token) < len(value):
        return (value[int(token)],)
    return ()


def parse_template(text: str, where: str) -> Template:
    """Parse a text with placeholders; ``where`` is the declaration that holds it, for error messages.

    Raises:
        InputError: Braces are unbalanced, or a placeholder is empty.
    """
    parts: list[str | Placeholder] = []
    plain, start, depth = "", 0, 0
    for place, char in enumerate(text):
        if char == "{":
            if depth == 0:
                start = place
            depth += 1
        elif char == "}":
            depth -= 1
            if depth < 0:
                raise _mistake(text, "closes a brace that was not opened", where)
            if depth == 0:
                if plain:
                    parts.append(plain)
                plain = ""
                parts.append(_placeholder(text[start + 1 : place], where))
        elif depth == 0:
            plain += char
    if depth:
        raise _mistake(text, "leaves a brace open", where)
    if plain or not parts:
        parts.append(plain)
    return Template(text, tuple(parts))


def _placeholder(text: str, where: str) -> Placeholder:
    if text.startswith("/"):
        steps = parse_steps(text[1:], where)
        if len(steps) < 2:
            raise _mistake(f"{{{text}}}", "names a table and no row", where)
        if steps[0] == STAR:
            raise _mistake(f"{{{text}}}", "names no table", where)
        return Placeholder(None, steps)
    root, *rest = parse_steps(text, where)
    if not isinstance(root, str) or root == STAR:
        raise _mistake(f"{{{text}}}", "names no argument", where)
    return Placeholder(root, tuple(rest))


def parse_steps(text: str, where: str) -> tuple[Step, ...]:
    """Parse a path: steps separated by ``/``, with ``~1`` for ``/`` and ``~0`` for ``~`` in a step.

    Raises:
        InputError: A step is empty or has an invalid placeholder.
    """
    steps: list[Step] = []
    for piece in split_outside(text, "/"):
        if not piece:
            raise _mistake(text, "has an empty step", where)
        if "{" in piece or "}" in piece:
            steps.append(parse_template(piece, where))
        else:
            steps.append(piece.replace("~1", "/").replace("~0", "~"))
    return tuple(steps)


def split_outside(text: str, separator: str) -> list[str]:
    """Split a text at a separator outside braces."""
    pieces, depth = [""], 0
    for char in text:
        depth += (char == "{") - (char == "}")
        if char == separator and depth <= 0:
            pieces.append("")
        else:
            pieces[-1] += char
    return pieces


def _mistake(text: str, what: str, where: str) -> InputError:
    fix = "Write {argument}, {argument/step} or {/table/key/step}; a step may be * or a placeholder."
    return InputError(f"{text!r} {what}", where=where, fix=fix)
