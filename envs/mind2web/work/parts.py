"""The published scores of an own task: each step against all actions that are right on its page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

from simia_gym.envs.mind2web.recorded.metrics import StepScore, action_f1
from simia_gym.envs.mind2web.work.expert import right
from simia_gym.envs.mind2web.work.position import Move
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.rubric import RubricReward
from simia_gym.types import Verdict

_OPS = {"click": "CLICK", "select": "SELECT", "type": "TYPE", "done": "DONE"}


class SiteReward(RubricReward):
    """The rubric, strictly; beside it the published scores, in the verdict's parts."""

    async def score(self, finished: FinishedEpisode) -> Verdict:
        """Judge an episode; see `RubricReward.score`."""
        verdict = await super().score(finished)
        return replace(verdict, parts={**verdict.parts, **parts(finished)})


def parts(finished: FinishedEpisode) -> dict[str, Any]:
    """Element accuracy, action F1 and step success, means over the steps, and the number of steps.

    A step is an action on an element, the end, or an action that cannot be read; to ask for the next choices is none.
    On a page that cannot be read, as a model may write it, nothing is right. Pages that are pruned as published lack
    what a reader needs, so that there is only the number of steps.
    """
    session = finished.initial.get("session", "main")
    if session is None or session["page"] != "whole":
        return {"steps": sum(1 for _ in _moves(finished))}
    scores = [_score(shown, move) for shown, move in _moves(finished)]
    if not scores:
        return {"steps": 0}
    return {
        "element_accuracy": fmean(score.element_accuracy for score in scores),
        "action_f1": fmean(score.action_f1 for score in scores),
        "step_success": fmean(score.step_success for score in scores),
        "steps": len(scores),
    }


def _moves(finished: FinishedEpisode) -> Iterator[tuple[str, Move | None]]:
    """The page of each step, and what was done on it; None for what cannot be read."""
    shown = ""
    for event in finished.events:
        if event["type"] == "message":
            shown = event["text"]
        elif event["type"] == "invalid":
            yield shown, None
        elif event["type"] == "transition" and event.get("call") is not None:
            call: Mapping[str, Any] = event["call"]
            if call["name"] in _OPS:
                given = {key: str(value) for key, value in (call.get("arguments") or {}).items()}
                value = given.get("value", given.get("answer", ""))
                yield shown, Move(call["name"], given.get("choice", "").strip().upper(), value)
            shown = event["observation"]


def _score(shown: str, move: Move | None) -> StepScore:
    try:
        wanted = right(shown) if move is not None else frozenset()
    except ValueError:
        wanted = frozenset()
    if move is None or not wanted:
        return StepScore(0.0, 0.0, 0.0)
    same = [one for one in wanted if (one.tool == "done") == (move.tool == "done") and one.choice == move.choice]
    best = max((action_f1(_words(move), _words(one)) for one in same or wanted if one.tool != "more"), default=0.0)
    return StepScore(float(bool(same)), best, float(move in wanted))


def _words(move: Move) -> str:
    return f"{_OPS.get(move.tool, '')} {move.value}"
