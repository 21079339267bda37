"""Rendering rules: code writes a tool's observation from the state after the call.

    {"row": "/orders/{order_id}"}           a row as JSON
    {"value": "/users/{user_id}/email"}     a value: a string unchanged, any other value as JSON
    {"text": "Sent to {/users/{user_id}/email}."}      a text with values of the state and arguments
    "package.module:function"               function(state, call) -> text

A rule applies to successful calls. JSON is written by Python's ``json.dumps``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from simia_gym.common.dotted_names import load_function
from simia_gym.errors import InputError, PatchError
from simia_gym.state import State
from simia_gym.types import ToolCall
from simia_gym.views.placeholders import Context, Template, parse_template

Renderer: TypeAlias = Callable[[State, ToolCall], str]

_CACHED_BYTES = 4096
_KINDS = ("row", "value", "text")
_FIX = 'Write {"row": "/table/{key}"}, {"value": pointer}, {"text": text} or "package.module:function".'


def compile_render(spec: Any, where: str = "render", *, folder: Path | None = None) -> Renderer | None:
    """Make a renderer from a tool's ``render``.

    Args:
        spec: The rule; ``None`` for none.
        where: The tool, for error messages.
        folder: The folder of ``file.py`` in a function's name.

    Returns:
        A function of the state after the call and of the call; ``None`` if there is no rule. It raises `PatchError` if
        the state lacks a value that the rule shows.

    Raises:
        InputError: The rule is invalid, or its function cannot be loaded.
    """
    if spec is None:
        return None
    where = f"{where}, render"
    if isinstance(spec, str):
        return _guarded(load_function(spec, folder=folder, where=where), spec)
    if not isinstance(spec, Mapping) or len(spec) != 1 or next(iter(spec)) not in _KINDS:
        raise InputError(f"{spec!r} is no rule", where=where, fix=_FIX)
    ((kind, text),) = spec.items()
    if not isinstance(text, str):
        raise InputError(f"{kind} is {text!r}", where=where, fix="Give a text.")
    if kind == "text":
        return _text(parse_template(text, where))
    if not text.startswith("/"):
        raise InputError(f"{kind} {text!r} is no place in the state", where=where, fix="Begin it with /table/key.")
    return _value(parse_template(f"{{{text}}}", where), text)


def render_arguments(spec: Any) -> list[str]:
    """Names of the arguments that a valid rule uses."""
    if not isinstance(spec, Mapping):
        return []
    ((kind, text),) = spec.items()
    return list(parse_template(text if kind == "text" else f"{{{text}}}", "render").arguments())


def _guarded(function: Renderer, name: str) -> Renderer:
    def render(state: State, call: ToolCall) -> str:
        try:
            return function(state, call)
        except PatchError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            # A model may have written the state after the call, so a missing value is not a bug of the rule.
            message = f"the rule {name} cannot show the state: {type(error).__name__}: {error}"
            raise PatchError(message) from error

    return render


def _text(template: Template) -> Renderer:
    def render(state: State, call: ToolCall) -> str:
        try:
            return template.text(Context(state, call))
        except KeyError as error:
            raise PatchError(f"nothing stands at a place of the text {template.source!r}") from error

    return render


def _written(value: Any) -> str:
    """A value as text: a string unchanged, any other value as ``json.dumps`` writes it."""
    if isinstance(value, str):
        return value
    try:
        content = orjson.dumps(value)
    except TypeError:  # big integers, lone surrogates
        return json.dumps(value)
    return _rewritten(content) if len(content) <= _CACHED_BYTES else json.dumps(value)


# Without the cache, a turn with model calls takes 6% more instructions.
@lru_cache(maxsize=2048)
def _rewritten(content: bytes) -> str:
    """JSON of orjson as ``json.dumps`` writes it, which takes many times longer; many episodes show equal rows."""
    return json.dumps(orjson.loads(content))


def _value(template: Template, pointer: str) -> Renderer:
    (part,) = template.parts
    assert not isinstance(part, str)

    def render(state: State, call: ToolCall) -> str:
        found = part.found(Context(state, call))
        if not found:
            raise PatchError(f"nothing stands at {pointer}", path=pointer)
        return _written(found[0])

    return render
