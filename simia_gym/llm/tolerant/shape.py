"""Brings a decoded reply into the form of its schema where it has one sound reading there.

Names and enumerated words may be written in other letters, lists may be missing, a wrapper may stand around the whole.
Nothing that means something is made up, dropped or chosen: what has two readings has none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from simia_gym.actions.strict_json import JsonProblem, decode_all
from simia_gym.common.json_encoding import encode
from simia_gym.common.schema_errors import json_schema_validator
from simia_gym.llm.types import Habits
from simia_gym.types import JsonObject

_DEEPEST = 4
"""Most wrappers around a reply."""
_BETWEEN = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NO_WORD = re.compile(r"[^a-z0-9]+")
_INTEGER = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?\d{1,18}(?:\.\d{1,18})?(?:[eE][+-]?\d{1,2})?")
_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
_NOTHING = frozenset({"", "null", "none", "nil", "n_a"})


class NoReading(Exception):
    """A text or value has no reading as a reply, or more than one; says why.

    Attributes:
        cut: Whether it was cut off.
    """

    def __init__(self, why: str, *, cut: bool = False) -> None:
        self.cut = cut
        super().__init__(why)


def fold(text: str) -> str:
    """A name or word in lower case with underscores: ``errorCode``, ``Error code`` and ``ERROR-CODE`` are the same."""
    return _NO_WORD.sub("_", _BETWEEN.sub("_", text.strip()).lower()).strip("_")


class Shape:
    """Reads values under a schema.

    Args:
        schema: JSON Schema of a reply, which is an object.
        habits: Other names and words that this reply is known to be written with.
    """

    def __init__(self, schema: JsonObject, habits: Habits) -> None:
        self.schema, self.habits = schema, habits
        self._valid = json_schema_validator(schema).is_valid
        branches = list(_branches(schema))
        self.names = frozenset(name for branch in branches for name in branch.get("properties", ()))
        self._folded = frozenset(map(fold, self.names))

    def shares_names(self, value: Any) -> bool:
        """Whether a value is an object with a key of the reply."""
        return isinstance(value, dict) and any(fold(key) in self._folded for key in value)

    def read(self, value: Any) -> tuple[Any, frozenset[str]]:
        """The reply that a value is, and the kinds of what was changed.

        Raises:
            NoReading: There is none, or more than one.
        """
        kinds = set[str]()
        found = self._unwrapped(value, kinds, 0)
        if not self._valid(found):
            raise NoReading("it breaks the schema")
        return found, frozenset(kinds)

    def _unwrapped(self, value: Any, kinds: set[str], depth: int) -> Any:
        if depth > _DEEPEST:
            raise NoReading("it is wrapped too often")
        if isinstance(value, str):
            value = _decoded(value)
            kinds.add("json_text")
        if isinstance(value, list):
            kinds.add("wrapper")
            return self._only(value, kinds, depth)
        if not isinstance(value, dict):
            raise NoReading("it is no object")
        if self.shares_names(value):
            return self._object(value, self.schema, kinds)
        inner = [item for item in value.values() if _may_hold(item)]
        try:
            found = self._only(inner, kinds, depth)
        except NoReading:
            if not any(self.habits.names.get(fold(key)) in self.names for key in value):
                raise
            return self._object(value, self.schema, kinds)
        kinds.add("wrapper")
        return found

    def _only(self, items: list[Any], kinds: set[str], depth: int) -> Any:
        """The one reply among several values; those that are none may stand beside it."""
        found: list[tuple[Any, set[str]]] = []
        problem = "it holds no reply"
        for item in items:
            more = set[str]()
            try:
                value = self._unwrapped(item, more, depth + 1)
            except NoReading as error:
                if self.shares_names(item) and len(items) > 1:
                    raise
                problem = str(error)
                continue
            if not self._valid(value):
                raise NoReading("it breaks the schema")
            if all(encode(value) != encode(other) for other, _ in found):
                found.append((value, more))
        if len(found) != 1:
            raise NoReading("it holds several replies" if found else problem)
        kinds |= found[0][1]
        return found[0][0]

    def _object(self, value: JsonObject, schema: JsonObject, kinds: set[str]) -> JsonObject:
        """An object, under the one branch of the schema where it has a reading."""
        branches = list(_branches(schema))
        if len(branches) == 1:
            return self._members(value, branches[0], branches, kinds)
        found: list[tuple[JsonObject, set[str]]] = []
        problem = "it fits nowhere"
        for branch in branches:
            more = set[str]()
            try:
                read = self._members(value, branch, branches, more)
            except NoReading as error:
                problem = str(error)
                continue
            if json_schema_validator(branch).is_valid(read) and all(encode(read) != encode(o) for o, _ in found):
                found.append((read, more))
        if len(found) != 1:
            raise NoReading("it has several readings" if found else problem)
        kinds |= found[0][1]
        return found[0][0]

    def _members(
        self, value: JsonObject, schema: JsonObject, branches: list[JsonObject], kinds: set[str]
    ) -> JsonObject:
        properties: Mapping[str, JsonObject] = schema.get("properties", {})
        elsewhere = {name for branch in branches for name in branch.get("properties", ())} - set(properties)
        given, extra = self._assigned(value, properties, kinds)
        for key, item in extra.items():
            known = fold(key) in map(fold, elsewhere) or self.habits.names.get(fold(key)) in elsewhere
            if known and item not in (None, "", [], {}, False):
                raise NoReading(f"{key!r} does not belong here")
        read: JsonObject = {}
        for name, inner in properties.items():
            if name in given:
                read[name] = self._value(given[name], inner, name, kinds)
                continue
            if name not in schema.get("required", ()):
                continue
            only = [_options(branch["properties"][name]) for branch in branches if name in branch["properties"]]
            if "array" in _types(inner):
                # Under another name there may stand what the list should hold.
                if lost := next((key for key, item in extra.items() if isinstance(item, list | dict) and item), None):
                    raise NoReading(f"{name!r} is missing, and it is unknown what {lost!r} is")
                read[name] = []
                kinds.add("list")
                continue
            kinds.add("missing")
            if all(options is not None and len(options) == 1 and options == only[0] for options in only):
                read[name] = only[0][0]  # type: ignore[index]
            elif "null" in _types(inner):
                read[name] = None
            elif name in self.habits.defaults:
                read[name] = self.habits.defaults[name]
            else:
                raise NoReading(f"{name!r} is missing")
        if extra:
            kinds.add("extra")
        return read

    def _assigned(
        self, value: JsonObject, properties: Mapping[str, JsonObject], kinds: set[str]
    ) -> tuple[JsonObject, JsonObject]:
        """The members by the names of the schema, and those without one."""
        folded = {fold(name): name for name in properties}
        given = {name: value[name] for name in properties if name in value}
        rest: JsonObject = {}
        for key, item in value.items():
            if key in properties:
                continue
            name = folded.get(fold(key))
            if name is None:
                rest[key] = item
            elif name not in given:
                given[name] = item
                kinds.add("case")
            elif encode(given[name]) != encode(item):
                raise NoReading(f"{name!r} stands there twice, with different values")
        extra: JsonObject = {}
        for key, item in rest.items():
            name = self.habits.names.get(fold(key), "")
            if name not in properties:
                extra[key] = item
            elif name not in given:
                given[name] = item
                kinds.add("name")
            elif name in self.habits.loose:
                extra[key] = item
            elif encode(given[name]) != encode(item):
                raise NoReading(f"{name!r} and {key!r} say different things")
        return given, extra

    def _value(self, item: Any, schema: JsonObject, name: str, kinds: set[str]) -> Any:
        options, types = _options(schema), _types(schema)
        if options is not None:
            return self._option(item, options, name, kinds)
        if "object" in types and "array" in types:
            return item  # a value of any kind
        if item is None:
            return self._nothing(types, name, kinds)
        if isinstance(item, bool):
            if "boolean" not in types:
                item = self._text(item, types, name, kinds)
            return item
        if isinstance(item, int | float):
            return self._number(item, types, name, kinds)
        if isinstance(item, str):
            return self._from_text(item, schema, types, name, kinds)
        if isinstance(item, list):
            if "array" in types:
                return [self._value(part, schema.get("items", {}), name, kinds) for part in item]
        elif "object" in types:
            return self._object(item, schema, kinds)
        elif "array" in types:
            kinds.add("list")
            return [self._value(item, schema.get("items", {}), name, kinds)] if item else []
        return self._text(item, types, name, kinds)

    def _option(self, item: Any, options: list[Any], name: str, kinds: set[str]) -> Any:
        for option in options:
            if type(item) is type(option) and item == option:
                return option
        found: Any = item
        if isinstance(item, str):
            word = fold(item)
            for option in options:
                if isinstance(option, str) and fold(option) == word:
                    kinds.add("case")
                    return option
            if word in self.habits.words.get(name, {}):
                kinds.add("synonym")
                found = self.habits.words[name][word]
            elif word in _NOTHING:
                kinds.add("null")
                found = None
            else:
                found = _TRUTHS.get(word, item)
        elif isinstance(item, int | float) and item in (0, 1):
            found = bool(item)
        for option in options:
            if type(found) is type(option) and found == option:
                kinds.add("text") if isinstance(option, bool) else None
                return option
        raise NoReading(f"{name!r} is none of {', '.join(json.dumps(option) for option in options[:20])}")

    def _nothing(self, types: frozenset[str], name: str, kinds: set[str]) -> Any:
        if "null" in types:
            return None
        if "array" in types:
            kinds.add("list")
            return []
        if name in self.habits.defaults:
            kinds.add("missing")
            return self.habits.defaults[name]
        raise NoReading(f"{name!r} is null")

    def _number(self, item: int | float, types: frozenset[str], name: str, kinds: set[str]) -> Any:
        if "number" in types or ("integer" in types and item == int(item)):
            return int(item) if "number" not in types else item
        if "boolean" in types and item in (0, 1):
            kinds.add("text")
            return bool(item)
        return self._text(item, types, name, kinds)

    def _from_text(self, item: str, schema: JsonObject, types: frozenset[str], name: str, kinds: set[str]) -> Any:
        word = fold(item)
        if "string" in types:
            if "null" in types and word in _NOTHING:
                kinds.add("null")
                return None
            return item
        if "boolean" in types and word in _TRUTHS:
            kinds.add("text")
            return _TRUTHS[word]
        if "integer" in types and _INTEGER.fullmatch(item.strip()):
            kinds.add("text")
            return int(item)
        if "number" in types and _NUMBER.fullmatch(item.strip()):
            kinds.add("text")
            return float(item)
        if "array" in types and word in _NOTHING:
            kinds.add("list")
            return []
        if types & {"array", "object"} and item.strip()[:1] in ("{", "["):
            kinds.add("json_text")
            return self._value(_decoded(item), schema, name, kinds)
        raise NoReading(f"{name!r} is a text")

    def _text(self, item: Any, types: frozenset[str], name: str, kinds: set[str]) -> str:
        """A value as the text that the schema wants."""
        if "string" not in types or (isinstance(item, dict | list) and name not in self.habits.json_texts):
            raise NoReading(f"{name!r} is of the wrong type")
        kinds.add("json_text" if isinstance(item, dict | list) else "text")
        return encode(item).decode()


def _branches(schema: JsonObject) -> Iterator[JsonObject]:
    """The schemas of which one must hold."""
    inner: Any = schema.get("anyOf", schema.get("oneOf"))
    if inner is None:
        yield schema
    else:
        for one in inner:
            yield from _branches(one)


def _options(schema: JsonObject) -> list[Any] | None:
    """The values that a schema lists, if it lists them."""
    if "const" in schema:
        return [schema["const"]]
    if "enum" in schema:
        return list(schema["enum"])
    found: list[Any] = []
    inner: Any = schema.get("anyOf", schema.get("oneOf", ()))
    for one in inner:
        options = [None] if one.get("type") == "null" else _options(one)
        if options is None:
            return None
        found += options
    return found or ([None] if schema.get("type") == "null" else None)


def _types(schema: JsonObject) -> frozenset[str]:
    found = set[str]()
    for one in _branches(schema):
        kinds = one.get("type", ())
        found |= {kinds} if isinstance(kinds, str) else set(kinds)
    return frozenset(found)


def _may_hold(item: Any) -> bool:
    if isinstance(item, str):
        return item.strip()[:1] in ("{", "[")
    return isinstance(item, dict | list)


def _decoded(text: str) -> Any:
    try:
        return decode_all(text.strip())
    except JsonProblem as error:
        raise NoReading(f"a text in it is no JSON: {error.message}") from None
