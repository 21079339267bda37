"""An episode that is cut off because its policy can say no more."""

from __future__ import annotations

from typing import cast

import pytest

from simia_gym.assembly.suite import Suite
from simia_gym.errors import Cut, EpisodeOver, Fault, InputError
from simia_gym.record.finished_episode import Reward
from simia_gym.rollout.play import play

from ..domains.shell import Says
from .test_episode import Part


async def test_a_policy_cuts_by_raising_and_is_judged_as_it_stands(suite: Suite) -> None:
    episode = suite.episode()
    assert await play(episode, suite.tasks[0], seed=0, policy=Says("Hello?", Cut())) is None
    assert episode.verdict is not None
    assert (episode.verdict.valid, episode.verdict.reward) == (True, 0.0)
    assert (episode.ended, episode.turn) == ("token_limit", 1)
    ends = [event for event in episode.ledger.events if event["type"] == "end"]
    assert [(event["reason"], event["truncated"]) for event in ends] == [("token_limit", True)]
    for late in (episode.cut(), episode.step("and now?")):
        with pytest.raises(EpisodeOver):
            await late


async def test_an_episode_can_be_cut_before_its_first_step_but_not_before_it_began(suite: Suite) -> None:
    episode = suite.episode()
    with pytest.raises(EpisodeOver):
        await episode.cut()
    await episode.reset(suite.tasks[0])
    with pytest.raises(InputError, match="because"):
        await episode.cut("because")
    last = await episode.cut("turn_limit")
    assert last.info["ended"] == "turn_limit"
    assert (last.terminated, last.truncated, last.messages) == (False, True, ())
    assert episode.verdict is last.verdict


async def test_a_judge_that_fails_then_is_a_fault(suite: Suite) -> None:
    episode = suite.episode()
    episode.reward = cast(Reward, Part(Fault("timeout", "the judge is gone", role="judge")))
    await episode.reset(suite.tasks[0])
    step = await episode.cut()
    assert step.verdict is not None
    assert (step.verdict.valid, step.verdict.reward, episode.ended) == (False, None, "fault")
