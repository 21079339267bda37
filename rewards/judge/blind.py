"""Episodes whose simulator kept no state: checks of the record work, checks of the final state are unknown.

A simulator that only imitates answers leaves the state as it was at the start, so a check of the final state would find
that nothing was done. Checks get such an episode with a final state that raises a fault when it is read. Checks that
read only the record are not affected.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn, cast

from simia_gym.errors import Fault
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.finding import Finding
from simia_gym.state import State

NO_STATE = "the simulator kept no state, so the final state proves nothing"
KIND = "no_state"
"""The kind of the fault that a check raises when it reads the missing state."""


class UnknownState:
    """Takes the place of the final state; every attribute raises a fault."""

    def __getattr__(self, name: str) -> NoReturn:
        raise Fault(KIND, NO_STATE, role="judge")


def blind(finished: FinishedEpisode) -> FinishedEpisode:
    """Replace the final state of an episode whose simulator kept none."""
    return replace(finished, final=cast(State, UnknownState())) if finished.stateless else finished


def lacks_state(finding: Finding) -> bool:
    """Whether a check gave up because there was no state."""
    return finding.value is None and finding.reason == NO_STATE
