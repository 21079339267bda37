"""The criterion of a question: its answer."""

from __future__ import annotations

from simia_gym.envs._work.answers import AnsweredArgs, right_answer
from simia_gym.envs.mind2web.sites.texts import short_date
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.finding import Finding

_POUND = "£"


def answered(finished: FinishedEpisode, args: AnsweredArgs) -> Finding:
    """The task was ended by the right answer and nothing beside it; numbers are compared as numbers.

    A sum is right with and without its pound sign, and a day as pages show it and as fields take it.
    """
    found = right_answer(finished, "done", args.value, any_case=True)
    bare = args.value.removeprefix(_POUND)
    others = (bare, f"{_POUND}{bare.removesuffix('.00')}") if bare != args.value else (short_date(args.value),)
    more = (right_answer(finished, "done", other, any_case=True) for other in others if other is not None)
    return next((one for one in more if one.met), found)
