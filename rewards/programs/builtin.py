"""The generic programs, by the names that rubrics use."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from simia_gym.rewards.programs.calls import (
    called,
    called_before,
    confirmed_writes,
    gold_writes,
    no_writes,
    not_called,
)
from simia_gym.rewards.programs.conduct import ended_by, max_turns_used, no_errors, valid_actions
from simia_gym.rewards.programs.program import Program, ProgramFunction, read_program
from simia_gym.rewards.programs.speech import not_claimed, not_says, refused, says
from simia_gym.rewards.programs.state_checks import goal_state, state_is, unchanged

_FUNCTIONS: tuple[ProgramFunction, ...] = (
    goal_state,
    state_is,
    unchanged,
    says,
    not_says,
    refused,
    not_claimed,
    called,
    not_called,
    called_before,
    no_writes,
    gold_writes,
    confirmed_writes,
    no_errors,
    valid_actions,
    ended_by,
    max_turns_used,
)

PROGRAMS: Mapping[str, Program] = MappingProxyType({f.__name__: read_program(f, f.__name__) for f in _FUNCTIONS})
"""Name to program."""
