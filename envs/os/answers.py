"""Criteria of the own tasks: the answer, and that nothing else was changed on the way."""

from __future__ import annotations

from simia_gym.envs._work.answers import AnsweredArgs, right_answer
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.finding import Finding, quote_text
from simia_gym.rewards.programs.program import Args
from simia_gym.state.pointer import pointer_parts


def answered(finished: FinishedEpisode, args: AnsweredArgs) -> Finding:
    """The task was ended by the right answer and nothing beside it; numbers are compared as numbers."""
    return right_answer(finished, "answer_action", args.value)


def nothing_else(finished: FinishedEpisode, args: Args) -> Finding:
    """After no command anything differed outside of /tmp but what the task asks for."""
    asked = {pointer_parts(op["path"])[1] for op in finished.task.goal or ()}
    for index, event in enumerate(finished.events):
        for op in event.get("ops") or ():
            table, *rest = pointer_parts(op["path"])
            if table == "files" and rest and rest[0] not in asked:
                return Finding.of(False, f"{rest[0]} was changed", (quote_text(index, op["path"]),))
    return Finding.of(True, "nothing was changed but what the task asks for")
