"""Explain a verdict as plain text: one line per criterion, with its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simia_gym.record.verdict import from_json
from simia_gym.types import CriterionResult, Verdict

_QUOTE = 100


def report(verdict: Verdict | Mapping[str, Any]) -> str:
    """Explain a verdict.

    Args:
        verdict: The verdict, or its JSON value as in `Record.verdict`.

    Returns:
        Plain text: a line with the result, then mark, id, kind, weight, reason and evidence of each criterion. Marks:
        ``+`` met, ``-`` not met, ``!`` violated (a forbidden event happened), ``~`` reported, outside the reward, ``?``
        not judged.
    """
    if not isinstance(verdict, Verdict):
        verdict = from_json(verdict)
    lines = [_headline(verdict)]
    if verdict.reason:
        lines.append(f"  because {verdict.reason}")
    width = max((len(item.id) for item in verdict.criteria), default=0)
    for item in verdict.criteria:
        lines.append(f"{_mark(item)} {item.id.ljust(width)}  {_terms(item)}  {item.reason}")
        lines.extend(f"  {' ' * width}  event {piece.event}: {_short(piece.quote)}" for piece in item.evidence)
    if verdict.parts:
        lines.append("parts: " + ", ".join(f"{name} {_number(value)}" for name, value in verdict.parts.items()))
    return "\n".join(lines)


def _headline(verdict: Verdict) -> str:
    if not verdict.valid:
        return f"no reward (invalid verdict, {verdict.basis})"
    score = "" if verdict.score is None else f", score {_number(verdict.score)}"
    outcome = "success" if verdict.success else "no success"
    return f"reward {_number(verdict.reward)} ({outcome}{score}, {verdict.basis})"


def _mark(item: CriterionResult) -> str:
    if item.passed is None:
        return "?"
    if item.passed:
        return "+"
    return {"forbidden": "!", "conduct": "~"}.get(item.kind, "-")


def _terms(item: CriterionResult) -> str:
    if item.kind in ("forbidden", "conduct"):
        return f"[{item.kind}]"
    need = ", required" if item.required else ""
    part = f", {_number(item.value)} met" if item.value not in (None, 0.0, 1.0) else ""
    return f"[{item.kind}, weight {_number(item.weight)}{need}{part}]"


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return f'"{one_line if len(one_line) <= _QUOTE else one_line[: _QUOTE - 3] + "..."}"'
