"""Grades: the published reward of a graded domain, as a number with named parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.types import CriterionResult


@dataclass(frozen=True, slots=True)
class Grade:
    """What a domain's grade function gives.

    Attributes:
        reward: 0 to 1.
        parts: The parts that the published formula is made of.
        criteria: The same parts as judged criteria, for reports.
        reason: One sentence.
    """

    reward: float
    parts: Mapping[str, Any] = field(default_factory=dict)
    criteria: tuple[CriterionResult, ...] = ()
    reason: str = ""


GradeFunction: TypeAlias = Callable[[FinishedEpisode], Grade]
