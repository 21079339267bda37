"""The report of a synthesis: what came in, what was dropped and why, and what the trajectories are like."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from pathlib import Path
from statistics import mean, median
from typing import Any

import orjson

from simia_gym.common.json_encoding import encode
from simia_gym.common.writing import write_whole
from simia_gym.synth.postprocess import KEPT
from simia_gym.types import JsonObject

REPORT = "report"


def write_report(folder: Path, env: str, facts: JsonObject) -> Path:
    """Write the report as JSON, and as a page where the libraries of pages are installed.

    Args:
        folder: The folder of the synthesis.
        env: What it is about.
        facts: Counts and spending.

    Returns:
        The path of the page, or else of the JSON.
    """
    described = {"env": env, **facts, **described_by(folder / KEPT)}
    kept = described["kept_in_all"]
    cost = sum(role.get("cost_usd", 0.0) for role in facts.get("spent", {}).values())
    described["cost_per_kept"] = round(cost / kept, 6) if kept and cost else None
    place = folder / f"{REPORT}.json"
    write_whole(place, encode(described) + b"\n")
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError:
        return place
    from simia_gym.viewer.charts import histogram
    from simia_gym.viewer.pages import render, write_page

    page = folder / f"{REPORT}.html"
    turns = described.pop("turns_of_each")
    charts = [histogram(turns, "turns")] if turns else []
    write_page(page, render("synthesis", title=f"Trajectories for {env}", found=described, charts=charts))
    return page


def described_by(path: Path) -> JsonObject:
    """What the kept trajectories are like: turns, tools, and how different their words are; one at a time in memory."""
    turns: list[int] = []
    tools: Counter[str] = Counter()
    openings: set[bytes] = set()
    words: set[str] = set()
    with path.open("rb") as lines:
        for line in lines:
            messages: list[Any] = orjson.loads(line)["messages"]
            turns.append(sum(message["role"] == "assistant" for message in messages))
            for message in messages:
                tools.update(call["function"]["name"] for call in message.get("tool_calls") or ())
            first = next((str(message.get("content") or "") for message in messages if message["role"] == "user"), "")
            openings.add(blake2b(first.encode(), digest_size=8).digest())
            words.update(first.lower().split())
    return {
        "turns": {"mean": round(mean(turns), 2), "median": median(turns), "most": max(turns)} if turns else {},
        "turns_of_each": turns,
        "tools": dict(tools.most_common()),
        "different_openings": len(openings),
        "different_words_in_openings": len(words),
    }
