"""The criterion of a question: its answer."""

from __future__ import annotations

from simia_gym.envs._work.answers import AnsweredArgs, right_answer
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.finding import Finding


def answered(finished: FinishedEpisode, args: AnsweredArgs) -> Finding:
    """The task was ended by the right answer and nothing beside it; numbers are compared as numbers."""
    return right_answer(finished, "done", args.value, any_case=True)
