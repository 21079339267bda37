"""`simia schema`: the JSON Schemas of a domain's files, and of records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, cast

import orjson
import typer
from pydantic import TypeAdapter

from simia_gym.assembly.settings import EnvConfig
from simia_gym.common.dotted_names import load_object
from simia_gym.domain.config import DomainConfig
from simia_gym.domain.tools import ToolSpec
from simia_gym.evaluation.selftests import Example
from simia_gym.record.blobs import BLOBS
from simia_gym.record.events import AnyEvent
from simia_gym.record.records import VERSION, Record
from simia_gym.service.declaration import ServiceDeclaration
from simia_gym.state.schema import StateSchema
from simia_gym.types import FaultInfo, JsonObject, Task, Verdict
from simia_gym.users.cues import CueFile
from simia_gym.users.scripted_script import Script

_RUBRIC = "simia_gym.rewards.criteria:json_schema"


class Described(StrEnum):
    """What has a schema: the files of a domain, lines of some of them, and a line of a record."""

    DOMAIN = "domain.yaml"
    STATE = "state.schema.json"
    RUBRIC = "rubric.yaml"
    SERVICE = "service.yaml"
    CUES = "user.yaml"
    TOOLS = "tools.json"
    TASK = "task"
    SELFTEST = "selftest"
    RECORD = "record"


def print_schema(
    file: Annotated[
        Described,
        typer.Argument(metavar="FILE", help="; ".join(Described) + ": a line of tasks, of self-tests, of records."),
    ],
) -> int:
    """Print the JSON Schema of a domain's file, for editors that complete and check while one types, or of a record."""
    typer.echo(orjson.dumps(json_schema(file), option=orjson.OPT_INDENT_2))
    return 0


def json_schema(file: Described) -> JsonObject:
    """A JSON Schema; what needs the other files of a domain, such as names of tools, only `check` finds."""
    if file is Described.RUBRIC:
        return cast("Callable[[], JsonObject]", load_object(_RUBRIC))()
    if file is Described.TASK:
        task: JsonObject = _schema(Task)
        script = _schema(Script)
        task.setdefault("$defs", {}).update(script.pop("$defs"))
        scripted = {"properties": {"type": {"const": "scripted"}}, "required": ["type"]}
        task["properties"]["user"] = {"if": scripted, "then": script}
        return task
    if file is Described.TOOLS:
        return _tools()
    if file is Described.RECORD:
        return _record()
    models = {
        Described.DOMAIN: DomainConfig,
        Described.STATE: StateSchema,
        Described.SERVICE: ServiceDeclaration,
        Described.CUES: CueFile,
        Described.SELFTEST: Example,
    }
    return _schema(models[file])


def _tools() -> JsonObject:
    spec = _schema(ToolSpec)
    function = {key: spec["properties"].pop(key) for key in ("name", "description", "parameters")}
    properties = {
        "type": {"const": "function"},
        "function": {"type": "object", "properties": function, "required": ["name"]},
        "x-simia": {"type": "object", "properties": spec["properties"], "additionalProperties": False},
    }
    entry = {"type": "object", "properties": properties, "required": ["function"]}
    return {"$defs": spec["$defs"], "type": "array", "items": entry}


@dataclass(frozen=True)
class _Parts:
    """The parts of a line whose types are known."""

    config: EnvConfig
    verdict: Verdict
    fault: FaultInfo | None
    events: list[AnyEvent]


def _record() -> JsonObject:
    """The schema of a line; where large values have been taken out, only the place of the others is known."""
    line, parts = _schema(Record), _schema(_Parts)
    properties = {name: one for name, one in line["properties"].items() if name not in ("line", "blobs")}
    taken = {"if": {"required": [BLOBS]}}
    places = {"type": "object", "additionalProperties": {"type": "string"}}
    event = {**taken, "then": {"required": ["i", "type"]}, "else": parts["properties"].pop("events")["items"]}
    properties = {"v": {"const": VERSION}, **properties, "events": {"type": "array", "items": event}}
    for one in parts["$defs"].values():
        one["additionalProperties"] = False
    return {
        "$defs": parts["$defs"],
        "title": "Record",
        "type": "object",
        "required": list(properties),
        "properties": {**properties, BLOBS: places},
        "additionalProperties": False,
        **taken,
        "else": {"properties": parts["properties"]},
    }


def _schema(model: Any) -> JsonObject:
    return TypeAdapter(model).json_schema()
