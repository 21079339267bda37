"""Read text, JSON and YAML files; errors name file, line and fix."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # PyYAML was built without its library in C
    from yaml import SafeLoader  # type: ignore[assignment]

from simia_gym.errors import DomainError, InputError


def check_regular(path: Path, fix: str = "Name a file.") -> None:
    """Refuse pipes and devices, which may have no end, or wait for ever.

    Raises:
        InputError: The path is neither a file nor a folder, and exists.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError("is not a regular file", where=str(path), fix=fix)


def read_text(path: Path, *, what: str = "file") -> str:
    """Read UTF-8 text.

    Raises:
        InputError: The file is missing or unreadable.
    """
    try:
        check_regular(path)
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(f"there is no such {what}", where=str(path), fix="Check the path.") from error
    except IsADirectoryError as error:
        raise InputError(f"is a folder, not a {what}", where=str(path), fix="Name the file.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text ({error.reason})", where=str(path), fix="Save it as UTF-8.") from error
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(path), fix="Check its permissions.") from error


def read_json(path: Path, *, what: str = "JSON file") -> Any:
    """Read one JSON value.

    Raises:
        InputError: Missing, unreadable or not JSON; names line and column.
    """
    return parse_json(read_text(path, what=what), where=str(path))


def parse_json(text: str, *, where: str, line: int = 0) -> Any:
    """Decode JSON strictly: no NaN, no repeated key.

    Args:
        text: The JSON text.
        where: The file, for error messages.
        line: Line number of ``text`` in the file, from 1; 0 if ``text`` is the whole file.

    Raises:
        InputError: It is not JSON; names line and column.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique)
        if _HALF.search(text):
            _refuse_halves(value, text)
        return value
    except json.JSONDecodeError as error:
        place = f"{where}:{line or error.lineno}:{error.colno}"
        raise InputError(f"not valid JSON: {error.msg}", where=place, fix="Correct it there.") from error
    except ValueError as error:
        if "set_int_max_str_digits" in str(error):
            error = _PlacedError("a number is too long", max(re.findall(r"\d+", text), key=len))
        found = _line_of(error.text, text) if isinstance(error, _PlacedError) else _line_of_repeated_key(text)
        place = f"{where}:{line or found}".removesuffix(":0")
        raise InputError(str(error), where=place, fix="Correct it there.") from error
    except RecursionError as error:
        place = f"{where}:{line}" if line else where
        raise InputError("the JSON is nested too deeply", where=place, fix="Correct it there.") from error


def _line_of_repeated_key(text: str) -> int:
    try:
        yaml.load(_as_yaml(text), Loader=_Loader)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        mark = getattr(error, "problem_mark", None)
        return mark.line + 1 if mark else 0
    return 0


def _as_yaml(text: str) -> str:
    """JSON is YAML, but for tabs and halves of characters."""
    return re.sub(r"\t|\\u[dD]\w{3}", " ", text)


class _PlacedError(ValueError):
    """A mistake with the text that makes it."""

    def __init__(self, what: str, text: str) -> None:
        super().__init__(what)
        self.text = text


_HALF = re.compile(r"\\u[dD][89abAB]\w\w(?!\\u[dD][c-fC-F]\w\w)|(?<!\\u[dD][89abAB]\w\w)\\u[dD][c-fC-F]\w\w", re.ASCII)
"""One half of a character that JSON writes in two."""


def _refuse_constant(name: str) -> None:
    raise _PlacedError(f"{name} is not a JSON value", name)


def _finite(text: str) -> float:
    if math.isinf(value := float(text)):
        raise _PlacedError(f"the number {text[:20]} is too large", text)
    return value


def _refuse_halves(value: Any, text: str) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        half = next(_HALF.finditer(text)).group()
        raise _PlacedError(f"{half} is half of a character", half) from None


def _line_of(part: str, text: str) -> int:
    """The first line with a text; a word counts outside of strings only."""
    if part.startswith("\\"):
        return text.count("\n", 0, text.index(part)) + 1
    words = re.finditer(r'"(?:[^"\\]|\\.)*"|[-+.\w]+', text)
    return next((text.count("\n", 0, word.start()) + 1 for word in words if word.group() == part), 0)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} occurs twice in one object")
    return value


def read_jsonl(path: Path, *, what: str = "JSONL file") -> Iterator[tuple[int, Any]]:
    """Read one JSON value per line; empty lines are skipped.

    Yields:
        Line number from 1, and the value.

    Raises:
        InputError: Missing, unreadable, or a line is not JSON.
    """
    # Not splitlines(): it also splits at U+2028 and similar characters, which JSON strings may contain.
    for number, line in enumerate(read_text(path, what=what).split("\n"), start=1):
        if line.strip():
            yield number, parse_json(line, where=str(path), line=number)


def read_yaml(path: Path) -> Any:
    """Read one YAML document.

    Raises:
        InputError: Missing, unreadable or not YAML, or a key occurs twice; names line and column.
    """
    text = read_text(path)
    try:
        return yaml.load(text, Loader=_Loader)
    except RecursionError as error:
        raise DomainError("the YAML is nested too deeply", where=str(path), fix="Correct it there.") from error
    except (yaml.YAMLError, ValueError) as error:  # a ValueError is that of a number or a date that is none
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise DomainError(f"not valid YAML: {problem}", where=place, fix="Correct it there.") from error


class _Loader(SafeLoader):
    """Refuses what PyYAML takes without limit or silently.

    That is a value that holds itself, a key that occurs twice, of which the last would count, aliases that stand for
    many more values than there are, and numbers of thousands of digits. A value is such as JSON has: 2024-03-01 is a
    text, as in a JSON file.
    """

    def construct_document(self, node: yaml.Node) -> Any:
        known: dict[int, int] = {}
        if _checked_size(node, known) > _MOST_COPIES * len(known) + _FEW:
            what = f"its aliases stand for more than {_MOST_COPIES} times as many values as it has"
            raise yaml.constructor.ConstructorError(None, None, what, node.start_mark)
        self.deep_construct = True
        return super().construct_document(node)


def _refuse_kind(loader: SafeLoader, node: yaml.Node) -> None:
    what = f"{node.tag.rpartition(':')[2]} is no kind of JSON value"
    raise yaml.constructor.ConstructorError(None, None, what, node.start_mark)


_Loader.yaml_implicit_resolvers = {
    first: [one for one in known if one[0] != "tag:yaml.org,2002:timestamp"]
    for first, known in SafeLoader.yaml_implicit_resolvers.items()
}
for _kind in ("binary", "omap", "pairs", "set", "timestamp"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _refuse_kind)
_MOST_COPIES, _FEW = 10, 10_000
_LONGEST_NUMBER = 400


def _checked_size(node: yaml.Node, known: dict[int, int]) -> int:
    """How many values a document has when every alias is written out; each node is looked at once, and checked."""
    found = known.get(id(node))
    if found is None:
        known[id(node)] = 1  # a node that holds itself is refused later
        found = 1
        if isinstance(node, yaml.ScalarNode):
            if len(node.value) > _LONGEST_NUMBER and node.tag.endswith((":int", ":float")):
                raise yaml.constructor.ConstructorError(None, None, "a number is too long", node.start_mark)
        elif isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                    if key.value in seen:
                        what = f"the key {key.value!r} occurs twice"
                        raise yaml.constructor.ConstructorError(None, None, what, key.start_mark)
                    seen.add(key.value)
                found += _checked_size(key, known) + _checked_size(value, known)
        else:
            found += sum(_checked_size(item, known) for item in node.value)
        known[id(node)] = found
    return found


def dotted(parts: Sequence[str | int]) -> str:
    """Keys and indices as they are shown: ``a.b[0]``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).removeprefix(".")


class Lines:
    """Finds the line of a part of a YAML or JSON file, for errors; only then is the file read for its lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[int, dict[str, tuple[yaml.Node, yaml.Node]]] = {}

    def where(self, parts: Sequence[str | int]) -> str:
        """The place of a part of the document as ``file:line: a.b[0]``; `parts` as in `line`."""
        return ": ".join(filter(None, (self.line(parts), dotted(parts))))

    def line(self, parts: Sequence[str | int]) -> str:
        """The line of a part of the document as ``file:line``.

        Args:
            parts: Keys and indices from the root to the part; the deepest existing part counts.
        """
        node, line = self._root, 1
        for part in parts:
            if isinstance(node, yaml.MappingNode):
                found = self._entries(node).get(str(part))
            elif isinstance(node, yaml.SequenceNode) and str(part).isdecimal() and int(part) < len(node.value):
                found = (node.value[int(part)],) * 2
            else:
                found = None
            if found is None:
                break
            line, node = found[0].start_mark.line + 1, found[1]
        return str(self.path) if self._root is None else f"{self.path}:{line}"

    def _entries(self, node: yaml.MappingNode) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """The key and the value of each entry by the key's text; the first counts."""
        if id(node) not in self._known:
            self._known[id(node)] = {str(key.value): (key, value) for key, value in reversed(node.value)}
        return self._known[id(node)]

    @cached_property
    def _root(self) -> yaml.Node | None:
        try:
            return yaml.compose(_as_yaml(self.path.read_text(encoding="utf-8-sig")), Loader=_Loader)
        except (OSError, ValueError, RecursionError, yaml.YAMLError):
            return None
