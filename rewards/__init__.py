"""Rewards: rubrics, programs and judges that check criteria, and published grades.

The names below are public; the modules of this package are private.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simia_gym.common.lazy import lazy_names

if TYPE_CHECKING:
    from simia_gym.record.explain import report
    from simia_gym.rewards.finding import Finding, Grade, quote_call, quote_change, quote_text
    from simia_gym.rewards.programs.builtin import PROGRAMS
    from simia_gym.rewards.programs.calls import (
        called,
        called_before,
        confirmed_writes,
        gold_writes,
        no_writes,
        not_called,
    )
    from simia_gym.rewards.programs.conduct import ended_by, max_turns_used, no_errors, valid_actions
    from simia_gym.rewards.programs.program import Args
    from simia_gym.rewards.programs.speech import not_claimed, not_says, refused, says
    from simia_gym.rewards.programs.state_checks import goal_state, state_is, unchanged
    from simia_gym.rewards.rubric import RubricReward

__getattr__ = lazy_names(
    __name__,
    {
        "simia_gym.record.explain": "report",
        "simia_gym.rewards.finding": "Finding Grade quote_call quote_change quote_text",
        "simia_gym.rewards.programs.builtin": "PROGRAMS",
        "simia_gym.rewards.programs.calls": "called called_before confirmed_writes gold_writes no_writes not_called",
        "simia_gym.rewards.programs.conduct": "ended_by max_turns_used no_errors valid_actions",
        "simia_gym.rewards.programs.program": "Args",
        "simia_gym.rewards.programs.speech": "not_claimed not_says refused says",
        "simia_gym.rewards.programs.state_checks": "goal_state state_is unchanged",
        "simia_gym.rewards.rubric": "RubricReward",
    },
)

__all__ = [
    "PROGRAMS",
    "Args",
    "Finding",
    "Grade",
    "RubricReward",
    "called",
    "called_before",
    "confirmed_writes",
    "ended_by",
    "goal_state",
    "gold_writes",
    "max_turns_used",
    "no_errors",
    "no_writes",
    "not_called",
    "not_claimed",
    "not_says",
    "quote_call",
    "quote_change",
    "quote_text",
    "refused",
    "report",
    "says",
    "state_is",
    "unchanged",
    "valid_actions",
]
