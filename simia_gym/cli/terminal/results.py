"""Formats the results of a rollout: a table, lines on faults, models and tool calls, the JSON value, a picture."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from simia_gym.common.fitting_table import FittingTable
from simia_gym.common.formatting import compact, counted, dollars, interval, number, one_line, percent
from simia_gym.common.output import SafeConsole
from simia_gym.common.writing import write_whole
from simia_gym.rollout.summary import Summary, Tally, group_rows, limit_words, wilson

_MOST_ROWS = 12
_PER_KIND = ("episodes", "valid", "success_rate", "mean_reward", "mean_turns")
_PICTURE_WIDTH = 92
_ROUTES = {
    "llm": "by the model",
    "repaired": "by the model, repaired",
    "escalated": "by the stronger model",
    "pin": "from a pin",
    "world": "by the world",
    "render": "by code from the state",
    "gate": "refused by the argument check",
}
_FONTS = re.compile(r"\s*@font-face \{.*?\}(?=\s)", re.DOTALL)


def results_table(title: str, summary: Summary) -> FittingTable:
    """Success, reward and length by kind of task and in total."""
    table = FittingTable("task kind", title=title, dispensable=("turns", "reward"), total=True)
    for kind, tally in [*_rows(summary.kinds), *group_rows(summary.groups), ("all", summary.all)]:
        bounds = wilson(tally.successes, tally.valid) if tally.valid else None
        cells = {"valid": str(tally.valid), "success": percent(tally.success_rate), "95% CI": interval(bounds)}
        table.add(kind, cells | {"reward": number(tally.mean_reward, 3), "turns": number(tally.mean_turns, 1)})
    return table


def environments_table(title: str, results: Iterable[Mapping[str, Any]]) -> FittingTable:
    """One row for each of several rollouts, from their JSON values; one that failed has an ``error``."""
    table = FittingTable("environment", title=title, dispensable=("turns", "reward"), text=("ended",))
    for one in results:
        cells = {"valid": str(one.get("valid", 0)), "success": percent(one.get("success_rate"))}
        cells |= {"95% CI": interval(one.get("success_interval")), "reward": number(one.get("mean_reward"), 3)}
        table.add(one["env"], cells | {"turns": number(one.get("mean_turns"), 1), "ended": _how_it_ended(one)})
    return table


def _how_it_ended(result: Mapping[str, Any]) -> str:
    if "error" in result:
        return "failed"
    if "unavailable" in result:
        return "unavailable: no sandbox"
    if "interrupted" in result:
        return "interrupted"
    if "stopped" in result:
        return f"stopped: {result['stopped']}"
    return counted(result["faults"], "fault") if result["faults"] else "complete"


def _rows(kinds: Mapping[str, Tally]) -> list[tuple[str, Tally]]:
    """The kinds in order; if there are many, kinds whose names begin with the same word are merged."""
    if len(kinds) <= _MOST_ROWS:
        return sorted(kinds.items())
    families: dict[str, list[str]] = {}
    for kind in sorted(kinds):
        families.setdefault(kind.partition("_")[0], []).append(kind)
    return [
        (f"{word}, {len(names)} kinds" if len(names) > 1 else names[0], Tally.sum(kinds[name] for name in names))
        for word, names in families.items()
    ]


def fault_lines(summary: Summary) -> list[str]:
    """One line on faults, and one example of each."""
    limits = limit_words(summary.all.cut_off, summary.all.overflows, summary.all.invented)
    if not summary.all.invalid:
        return [f"faults: none; valid episodes: {summary.all.episodes}", *limits]
    verbs = "is invalid and counts" if summary.all.invalid == 1 else "are invalid and count"
    lines = [f"faults: {summary.all.invalid} of {counted(summary.all.episodes, 'episode')} {verbs} in no rate"]
    lines += [f"  {name} x {count}: {one_line(summary.messages[name])}" for name, count in summary.faults.most_common()]
    return lines + limits


def results_json(env: str, summary: Summary, seconds: float, record: Path, **more: Any) -> dict[str, Any]:
    """The JSON value of a rollout; rates are over valid episodes, or ``None`` if there are none."""
    total = summary.all
    return {
        "env": env,
        **more,
        "episodes": total.episodes,
        "valid": total.valid,
        "success_rate": total.success_rate,
        "success_interval": list(wilson(total.successes, total.valid)) if total.valid else None,
        "mean_reward": total.mean_reward,
        "mean_turns": total.mean_turns,
        "faults": summary.all.invalid,
        "fault_kinds": dict(sorted(summary.faults.items())),
        "length": total.cut_off,
        "context_overflows": total.overflows,
        "invented_observations": total.invented,
        "reused": summary.reused,
        "kinds": _tallies(summary.kinds),
        **({"groups": {name: _tallies(values) for name, values in summary.groups.items()}} if summary.groups else {}),
        "seconds": round(seconds, 3),
        "record": str(record),
    }


def _tallies(tallies: Mapping[str, Tally]) -> dict[str, Any]:
    return {key: {name: getattr(tally, name) for name in _PER_KIND} for key, tally in sorted(tallies.items())}


def write_picture(path: Path, command: str, *parts: RenderableType) -> None:
    """Write terminal output as SVG."""
    console = SafeConsole(
        record=True, file=io.StringIO(), width=_PICTURE_WIDTH, force_terminal=True, color_system="truecolor"
    )
    console.print(Group(Text(f"$ {command}", style="bold green"), *parts))
    # Remove rich's links to web fonts: the viewer uses its own monospace font.
    write_whole(path, _FONTS.sub("", console.export_svg(title="simia")))


def spending_lines(accounts: Mapping[str, Any], *, resumed: bool = False) -> Iterator[str]:
    """One line for each role that called a model, from a snapshot of `simia_gym.llm.accounts.Accounts`.

    With ``resumed``, the record also holds episodes of earlier runs, which these counts leave out.
    """
    scope = " in this run" if resumed else ""
    for role, spent in accounts.items():
        words = [f"{counted(spent['calls'], 'call')}{scope}"]
        if spent["retries"]:
            words.append(counted(spent["retries"], "retry", "retries"))
        tokens_in = spent["prompt_tokens"]
        cached = f"{percent(spent['cached_tokens'] / tokens_in if tokens_in else 0, 0)} cached"
        if spent["static_share"] is not None:
            cached += f", at most {percent(spent['static_share'], 0)} cacheable"
        words.append(f"{compact(tokens_in)} tokens in ({cached})")
        words.append(f"{compact(spent['completion_tokens'])} out")
        if spent["estimated"]:
            words.append(f"tokens of {counted(spent['estimated'], 'answer')} estimated")
        if spent["cost_usd"]:
            words.append(dollars(spent["cost_usd"]))
        latency = spent["latency_ms"]
        if latency["n"]:
            words.append(f"p50 {latency['p50']:.0f} ms, p99 {latency['p99']:.0f} ms")
        yield f"{role}: {', '.join(words)}"


def route_lines(summary: Summary, *, asked: int | None = None, stateless: bool = False) -> Iterator[str]:
    """Lines on how tool calls were answered, on rejected and unreadable answers, and on differences from the world's.

    Args:
        summary: The results.
        asked: Number of the simulator's model requests; ``None`` if some episodes were played in an earlier run.
        stateless: Whether the simulator kept no state, so that states cannot be compared.
    """
    if summary.routes:
        parts = [f"{summary.routes[name]:,} {words}" for name, words in _ROUTES.items() if summary.routes[name]]
        by_models = sum(summary.routes[name] for name in ("llm", "repaired", "escalated"))
        if asked is not None and asked < by_models:
            parts.append(f"the model was called {asked:,} times; the other answers are shared within groups")
        scope = " of the whole record" if summary.reused else ""
        yield f"tool calls{scope}: {', '.join(parts)}"
    if summary.rejected:
        yield f"rejected answers of models, which broke rules: {summary.rejected:,}"
    if summary.read:
        kinds = ", ".join(f"{name} {count:,}" for name, count in summary.read.most_common())
        yield f"put right before replies of models were read: {kinds}"
    if summary.unread:
        yield f"replies of models that could not be read: {summary.unread:,}"
    shadow = summary.shadow
    if shadow["answers"]:
        line = f"compared with the world: {counted(shadow['answers'], 'answer')}; other outcome {shadow['outcome']:,}"
        line += f", other observation {shadow['observation']:,}"
        if not stateless:
            line += f"; state: wrong value {shadow['wrong']:,}, missed write {shadow['missed']:,}"
            line += f", spurious write {shadow['spurious']:,}"
        yield line + (f"; equal only up to masks {shadow['masked']:,}" if shadow["masked"] else "")
