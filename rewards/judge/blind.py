"""Episodes whose simulator kept no state: what still can be checked is checked, the rest is said to be unknown.

A simulator that only imitates answers leaves the state as it was at the start, so that whoever looked at the final
state would find that nothing had been done. Checks get such an episode with a final state that nobody can look at:
those that read the record alone work as ever, any other is noticed, whoever wrote it.
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
"""The kind of the fault that a check raises which cannot do without the state."""


class UnknownState:
    """Stands where the final state would; every look at it is a fault."""

    def __getattr__(self, name: str) -> NoReturn:
        raise Fault(KIND, NO_STATE, role="judge")


def blind(finished: FinishedEpisode) -> FinishedEpisode:
    """The episode as checks may see it: without a final state where none was kept."""
    return replace(finished, final=cast(State, UnknownState())) if finished.stateless else finished


def lacks_state(finding: Finding) -> bool:
    """Whether a check gave up because there was no state."""
    return finding.value is None and finding.reason == NO_STATE
