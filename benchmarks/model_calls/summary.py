"""Medians and ranges of the runs, and their comparison with the goals."""

from __future__ import annotations

import os
import platform
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_FIGURES = (
    "of_ideal",
    "turns_per_s",
    "cpu_ms_per_turn",
    "overhead_ms_p50",
    "overhead_ms_p99",
    "rss_mb",
    "ratio",
    "requests_per_s",
    "server_us_per_request",
)
_LIBRARIES = ("openai", "httptools", "httpx2", "aiohttp", "uvloop", "orjson", "jsonschema-rs")


def machine() -> dict[str, Any]:
    """The machine and versions, without host names."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "load_at_start": [round(load, 2) for load in os.getloadavg()],
        "libraries": {name: found for name in _LIBRARIES if (found := _version(name)) is not None},
    }


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def summarise(runs: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Median, minimum and maximum of each figure, by program and number of concurrent episodes."""
    found: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for run in runs:
        if "result" in run:
            level = str(run["result"].get("concurrency", 1))
            found.setdefault(run["what"], {}).setdefault(level, []).append(run["result"])
    return {what: {level: _figures(results) for level, results in levels.items()} for what, levels in found.items()}


def _figures(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    figures: dict[str, Any] = {"runs": len(results)}
    for name in _FIGURES:
        values = [result[name] for result in results if result.get(name) is not None]
        if values:
            figures[name] = {"median": statistics.median(values), "least": min(values), "most": max(values)}
    return figures


def goals(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Compare goals with the measured medians."""

    def median(what: str, level: int, name: str) -> float | None:
        value: float | None = summary.get(what, {}).get(str(level), {}).get(name, {}).get("median")
        return value

    def ratio(over: float | None, under: float | None) -> float | None:
        return None if over is None or not under else round(over / under, 2)

    cpu = {level: median("product", level, "cpu_ms_per_turn") for level in (64, 256, 1024)}
    naive = {level: median("naive", level, "cpu_ms_per_turn") for level in (64, 256, 1024)}
    pool, lockstep = (median(f"lognormal {what}", 256, "turns_per_s") for what in ("pool", "lockstep"))
    rows: list[tuple[str, str, float, float | None]] = [
        ("of ideal throughput at 256", "at least", 0.95, median("product", 256, "of_ideal")),
        ("of ideal throughput at 1024", "at least", 0.65, median("product", 1024, "of_ideal")),
        ("CPU ms per turn at 256", "at most", 0.3, cpu[256]),
        *((f"times less CPU than plain AsyncOpenAI at {n}", "at least", 15, ratio(naive[n], cpu[n])) for n in cpu),
        ("CPU of turn 100 over turn 1", "at most", 2, median("growth", 1, "ratio")),
        ("lognormal latency: pool over lockstep", "at least", 2, ratio(pool, lockstep)),
    ]
    return [
        {"goal": goal, "wanted": f"{bound} {wanted}", "measured": value, "met": _met(bound, wanted, value)}
        for goal, bound, wanted, value in rows
        if value is not None
    ]


def _met(bound: str, wanted: float, value: float | None) -> bool:
    return value is not None and (value >= wanted if bound == "at least" else value <= wanted)


def markdown(summary: Mapping[str, Any]) -> str:
    """The results as a Markdown table, with minimum and maximum if a run was repeated."""
    columns = {
        "of_ideal": "of ideal",
        "cpu_ms_per_turn": "CPU ms per turn",
        "overhead_ms_p50": "overhead p50, ms",
        "overhead_ms_p99": "p99, ms",
        "rss_mb": "memory, MB",
    }
    lines = [f"| what | at once | runs | {' | '.join(columns.values())} |", "|---" * (len(columns) + 3) + "|"]
    for what, levels in summary.items():
        for level, figures in levels.items():
            if "of_ideal" in figures:
                cells = " | ".join(_cell(figures.get(name)) for name in columns)
                lines.append(f"| {what} | {level} | {figures['runs']} | {cells} |")
    return "\n".join(lines)


def _cell(figure: Mapping[str, float] | None) -> str:
    if figure is None:
        return ""
    median, least, most = (f"{figure[name]:.3g}" for name in ("median", "least", "most"))
    return median if least == most else f"{median} ({least} to {most})"


def show(summary: Mapping[str, Any], reached: Iterable[Mapping[str, Any]]) -> None:
    """Print both as tables."""
    names = ("of_ideal", "cpu_ms_per_turn", "overhead_ms_p50", "overhead_ms_p99", "rss_mb")
    print(f"{'what':<18}{'at once':>8}{'runs':>6}" + "".join(f"{name:>17}" for name in names))
    for what, levels in summary.items():
        for level, figures in levels.items():
            values = [figures[name]["median"] if name in figures else "" for name in names]
            print(f"{what:<18}{level:>8}{figures['runs']:>6}" + "".join(f"{value:>17}" for value in values))
    for row in reached:
        mark = "met" if row["met"] else "MISSED"
        print(f"{mark:<8}{row['goal']}: {row['measured']} (wanted: {row['wanted']})", file=sys.stdout)
