"""Texts with placeholders, as declarations of tools use them.

``{order_id}`` is an argument of the call, ``{payment/0}`` a place inside one, ``{/orders/{order_id}/user_id}`` a place
in the state, where a step may hold placeholders itself. A step ``*`` stands for every element. A placeholder may stand
for several values: a list counts as its elements, and what does not exist counts as none.
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
    """What placeholders are filled from.

    Attributes:
        state: The state.
        call: The call.
        computed: Rows of computed tables, which come before those of the state.
    """

    state: State
    call: ToolCall
    computed: dict[str, dict[str, Row]] = field(default_factory=dict)

    def row(self, table: str, key: str) -> Row | None:
        """A row, or ``None``; tables whose name starts with ``_`` have none."""
        if table.startswith("_"):
            return None
        if self.computed:
            made = self.computed.get(table)
            if made is not None and key in made:
                return made[key]
        return self.state.get(table, key)

    def rows(self, table: str) -> Iterator[Row]:
        """Every row of a table."""
        if not table.startswith("_"):
            yield from self.computed.get(table, {}).values()
            yield from (row for _, row in self.state.rows(table))


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One placeholder.

    Attributes:
        root: The argument's name; ``None`` for a place in the state.
        steps: The way from there (in the state: table, key and further).
    """

    root: str | None
    steps: tuple[Step, ...]

    def values(self, context: Context) -> list[Any]:
        """What it stands for, in order; lists are spread out."""
        found = self.found(context)
        for value in found:
            if isinstance(value, list):
                return [item for each in found for item in (each if isinstance(each, list) else (each,))]
        return found

    def found(self, context: Context) -> list[Any]:
        """What stands at its places, in order; a list is one value."""
        if self.root is None:
            return self._in_state(context)
        arguments = context.call.arguments
        if self.root not in arguments:
            return []
        found = [arguments[self.root]]
        return walk(found, self.steps, context) if self.steps else found

    def _in_state(self, context: Context) -> list[Any]:
        table, key = self.steps[0], self.steps[1]
        found: list[Any] = []
        every = isinstance(key, str) and key == STAR
        for name in _tokens(table, context):
            if every:
                found += context.rows(name)
                continue
            for token in _tokens(key, context):
                row = context.row(name, token)
                if row is not None:
                    found.append(row)
        return walk(found, self.steps[2:], context) if len(self.steps) > 2 else found


@dataclass(frozen=True, slots=True)
class Template:
    """A text with placeholders.

    Attributes:
        source: As it was written.
        parts: Plain texts and placeholders, in order.
    """

    source: str
    parts: tuple[str | Placeholder, ...]

    def values(self, context: Context) -> list[Any]:
        """Everything it can be: the values themselves where it is a placeholder alone, else texts."""
        parts = self.parts
        if len(parts) == 1 and isinstance(parts[0], Placeholder):
            return parts[0].values(context)
        texts = [""]
        for part in parts:
            pieces = [part] if isinstance(part, str) else [as_text(value) for value in part.values(context)]
            texts = [text + piece for text in texts for piece in pieces]
        return texts

    def text(self, context: Context) -> str:
        """The text with everything filled in.

        Raises:
            KeyError: A placeholder stands for nothing; named by its source.
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
        """Names of the tables that it looks into, as far as they are fixed."""
        for part in self.parts:
            if isinstance(part, Placeholder):
                if part.root is None and isinstance(part.steps[0], str):
                    yield part.steps[0]
                for step in part.steps:
                    if isinstance(step, Template):
                        yield from step.tables()


Step: TypeAlias = str | Template


def argument_of(step: Step) -> str | None:
    """The name of the argument that a step is, where it is one and nothing else."""
    if isinstance(step, str) or len(step.parts) != 1:
        return None
    part = step.parts[0]
    return None if isinstance(part, str) or part.steps else part.root


def arguments_of(steps: Iterable[Step]) -> Iterator[str]:
    """Names of the arguments that steps use."""
    for step in steps:
        if isinstance(step, Template):
            yield from step.arguments()


def as_text(value: Any) -> str:
    """A value inside a text: texts as they are, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _tokens(step: Step, context: Context) -> list[str]:
    if isinstance(step, str):
        return [step]
    return [value for value in step.values(context) if isinstance(value, str)]


def walk(found: list[Any], steps: Iterable[Step], context: Context) -> list[Any]:
    """Follow steps from each value; ways that lead nowhere are left out."""
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
    """Read a text with placeholders.

    Args:
        text: The text.
        where: What it belongs to, for error messages.

    Raises:
        InputError: A brace is left open or closes nothing, or a placeholder is empty.
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
    """Read a way into a value: steps with ``/`` between them, ``~1`` for ``/`` and ``~0`` for ``~`` inside.

    Raises:
        InputError: A step is empty, or a placeholder in it is wrong.
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
    """Split a text at a character, but not inside braces."""
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
