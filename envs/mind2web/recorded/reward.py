"""The reward of a recorded step: step success as published, with its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.envs.mind2web.recorded.metrics import score_step
from simia_gym.envs.mind2web.recorded.opened import opened
from simia_gym.envs.mind2web.recorded.ranks import RECALLS
from simia_gym.envs.mind2web.recorded.tournament import Prediction, Tournament
from simia_gym.envs.mind2web.screen import session_of
from simia_gym.errors import Fault, InputError
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.finding import Finding, quote_call
from simia_gym.state import State
from simia_gym.types import Verdict

BASIS = "mind2web:step_success"


class StepReward:
    """Scores the element and the action that won the tournament against the recording."""

    io = False

    @classmethod
    def for_domain(
        cls, items: Sequence[Any], options: Mapping[str, Any], *, judge: object = None, **settings: Any
    ) -> StepReward:
        """Create the reward. The rule is fixed, so rubric, options and settings have no effect.

        Raises:
            InputError: A judge is given; the published rule uses none.
        """
        if judge is not None:
            fix = "Leave judge out: recorded steps are scored by their recording."
            raise InputError(f"the published rule {BASIS} takes no judge", where="judge", fix=fix)
        return cls()

    async def score(self, finished: FinishedEpisode) -> Verdict:
        """Judge an episode.

        Raises:
            Fault: The simulator kept no state.
        """
        if finished.stateless:
            raise Fault("no_state", "the simulator kept no state, so the choice is unknown", role="judge")
        row = session_of(finished.final)
        _, step = opened(row["data"]).steps[row["step"]]
        right = {candidate.id for candidate in step.right()}
        reached = not right.isdisjoint(row["best"][: row["top_k"]])
        parts: dict[str, Any] = {"queries": row["asked"], "positive_in_page": bool(right), "positive_in_top_k": reached}
        parts |= {f"recall_at_{k}": float(not right.isdisjoint(row["best"][:k])) for k in RECALLS}
        if not reached and not row["tournament"]["published"]:
            why = "no right element is among those that are asked about"
            return Verdict(None, False, False, None, BASIS, parts=parts, reason=why)
        won = prediction_of(finished.final)
        found = score_step(step, right, won)
        last = tuple(quote_call(finished, call) for call in finished.calls[-1:])
        chosen = "nothing was chosen" if won is None else f"{won.element}: {won.op} {won.value}".rstrip()
        wanted = f"recorded is {step.op} {step.value}".rstrip()
        criteria = (
            Finding(found.element_accuracy, f"chosen is {chosen}", last).result("element", "goal"),
            Finding(found.action_f1, wanted, last).result("action", "goal"),
        )
        scores = {name: getattr(found, name) for name in ("element_accuracy", "action_f1", "step_success")}
        reward = found.step_success
        return Verdict(reward, True, reward == 1.0, reward, BASIS, criteria, parts={**scores, **parts})


def prediction_of(final: State) -> Prediction | None:
    """What was chosen in the end, if anything."""
    row = session_of(final)
    return None if row["given_up"] else Tournament.of_row(row["tournament"]).prediction
