"""The reference pages are complete: the keys that they list are those of the code, no more and no fewer.

A comment ``<!-- keys: WHAT -->`` stands above a table whose first column lists keys. WHAT is a class
(``module:Class``, and ``+ KEY`` for keys besides its fields) or a word that a test of this module knows.
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import gymnasium as gym
import pytest
from pydantic import TypeAdapter

from simia_gym import EnvConfig, load_suite
from simia_gym.assembly.resources import Resources
from simia_gym.cli.doctor import VARIABLES
from simia_gym.common.dotted_names import load_object
from simia_gym.oracle import serve_in_thread
from simia_gym.oracle.options import OracleOptions
from simia_gym.record.events import AnyEvent
from simia_gym.record.records import read_records
from simia_gym.rollout.play import play

from . import docs_tables
from .docs_pages import CHECKOUT, PAGES, page_id

SEVERAL_GRAMMARS = Path(__file__).parent / "domains" / "fixtures" / "files"
TABLE = re.compile(r"<!-- keys: (?P<what>[^>]*?) -->\n+(?P<rows>(?:\|.*\n)+)")
NAME = re.compile(r"`([^`(]+)[^`]*`")


def tables() -> dict[str, list[list[str]]]:
    """The cells of every marked table, by what it lists."""
    return {
        found["what"]: [row.strip("|\n ").split(" | ") for row in found["rows"].splitlines()[2:]]
        for page in PAGES
        for found in TABLE.finditer(page.read_text(encoding="utf-8"))
    }


def keys(what: str) -> set[str]:
    return {name for row in tables()[what] for name in NAME.findall(row[0])}


def members(found: Any) -> Iterator[str]:
    """The keys of a model, a dataclass or a protocol."""
    if hasattr(found, "model_fields"):
        yield from found.model_fields
    elif dataclasses.is_dataclass(found):
        yield from (field.name for field in dataclasses.fields(found))
    else:
        yield from (name for name in {**vars(found), **found.__annotations__} if not name.startswith("_"))


@pytest.mark.parametrize("what", [what for what in tables() if ":" in what])
def test_classes(what: str) -> None:
    dotted, _, more = what.partition(" + ")
    expected = set(members(load_object(dotted))) | set(more.split())
    assert keys(what) == expected


def test_variables() -> None:
    page = (CHECKOUT / "docs" / "reference" / "environment-variables.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([A-Z][A-Z_]+)`", page))
    roles = named & {"SIMULATOR", "ESCALATION", "USER", "JUDGE", "POLICY"}
    named |= {name.replace("ROLE", role) for name in named if "_ROLE_" in name for role in roles}
    sources = [path for folder in ("simia_gym", "envs", "rewards", "rl") for path in (CHECKOUT / folder).rglob("*.py")]
    read = {
        name
        for path in sources
        for name in re.findall(r"environ(?:\.get\(|\[)\"([A-Z_]+)\"", path.read_text(encoding="utf-8"))
    }
    assert {*read, *VARIABLES} <= named


def events(env: str, policy: str, address: str | None = None, tasks: int = 2, **settings: Any) -> list[Any]:
    resources = Resources() if address is None else Resources(base_url=address, api_key="none")
    suite = load_suite(EnvConfig(env, split="test", **settings), resources)
    found: list[Any] = []
    for task in suite.tasks[:tasks]:
        episode = suite.episode()
        player = suite.load_policy(policy)()
        asyncio.run(play(episode, task, seed=0, policy=player))
        found += episode.ledger.events
    return found


def shown_events() -> dict[str, set[str]]:
    """The keys of each type of event, as the page lists them."""
    shown = {}
    for kind, _, more in tables()["events"]:
        outside = re.sub(r"\([^)]*\)", "", more)
        shown[kind.strip("`")] = {"i", "type", *re.findall(r"`(\w+)`", outside)}
    return shown


def test_types_of_events() -> None:
    types = {get_args(get_type_hints(event)["type"])[0]: event for event in get_args(AnyEvent)}
    keys = {kind: {*TypeAdapter(event).json_schema()["properties"]} for kind, event in types.items()}
    assert keys == shown_events()


@pytest.mark.slow
def test_events() -> None:
    shown = shown_events()
    seen: dict[str, set[str]] = {}
    with serve_in_thread(OracleOptions(spurious_write_rate=1.0)) as server:
        model: dict[str, Any] = {"address": server.base_url, "model": "oracle"}
        played = events("simia/retail-v0", "expert", **model, simulator="llm", judge="llm-all")
        played += events("simia/retail-v0", "expert", **model, simulator="llm", strategy="reference")
    played += events("simia/retail-v0", "expert", server.base_url, 1, model="m", user="llm", simulator="world")
    with serve_in_thread(OracleOptions(fault_rate=0.5, faults=("empty",))) as server:
        played += events("simia/retail-v0", "expert", server.base_url, 4, model="m", user="llm", simulator="world")
    played += events("simia/webshop-v0", "null", history="page")
    played += events("simia/custom-v0", "null", domain=str(SEVERAL_GRAMMARS))
    for event in played:
        seen.setdefault(event["type"], set()).update(event)
    assert set(shown) - set(seen) <= {"answer", "fault"}
    rare = {
        "transition": {"reveals"},
        "start": {"dev", "grammar", "history", "scores_by", "uncounted"},
        "action": {"beside", "finish_reason", "invented", "provider"},
        "invalid": {"calls"},
        "model": {"read"},
    }
    assert {kind: keys | rare.get(kind, set()) for kind, keys in seen.items()} == {kind: shown[kind] for kind in seen}


def test_lines(tmp_path: Any) -> None:
    from simia_gym.cli.app import run

    path = tmp_path / "one.jsonl"
    assert run(["rollout", "simia/retail-v0", "--episodes", "1", "--out", str(path)]) == 0
    assert keys("line") == set(next(iter(read_records(path))).to_json())


@pytest.mark.slow
def test_info() -> None:
    reset: set[str] = set()
    step: set[str] = set()
    with serve_in_thread() as server:
        model: dict[str, Any] = {
            "model": "oracle",
            "base_url": server.base_url,
            "simulator": "llm",
            "strategy": "reference",
        }
        unreachable: dict[str, Any] = {"simulator": "llm", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
        for env_id, settings in (
            ("simia/retail-v0", {**model, "max_turns": 2}),
            ("simia/retail-v0", {**unreachable, "roles": {"simulator": {"retries": 0}}}),
            ("simia/webshop-v0", {"max_turns": 2, "task_order": "listed", "history": "page"}),
            ("simia/custom-v0", {"domain": SEVERAL_GRAMMARS}),
        ):
            env = gym.make(env_id, **settings)
            _, info = env.reset(seed=1)
            reset |= set(info)
            call = '<tool_call>{"name": "find_user_id_by_email", "arguments": {"email": "a@b.com"}}</tool_call>'
            over = False
            while not over:
                _, _, terminated, truncated, info = env.step(call if "retail" in env_id else "click[search]")
                step |= set(info)
                over = terminated or truncated
    assert (keys("info reset"), keys("info step")) == (reset, step)


@pytest.mark.parametrize("page", docs_tables.PAGES, ids=page_id)
def test_tables_of_settings(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert docs_tables.with_tables(text) == text, "python -m tests.docs_tables"
