"""Results: success on test tasks before and after GRPO, and the gain, with confidence intervals over tasks."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.learning.plan import DECODING
from benchmarks.learning.running import read_times
from simia_gym.evaluation.report import make_report
from simia_gym.evaluation.trials import read_series

_STAGES = ("start", "sft", "grpo")
_TAUGHT = ("openings", "sft", "grpo")


def summarise_run(folder: Path, *, before: Path) -> dict[str, Any]:
    """The results of one run.

    Args:
        folder: Its folder, with the records of the evaluations and the metrics of GRPO.
        before: Folder of the run that trained the imitation policy; ``folder`` itself by default.
    """
    out: dict[str, Any] = {
        "settings": {name: found for name in _TAUGHT if (found := _settings(folder / name / "settings.json"))},
        "seconds": read_times(folder),
        "curve": curve(folder / "grpo" / "metrics.jsonl"),
    }
    for label in DECODING:
        places = {name: folder if name == "grpo" else before for name in _STAGES}
        records = {name: place / f"{name}-{label}.jsonl" for name, place in places.items()}
        there = {name: path for name, path in records.items() if path.with_suffix(".json").exists()}
        scores: dict[str, Any] = {}
        for name, path in there.items():
            series, _ = read_series([path])
            one = make_report(series)["series"][0]
            scores[name] = {
                "tasks": one["tasks"],
                "success": one["pass_at_1"],
                "reward": one["mean_reward"],
                "turns": one["mean_turns"],
                "invalid": one["invalid"],
                "by_kind": {kind: kinds["pass_at_1"]["value"] for kind, kinds in one["kinds"].items()},
            }
        if {"sft", "grpo"} <= set(there):
            series, _ = read_series([there["sft"], there["grpo"]])
            scores["gain"] = make_report(series)["pairs"][0]["pass_at_1"]
        out[label] = scores
    return out


def _settings(path: Path) -> dict[str, Any]:
    """The settings that a training has saved, without the path of its initial policy."""
    if not path.exists():
        return {}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return {name: value for name, value in found.items() if name != "policy"}


def curve(path: Path) -> list[dict[str, Any]]:
    """For each GRPO step the results of its episodes, the groups with a gradient, and the policy's entropy."""
    if not path.exists():
        return []
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    kept = ("reward", "success", "valid_share", "turns", "episodes", "groups")
    train = {line["step"]: line["train"] for line in lines if "train" in line}
    entropy = {line["step"]: line["verl"].get("actor/entropy_loss") for line in lines}  # verl's name for its mean
    return [
        {"step": step, **{name: sums[name] for name in kept if name in sums}, "entropy": entropy[step]}
        for step, sums in train.items()
    ]


def machine() -> dict[str, Any]:
    """The machine and the versions of libraries."""
    libraries = ("torch", "transformers", "trl", "verl", "ray", "numpy")
    return {"python": platform.python_version(), **{name: version(name) for name in libraries}}


def markdown(results: Mapping[str, Any]) -> str:
    """The results as a Markdown table."""
    lines = [
        "| domain | seed | world | decoding | test tasks | untrained | after SFT | after GRPO | gain | minutes |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for run in results["runs"]:
        minutes = sum(run["result"]["seconds"].values()) / 60
        for label in DECODING:
            scores = run["result"][label]
            cells = [_percent(scores.get(name, {}).get("success")) for name in _STAGES]
            cells.append(_percent(scores.get("gain")))
            tasks = scores.get("grpo", {}).get("tasks", "")
            row = (run["domain"], run["seed"], run["world"], label, tasks, *cells, f"{minutes:.0f}")
            lines.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join(lines)


def rose_and_fell(results: Mapping[str, Any]) -> str:
    """What GRPO changed besides success: mean reward, success by kind of task, and turns, as a Markdown table."""
    lines = [
        "| domain | seed | world | decoding | mean reward | kinds that rose, fell | greatest fall, % | turns |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for run in results["runs"]:
        for label in DECODING:
            scores = run["result"][label]
            if not {"sft", "grpo"} <= set(scores):
                continue
            before, after = scores["sft"], scores["grpo"]
            reward, turns = (
                " to ".join(f"{one[name]['value']:.{digits}f}" for one in (before, after))
                for name, digits in (("reward", 3), ("turns", 1))
            )
            change = {kind: after["by_kind"][kind] - value for kind, value in before["by_kind"].items()}
            rose, fell = sum(one > 0 for one in change.values()), sum(one < 0 for one in change.values())
            worst = min(change, key=lambda kind: change[kind])
            fall = " to ".join(f"{100 * one['by_kind'][worst]:.0f}" for one in (before, after))
            row = (run["domain"], run["seed"], run["world"], label, reward, f"{rose}, {fell} of {len(change)}")
            lines.append(f"| {' | '.join(map(str, row))} | {f'`{worst}` {fall}' if fell else ''} | {turns} |")
    return "\n".join(lines)


def _percent(score: Mapping[str, Any] | None) -> str:
    if not score or score.get("value") is None:
        return ""
    value, interval = 100 * score["value"], score["interval"]
    return f"{value:.1f}" if interval is None else f"{value:.1f} ({100 * interval[0]:.1f} to {100 * interval[1]:.1f})"
