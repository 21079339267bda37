"""A domain of tool descriptions, a policy and tasks alone: no code, no state, and a model plays all of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from simia_gym.domain.registration import CUSTOM
from simia_gym.episode import Episode

from ..model_server import Asked, ModelServer, serving
from .stage import suite_of, take


def tool(name: str, description: str, *texts: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {text: {"type": "string"} for text in texts}, "required": list(texts)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = [
    tool("get_forecast", "The weather of a day.", "city", "day"),
    tool("book_table", "Book a table outside.", "day"),
]
TASK: dict[str, Any] = {
    "id": "sunny",
    "split": "train",
    "kind": "booking",
    "user": {"type": "brief", "reason": "You want a table outside on a dry day.", "known": "You are in Ghent."},
    "gold": [
        {"name": "get_forecast", "arguments": {"city": "Ghent", "day": "friday"}},
        {"name": "book_table", "arguments": {"day": "friday"}},
    ],
}
RUBRIC = [
    {"id": "booked", "kind": "goal", "required": True, "check": {"llm": "Was a table booked for a dry day?"}},
    {"id": "looked", "kind": "interaction", "check": {"program": "called", "tool": "get_forecast"}},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Such a domain."""
    domain = tmp_path / "terrace"
    domain.mkdir()
    config = {
        "name": "terrace",
        "grammar": "tools",
        "max_turns": 8,
        "world": None,
        "state": None,
        "state_schema": None,
        "user": "llm",
        "reward": "simia_gym.rewards.rubric:RubricReward",
        "tasks": {"train": "tasks.jsonl"},
    }
    files = {
        "domain.yaml": yaml.safe_dump(config),
        "policy.md": "You book tables on the terrace, on dry days only.",
        "tools.json": json.dumps(TOOLS),
        "tasks.jsonl": json.dumps(TASK) + "\n",
        "rubric.yaml": yaml.safe_dump(RUBRIC),
    }
    for name, text in files.items():
        (domain / name).write_text(text, encoding="utf-8")
    return domain


def answer(asked: Asked) -> Any:
    """Plays the tools, the guest and the judge of this one story."""
    if asked.has("criterion"):
        event = next(item["event"] for item in asked.value("record") if "B-17" in json.dumps(item))
        evidence = [{"event": event, "quote": "B-17"}]
        return {"verdict": "met", "reason": "The booking has a number.", "evidence": evidence}
    if asked.has("customer"):
        done = asked.has("agent")
        return {"message": "Thank you!" if done else "A table outside, please.", "stop": done, "confirms": False}
    text = {"get_forecast": "Friday: sunny, 24 C", "book_table": "Booked, number B-17"}[asked.value("call")["name"]]
    return {"outcome": "ok", "error_code": None, "observation": text, "done": False}


async def played(folder: Path, server: ModelServer, **settings: Any) -> Episode:
    suite = suite_of(CUSTOM, server.url, domain=str(folder), simulator="llm", model="m", **settings)
    assert suite.strategy == "reference"
    calls = [f"<tool_call>{json.dumps(call)}</tool_call>" for call in TASK["gold"]]
    return await take(suite, suite.tasks[0], [*calls, "Friday will be dry: your table is booked."])


async def test_a_model_carries_it_alone(folder: Path) -> None:
    async with serving(answer) as server:
        episode = await played(folder, server, judge="llm")
    verdict = episode.verdict
    assert verdict is not None
    assert (verdict.valid, verdict.reward, verdict.success) == (True, 1.0, True), verdict.reason
    assert episode.ended == "user_stop"
    first, second = [item for item in server.asked if item.has("call")]
    # The second answer is given with the first one in view, since no state could tell of it.
    assert "24 C" in json.dumps(second.messages)
    assert [item["call"]["name"] for item in first.value("reference")] == ["get_forecast", "book_table"]


async def test_without_a_judge_the_verdict_is_open_and_no_zero(folder: Path) -> None:
    async with serving(answer) as server:
        verdict = (await played(folder, server)).verdict
    assert verdict is not None
    assert (verdict.valid, verdict.reward) == (False, None)
    assert "no judge is set" in verdict.reason
