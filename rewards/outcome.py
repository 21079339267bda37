"""tau2-bench's deterministic reward: the database matches, and the agent told the user every required string.

The final database must equal the database after the gold actions, and each required string must occur in the agent's
messages to the user (ignoring letter case and commas in the messages). An episode that neither the user nor the agent
ended scores 0, as in tau2-bench.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.errors import InputError
from simia_gym.record.finished_episode import LIMITS, FinishedEpisode
from simia_gym.rewards.finding import Finding
from simia_gym.rewards.programs.speech import SaysArgs, says
from simia_gym.rewards.programs.state_checks import GoalStateArgs, goal_state
from simia_gym.types import Verdict

BASIS = "tau2:db*communicate"
COMMUNICATE = "communicate_info"
"""The key of ``Task.options`` with the list of strings that the user must be told."""

_EXACT = GoalStateArgs(tolerance=0.0)


class OutcomeReward:
    """Scores episodes by the published rule, for results that compare with the published ones.

    The goal is `Task.goal`, computed from the gold actions; the strings stand in ``Task.options["communicate_info"]``.
    """

    io = False

    @classmethod
    def for_domain(
        cls, items: Sequence[Any], options: Mapping[str, Any], *, judge: object = None, **settings: Any
    ) -> OutcomeReward:
        """Create the reward. The rule is fixed, so rubric, options and settings have no effect.

        Raises:
            InputError: A judge is given; the published rule uses none.
        """
        if judge is not None:
            fix = "Leave judge out, or score by the domain's rubric."
            raise InputError(f"the published rule {BASIS} takes no judge", where="judge", fix=fix)
        return cls()

    async def score(self, finished: FinishedEpisode) -> Verdict:
        """Judge an episode."""
        database = goal_state(finished, _EXACT)
        told = tuple(str(text) for text in finished.task.options.get(COMMUNICATE) or ())
        if told:
            communicate = says(finished, SaysArgs(all=told, mode="substring"))
        else:
            communicate = Finding.of(True, "nothing had to be told")
        ended = Finding.of(finished.ended not in LIMITS, f"ended by {finished.ended}")
        criteria = (
            database.result("database", "goal"),
            communicate.result("communicate", "communication"),
            ended.result("ended", "interaction"),
        )
        if database.value is None:
            return Verdict(None, False, False, None, BASIS, criteria, reason=f"database: {database.reason}")
        reward = float(all(item.passed for item in criteria))
        parts = {"database": float(bool(database.met)), "communicate": float(bool(communicate.met))}
        return Verdict(reward, True, reward == 1.0, reward, BASIS, criteria, parts=parts)
