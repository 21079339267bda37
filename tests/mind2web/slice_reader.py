"""A reader of slices: it makes the operations of a call from the JSON alone, as its rules say, without any code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]


def operations(given: Mapping[str, Any], name: str, arguments: Mapping[str, str]) -> list[Json]:
    """The operations of a call.

    Args:
        given: The slice.
        name: The tool.
        arguments: Its arguments.
    """
    tables = given["tables"]
    session = tables["session"]["main"]
    if name == "done":
        return [_set("answer", arguments.get("answer", ""))]
    shown = tables["choices"]
    if name == "more":
        first = session["first"] + session["choices"]
        return [_set("first", first if first < shown["page"]["elements"] else 0), _set("notice", "")]
    chosen = shown[arguments["choice"]]
    if "refused" in chosen:
        return [_set("notice", chosen["refused"])]
    done = {"click": "CLICK", "select": "SELECT: {value}", "type": "TYPE: {value}"}[name].format(**arguments)
    made = [_set("first", 0), _set("notice", "")]
    made.append({"op": "add", "path": "/session/main/past/-", "value": f"{chosen['element']} -> {done}"})
    if name == "select":
        return [*made, _typed(chosen["number"], [chosen["options"][arguments["value"]]])]
    if name == "type":
        return [*made, _typed(chosen["number"], arguments["value"])]
    if "marks" in chosen:
        return [*made, *(_typed(number, mark) for number, mark in chosen["marks"].items())]
    if "sends_by_post" in chosen:
        return made + _posted(chosen["sends_by_post"], tables)
    return made + (_opened(chosen["opens"]) if "opens" in chosen else [])


def _set(column: str, value: Any) -> Json:
    return {"op": "replace", "path": f"/session/main/{column}", "value": value}


def _typed(number: str, value: Any) -> Json:
    return {"op": "add", "path": f"/session/main/typed/{number}", "value": value}


def _opened(address: Mapping[str, Any]) -> list[Json]:
    return [_set("path", address["path"]), _set("query", address["query"]), _set("typed", {})]


def _posted(sent: Mapping[str, Any], tables: Mapping[str, Any]) -> list[Json]:
    (form,) = tables["forms"].values()
    account = tables["account"]
    own = {**tables["catalogue"], **account}.get(form.get("own", ""), {})
    pairs = dict.fromkeys(form.get("flags", []), "no") | dict(sent["pairs"])
    known = own | {"key": form.get("own", "").split(":")[-1]} | dict(sent["query"] or []) | pairs

    def filled(words: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda slot: str(known.get(slot[1], "")), words)

    then = {**form["then"], "query": [[name, filled(value)] for name, value in form["then"]["query"]]}
    if form["effect"] == "remove":
        return [{"op": "remove", "path": f"/account/{form['own']}"}, *_opened(then)]
    row = {column: filled(words).strip() for column, words in form["row"].items()}
    new = row | {
        column: float(row[column]) if "." in row[column] else int(row[column]) for column in form.get("numbers", [])
    }
    if form["effect"] == "change":
        new = own | new
    begin, _, words = form["key"].partition("slug of ")
    slug = re.sub(r"\{(\w+)\}", lambda slot: str(new[slot[1]]), words).lower()
    key = begin + re.sub(r"[^a-z0-9]+", "-", slug).strip("-")
    moved = form["effect"] == "change" and key != form["own"]
    if (form["effect"] == "add" or moved) and key in account:
        kept = [pair for pair in sent["query"] or [] if pair[0] not in ("page", "done", "refused")]
        return _opened({"path": sent["path"], "query": [*kept, ["refused", "exists"]]})
    gone = [{"op": "remove", "path": f"/account/{form['own']}"}] if moved else []
    return [*gone, {"op": "add", "path": f"/account/{key}", "value": new}, *_opened(then)]
