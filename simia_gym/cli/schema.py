"""`simia schema`."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, cast

import orjson
import typer
from pydantic import TypeAdapter

from simia_gym.common.dotted_names import load_object
from simia_gym.domain.config import DomainConfig
from simia_gym.domain.tools import ToolSpec
from simia_gym.evaluation.selftests import Example
from simia_gym.service.declaration import ServiceDeclaration
from simia_gym.state.schema import StateSchema
from simia_gym.types import JsonObject, Task
from simia_gym.users.cues import CueFile
from simia_gym.users.scripted_script import Script

_RUBRIC = "simia_gym.rewards.criteria:json_schema"


class DomainFile(StrEnum):
    """The files of a domain that have a schema."""

    DOMAIN = "domain.yaml"
    STATE = "state.schema.json"
    RUBRIC = "rubric.yaml"
    SERVICE = "service.yaml"
    CUES = "user.yaml"
    TOOLS = "tools.json"
    TASK = "task"
    SELFTEST = "selftest"


def print_schema(
    file: Annotated[
        DomainFile, typer.Argument(metavar="FILE", help="; ".join(DomainFile) + ": a line of tasks, of self-tests.")
    ],
) -> int:
    """Print the JSON Schema of a domain's file, for editors that complete and check while one types.

    Returns:
        The exit code.
    """
    typer.echo(orjson.dumps(json_schema(file), option=orjson.OPT_INDENT_2))
    return 0


def json_schema(file: DomainFile) -> JsonObject:
    """The JSON Schema of a domain's file; what needs the other files, such as names of tools, only `check` finds."""
    if file is DomainFile.RUBRIC:
        return cast("Callable[[], JsonObject]", load_object(_RUBRIC))()
    if file is DomainFile.TASK:
        task: JsonObject = _schema(Task)
        script = _schema(Script)
        task.setdefault("$defs", {}).update(script.pop("$defs"))
        scripted = {"properties": {"type": {"const": "scripted"}}, "required": ["type"]}
        task["properties"]["user"] = {"if": scripted, "then": script}
        return task
    if file is DomainFile.TOOLS:
        return _tools()
    models = {
        DomainFile.DOMAIN: DomainConfig,
        DomainFile.STATE: StateSchema,
        DomainFile.SERVICE: ServiceDeclaration,
        DomainFile.CUES: CueFile,
        DomainFile.SELFTEST: Example,
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


def _schema(model: Any) -> JsonObject:
    return TypeAdapter(model).json_schema()
