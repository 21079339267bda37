"""Formats the models' usage at the end of a run, and how tool calls were answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simia_gym.common.formatting import compact, counted, dollars, percent
from simia_gym.rollout.summary import Summary

_ROUTES = {
    "llm": "by the model",
    "repaired": "by the model, repaired",
    "escalated": "by the stronger model",
    "pin": "from a pin",
    "world": "by the world",
    "gate": "refused by the argument check",
}


def spending_lines(accounts: Mapping[str, Any], *, resumed: bool = False) -> Iterator[str]:
    """One line for each role that called a model.

    Args:
        accounts: A snapshot of `simia_gym.llm.accounts.Accounts`.
        resumed: Whether the record also holds episodes of earlier runs, which these counts leave out.
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
    """Lines on how tool calls were answered, on rejected answers, and on differences from the world's answers.

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
    shadow = summary.shadow
    if shadow["answers"]:
        line = f"compared with the world: {counted(shadow['answers'], 'answer')}; other outcome {shadow['outcome']:,}"
        line += f", other observation {shadow['observation']:,}"
        if not stateless:
            line += f"; state: wrong value {shadow['wrong']:,}, missed write {shadow['missed']:,}"
            line += f", spurious write {shadow['spurious']:,}"
        yield line
