"""Errors of JSON Schemas: what is invalid is said without an exception, and nothing outside a schema is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia_gym.common.schema_errors import json_schema_validator, most_relevant_problem
from simia_gym.domain.tools import spec_from_entry
from simia_gym.errors import InputError
from simia_gym.llm.structured import form_of
from simia_gym.llm.types import ReplySchema
from simia_gym.state.schema import read_state_schema

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
# A schema, a value that is invalid under it, and a part of what is said.
INVALID: list[tuple[dict[str, Any], Any, str]] = [
    ({"pattern": "^a$"}, "a\n", 'does not match "^a$"'),
    ({"pattern": r"^\d$"}, "٣", "does not match"),
    ({"pattern": r"^\w$"}, "é", "does not match"),
    ({"pattern": "^.$"}, "\u2028", "does not match"),
    ({"pattern": r"^\p{Lu}$"}, "a", "does not match"),
    ({"pattern": r"^\cA$"}, "q", "does not match"),
    ({"properties": {"a": {"pattern": "^a$"}}}, {"a": "a\n"}, "a: "),
    ({"patternProperties": {"^a$": True}, "additionalProperties": False}, {"a\n": 1}, "Additional properties"),
    ({"$schema": DRAFT_7, "items": [{}], "additionalItems": False}, ["a", 1], "Additional items"),
    ({"$schema": DRAFT_7, "dependencies": {"a": ["b"]}}, {"a": 1}, "'b' is a dependency"),
    (
        {"$schema": DRAFT_7, "$ref": "#/definitions/a", "definitions": {"a": {"type": "string"}}},
        1,
        "not of type 'string'",
    ),
    ({"$schema": "http://json-schema.org/draft-04/schema#", "maximum": 3, "exclusiveMaximum": True}, 3, "3"),
]
LONG = {"pattern": "^a+$"}, "a" * 5_000 + "\n"


@pytest.mark.parametrize(("schema", "value", "said"), INVALID)
def test_what_one_library_alone_finds_invalid_is_said(schema: dict[str, Any], value: Any, said: str) -> None:
    assert not json_schema_validator(schema).is_valid(value)
    assert said in most_relevant_problem(schema, value)


def test_a_long_value_is_shortened_whoever_finds_it_invalid() -> None:
    said = most_relevant_problem(*LONG)
    assert said.endswith('... does not match "^a+$"')
    assert len(said) < 200


WORDS = st.text(alphabet="aé٣\n\u2028 A", max_size=3)
PATTERNS = st.sampled_from(["^a$", r"^\w+$", r"^\d$", r"\s", "^.$", r"\p{L}", r"^[^a]\Z|^$", r"\ba\b"])
SCHEMAS = st.fixed_dictionaries(
    {},
    optional={
        "$schema": st.sampled_from([DRAFT_7, "https://json-schema.org/draft/2019-09/schema"]),
        "pattern": PATTERNS,
        "items": st.one_of(st.just([{"type": "string"}]), PATTERNS.map(lambda text: {"pattern": text})),
        "additionalItems": st.just(False),
        "propertyNames": PATTERNS.map(lambda text: {"pattern": text}),
        "multipleOf": st.sampled_from([0.1, 0.01, 3]),
        "uniqueItems": st.just(True),
        "const": st.sampled_from([0, 1, False, 1.0]),
        "dependencies": st.just({"a": ["b"]}),
        "format": st.sampled_from(["date", "email"]),
    },
)
VALUES = st.recursive(
    st.one_of(WORDS, st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=2)),
    max_leaves=5,
)


@given(schema=SCHEMAS, value=VALUES)
def test_no_schema_and_no_invalid_value_raise(schema: dict[str, Any], value: Any) -> None:
    try:
        validator = json_schema_validator(schema)
    except ValueError:
        return
    if not validator.is_valid(value):
        assert most_relevant_problem(schema, value) not in ("", "it is valid")


NO_SCHEMAS: list[Any] = [5, None, [1], "x", {"$schema": 5}, {"$schema": {}}, {"$ref": 5}, {"type": "strin"}]
NO_SCHEMAS += [{"$schema": DRAFT_7, "type": "strin"}, {"pattern": "(["}, {"$ref": "#/nope"}, {"type": {"a": 1}}]


@pytest.mark.parametrize("value", NO_SCHEMAS)
def test_what_is_no_schema_is_said(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^this is not a JSON Schema: ."):
        json_schema_validator(value)


@pytest.fixture(scope="module")
def asked() -> Iterator[tuple[str, list[str]]]:
    """The address of a server that gives a schema to whoever asks, and the paths that were asked for."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"type": "string"}')

        def log_message(self, format: str, *args: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", paths
        server.shutdown()
        thread.join()


OUTSIDE: list[dict[str, Any]] = [
    {"$ref": "{}/a.json"},
    {"$dynamicRef": "{}/a.json"},
    {"$schema": "{}/meta"},
    {"$id": "{}/own", "$ref": "a.json"},
    {"$defs": {"unused": {"$ref": "{}/a.json#/x"}}},
    {"$schema": DRAFT_7, "definitions": {"a": {"items": {"$ref": "{}/a.json"}}}},
    {"$ref": "{folder}/a.json"},
    {"$ref": "file://{folder}/a.json"},
    {"$ref": "a.json"},
    {"$ref": "urn:simia:a"},
]


def _in_the_state(schema: Any, folder: Path) -> None:
    Path(folder, "state.schema.json").write_text(json.dumps({"tables": {"a": {"row": schema}}}))
    read_state_schema(folder / "state.schema.json")


def _in_a_tool(schema: Any, folder: Path) -> None:
    entry = {"type": "function", "function": {"name": "f", "parameters": schema}}
    spec_from_entry(entry, lambda parts: f"tools.json {parts}")


def _in_a_reply(schema: Any, folder: Path) -> None:
    form_of(ReplySchema("x", schema))


@pytest.mark.parametrize("written", OUTSIDE, ids=json.dumps)
@pytest.mark.parametrize("read", [_in_the_state, _in_a_tool, _in_a_reply])
def test_no_reference_is_followed_out_of_a_schema(
    written: dict[str, Any], read: Callable[[Any, Path], None], asked: tuple[str, list[str]], tmp_path: Path
) -> None:
    address, paths = asked
    Path(tmp_path, "a.json").write_text('{"type": "string"}')
    schema = json.loads(json.dumps(written).replace("{}", address).replace("{folder}", str(tmp_path)))
    with pytest.raises((InputError, ValueError), match="is outside it and is not read"):
        read(schema, tmp_path)
    assert paths == []


def test_a_reference_inside_a_schema_is_followed() -> None:
    inner = {"$id": "http://127.0.0.1:9/own", "$defs": {"b": {"$id": "b", "type": "string"}}, "items": {"$ref": "b"}}
    assert json_schema_validator(inner).is_valid(["x"])
    assert most_relevant_problem(inner, [1]) == "0: 1 is not of type 'string'"


def test_the_control_one_library_is_more_lenient() -> None:
    assert jsonschema.Draft202012Validator({"pattern": "^a$"}).is_valid("a\n")
