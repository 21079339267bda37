"""Grades: the published reward of a domain that has a reward formula, with the formula's parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.types import CriterionResult


@dataclass(frozen=True, slots=True)
class Grade:
    """The result of a domain's grade function.

    Attributes:
        reward: The reward, 0 to 1.
        parts: The components of the published formula.
        criteria: The components as criterion results, for reports.
        reason: One sentence that explains the reward.
    """

    reward: float
    parts: Mapping[str, Any] = field(default_factory=dict)
    criteria: tuple[CriterionResult, ...] = ()
    reason: str = ""


GradeFunction: TypeAlias = Callable[[FinishedEpisode], Grade]
